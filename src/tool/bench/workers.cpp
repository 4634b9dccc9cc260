// SPDX-License-Identifier: Apache-2.0
#include "bench/workers.h"

#include "bench/collective.h"
#include "bench/row.h"
#include "bench/workers_report.h"
#include "bench/world.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>

namespace mdist {
namespace {

constexpr mdist_reduce_op_t kOps[] = {MDIST_SUM,  MDIST_MEAN, MDIST_MIN, MDIST_MAX,
                                      MDIST_PROD, MDIST_AND,  MDIST_OR,  MDIST_XOR};

struct Free {
    bool from_library;
    void operator()(char *memory) const { from_library ? mdist_free(memory) : std::free(memory); }
};
using Memory = std::unique_ptr<char, Free>;

/// An empty list stands for `all`, too.
template <class Values, class NameOf>
auto chosen(const Values &all, const std::vector<std::string> &names, NameOf name_of) {
    std::vector<std::decay_t<decltype(*std::begin(all))>> result;
    for (const auto &value : all)
        if (names.empty() || std::find(names.begin(), names.end(), name_of(value)) != names.end())
            result.push_back(value);
    return result;
}

std::vector<mdist_dtype_t> all_dtypes() {
    std::vector<mdist_dtype_t> all;
    for (int i = MDIST_FLOAT32; i <= MDIST_BOOL; ++i) all.push_back(static_cast<mdist_dtype_t>(i));
    return all;
}

/// State shared by all replicas of this worker.
struct Plan {
    const WorkersOptions &options;
    mdist_strategy_t *strategy;
    MeasuredJob job;
    std::vector<Case> cases;
    double seconds; // time for each case
};

bool takes(mdist_reduce_op_t op, mdist_dtype_t dtype) {
    const bool real = dtype <= MDIST_BFLOAT16;
    if (op >= MDIST_AND) return !real;
    if (dtype == MDIST_BOOL) return op == MDIST_MIN || op == MDIST_MAX;
    return op != MDIST_MEAN || real;
}

std::vector<Case> cases_of(const WorkersOptions &options, uint32_t replicas) {
    std::vector<Case> cases;
    const auto dtypes = chosen(all_dtypes(), options.dtypes, mdist_dtype_name);
    const auto ops = chosen(kOps, options.ops, op_name);
    for (const Collective &collective : collectives()) {
        if (chosen(std::vector{collective}, options.collectives, [](const auto &one) { return one.name; }).empty())
            continue;
        if (!collective.has_data()) {
            cases.push_back({&collective, 0, MDIST_UINT8, MDIST_SUM, 0, replicas});
            continue;
        }
        for (const mdist_dtype_t dtype : dtypes)
            for (const mdist_reduce_op_t op : collective.reduces ? ops : std::vector{MDIST_SUM}) {
                // Of one pair the library says why it is refused.
                if (collective.reduces && dtypes.size() * ops.size() > 1 && !takes(op, dtype)) continue;
                for (auto bytes = static_cast<double>(options.min_bytes);
                     bytes <= static_cast<double>(options.max_bytes); bytes *= options.factor) {
                    const auto parts = static_cast<uint64_t>(bytes) / mdist_dtype_size(dtype) / replicas;
                    cases.push_back(
                        {&collective, std::max<uint64_t>(parts, 1) * replicas, dtype, op, options.root, replicas});
                }
            }
    }
    return cases;
}

/// One replica's part of the bench. Every replica goes through the same cases. Throws std::runtime_error.
class ReplicaBench {
  public:
    ReplicaBench(const Plan &plan, mdist_replica_t *replica)
        : plan_(plan), replica_(replica), id_(mdist_replica_id(replica)), data_(allocate()), apart_(allocate()) {}

    WorkersRow measure(const Case &what) {
        const Operands operands = {what, replica_, id_, data_.get(), apart_.get()};
        fill(operands);
        time(operands, 1);
        const uint64_t wrong = sum(count_wrong(operands));
        // Repeated in-place sums end in infinity or wrap around, which takes as long as any number.
        const double each = trial(operands);
        constexpr double kBatchNs = 100e3;
        const auto batch = static_cast<unsigned>(std::clamp(kBatchNs / each, 1.0, 1e4));
        const auto rounds = static_cast<unsigned>(std::clamp(plan_.seconds * 1e9 / (each * batch), 3.0, 1001.0));
        std::vector<double> samples;
        for (unsigned i = 0; i < rounds; ++i) samples.push_back(time(operands, batch));
        return {what, largest(median(samples)), wrong};
    }

  private:
    Memory allocate() const {
        uint64_t bytes = 1;
        for (const Case &what : plan_.cases) bytes = std::max(bytes, what.bytes());
        void *memory = nullptr;
        const bool from_library = plan_.options.memory == "library";
        if (from_library) {
            mdist_error_t *error = nullptr;
            const auto local = mdist_replica_local_index(replica_);
            require_ok(mdist_alloc(plan_.strategy, local, bytes, &memory, &error), error);
        } else if (posix_memalign(&memory, 4096, bytes) != 0) {
            throw std::runtime_error("no memory for " + std::to_string(bytes) + " bytes");
        }
        std::memset(memory, 0, bytes);
        return Memory(static_cast<char *>(memory), Free{from_library});
    }

    /// ns per operation
    double time(const Operands &operands, unsigned batch) const {
        const double start = now_ns();
        for (unsigned i = 0; i < batch; ++i) {
            mdist_error_t *error = nullptr;
            require_ok(call(operands, &error), error);
        }
        return (now_ns() - start) / batch;
    }

    /// A rough time in ns per operation, the same number on all replicas. Also warms up everything.
    double trial(const Operands &operands) const {
        constexpr double kTrialNs = 2e6;
        for (unsigned batch = 1;; batch *= 4) {
            const double each = largest(time(operands, batch));
            if (each * batch > kTrialNs || batch > 10000) return std::max(each, 1.0);
        }
    }

    double largest(double value) const { return reduce(MDIST_MAX, MDIST_FLOAT64, value); }
    uint64_t sum(uint64_t value) const { return reduce(MDIST_SUM, MDIST_UINT64, value); }

    template <class T>
    T reduce(mdist_reduce_op_t op, mdist_dtype_t dtype, T value) const {
        const mdist_buffer_t buffer = {&value, 1, dtype, 0};
        mdist_error_t *error = nullptr;
        require_ok(mdist_all_reduce(replica_, op, &buffer, &buffer, 1, nullptr, &error), error);
        return value;
    }

    const Plan &plan_;
    mdist_replica_t *replica_;
    uint32_t id_;
    Memory data_;
    Memory apart_;
};

/// The run: the replicas' threads, and what they return.
class WorkersRun {
  public:
    WorkersRun(const Plan &plan, bool json) : plan_(plan), json_(json) {}

    /// Returns the number of wrong elements on all workers.
    uint64_t run() {
        mdist_error_t *error = nullptr;
        const mdist_status_t status = mdist_run(plan_.strategy, step, this, NULL, &error);
        const std::string sentence = status < 0 ? sentence_of(status, error) : "";
        if (!failure_.empty()) throw std::runtime_error(failure_);
        if (status < 0) throw std::runtime_error(sentence);
        return wrong_;
    }

  private:
    static int32_t step(mdist_replica_t *replica, void *user_data) {
        auto *self = static_cast<WorkersRun *>(user_data);
        try {
            self->take(replica);
            return 0;
        } catch (const std::exception &failure) {
            const std::lock_guard hold(self->lock_);
            if (self->failure_.empty()) self->failure_ = failure.what();
            return 1;
        }
    }

    void take(mdist_replica_t *replica) {
        ReplicaBench bench(plan_, replica);
        const bool prints = mdist_replica_id(replica) == 0;
        if (prints && !json_) print_job(plan_.job);
        std::vector<WorkersRow> rows;
        for (const Case &what : plan_.cases) {
            const bool first = rows.empty() || rows.back().what.collective != what.collective;
            rows.push_back(bench.measure(what));
            if (!prints || json_) continue;
            if (first) print_header(*what.collective);
            print_row(rows.back());
        }
        if (prints && json_) print_workers_json(plan_.job, rows);
        if (mdist_replica_local_index(replica) != 0) return;
        for (const WorkersRow &row : rows) wrong_ += row.wrong;
    }

    const Plan &plan_;
    const bool json_;
    uint64_t wrong_ = 0; // written by local replica 0
    std::mutex lock_;
    std::string failure_;
};

} // namespace

std::vector<std::string> collective_names() {
    std::vector<std::string> names;
    for (const Collective &collective : collectives()) names.emplace_back(collective.name);
    return names;
}

std::vector<std::string> dtype_names() {
    std::vector<std::string> names;
    for (const mdist_dtype_t dtype : all_dtypes()) names.emplace_back(mdist_dtype_name(dtype));
    return names;
}

std::vector<std::string> op_names() {
    std::vector<std::string> names;
    for (const mdist_reduce_op_t op : kOps) names.emplace_back(op_name(op));
    return names;
}

int bench_workers(const WorkersOptions &options, bool json) {
    const StrategyHandle strategy = make_strategy(nullptr);
    const uint32_t replicas = mdist_strategy_replica_count(strategy.get());
    const uint32_t workers = replicas / mdist_strategy_local_replica_count(strategy.get());
    if (options.min_bytes == 0) throw std::runtime_error("--min 0: must be at least 1 byte");
    if (options.root >= replicas)
        throw std::runtime_error("--root " + std::to_string(options.root) + ": must be below " +
                                 std::to_string(replicas) + ", the number of replicas");
    const Plan plan = {options,
                       strategy.get(),
                       {replicas, workers, options.memory},
                       cases_of(options, replicas),
                       options.quick ? 0.002 : 0.1};
    const uint64_t wrong = WorkersRun(plan, json).run();
    return wrong == 0 ? 0 : 1;
}

} // namespace mdist
