// SPDX-License-Identifier: Apache-2.0
#include "bench/beside.h"

#include "bench/mpi.h"
#include "bench/row.h"
#include "bench/workers_report.h"
#include "bench/world.h"
#include "counted.h"

#include <algorithm>
#include <functional>

namespace mdist {
namespace {

using Operation = std::function<void(float *, std::size_t)>;

/// One worker's part. Every worker goes through the same sizes and rounds.
class Beside {
  public:
    Beside(const WorkersOptions &options, mdist_replica_t *replica, Mpi &mpi)
        : options_(options),
          replica_(replica),
          data_(options.max_bytes / sizeof(float) + 1),
          mdist_([this](float *data, std::size_t elements) { reduce(MDIST_SUM, MDIST_FLOAT32, data, elements); }),
          mpi_([&mpi](float *data, std::size_t elements) { mpi.all_reduce(data, elements); }) {}

    BesideRow measure(std::size_t elements) {
        BesideRow row = {elements * sizeof(float), 0, 0, 0, wrong(mdist_, elements) + wrong(mpi_, elements)};
        // Sums in place end in infinity. To add that takes as long as to add other numbers.
        std::fill_n(data_.begin(), elements, 1.0F);
        const double each = trial(mdist_, elements) + trial(mpi_, elements);
        const auto batch = static_cast<unsigned>(std::clamp(2e5 / each, 1.0, 1e4));
        const double budget = options_.quick ? 2e6 : 2e8;
        const auto rounds = static_cast<unsigned>(std::clamp(budget / (each * batch), 3.0, 1001.0));
        std::vector<double> ours, theirs, times;
        for (unsigned i = 0; i < rounds; ++i) {
            ours.push_back(largest(time(mdist_, elements, batch)));
            theirs.push_back(largest(time(mpi_, elements, batch)));
            times.push_back(theirs.back() / ours.back());
        }
        row.mdist_us = median(ours) / 1e3;
        row.mpi_us = median(theirs) / 1e3;
        row.times = median(times);
        return row;
    }

  private:
    /// ns for one operation of a batch
    double time(const Operation &operation, std::size_t elements, unsigned batch) {
        const double start = now_ns();
        for (unsigned i = 0; i < batch; ++i) operation(data_.data(), elements);
        return (now_ns() - start) / batch;
    }

    double trial(const Operation &operation, std::size_t elements) {
        for (unsigned batch = 1;; batch *= 4) {
            const double each = largest(time(operation, elements, batch));
            if (each * batch > 2e6 || batch > 10000) return std::max(each, 1.0);
        }
    }

    /// Sums small whole numbers, which are exact. Returns how many are wrong on all workers together.
    uint64_t wrong(const Operation &operation, std::size_t elements) {
        const uint32_t count = mdist_replica_count(replica_);
        for (std::size_t i = 0; i < elements; ++i)
            data_[i] = static_cast<float>(mdist_replica_id(replica_) + static_cast<uint32_t>(i % 7));
        operation(data_.data(), elements);
        uint64_t found = 0;
        for (std::size_t i = 0; i < elements; ++i)
            found += data_[i] != static_cast<float>(count * (count - 1) / 2 + count * static_cast<uint32_t>(i % 7));
        reduce(MDIST_SUM, MDIST_UINT64, &found, 1);
        return found;
    }

    double largest(double value) {
        reduce(MDIST_MAX, MDIST_FLOAT64, &value, 1);
        return value;
    }

    void reduce(mdist_reduce_op_t op, mdist_dtype_t dtype, void *data, std::size_t elements) {
        const mdist_buffer_t buffer = {data, elements, dtype, 0};
        mdist_error_t *error = nullptr;
        require_ok(mdist_all_reduce(replica_, op, &buffer, &buffer, 1, nullptr, &error), error);
    }

    const WorkersOptions &options_;
    mdist_replica_t *replica_;
    std::vector<float> data_;
    const Operation mdist_, mpi_;
};

/// The run, and what its step returns.
struct BesideRun {
    const WorkersOptions &options;
    Mpi &mpi;
    const bool json;
    std::vector<BesideRow> rows;
    std::string failure;

    static int32_t step(mdist_replica_t *replica, void *user_data) {
        auto *self = static_cast<BesideRun *>(user_data);
        try {
            self->take(replica);
            return 0;
        } catch (const std::exception &failure) {
            self->failure = failure.what();
            return 1;
        }
    }

    void take(mdist_replica_t *replica) {
        const bool prints = !json && mdist_replica_id(replica) == 0;
        if (prints) print_beside_header(mdist_replica_count(replica), mpi.version());
        Beside beside(options, replica, mpi);
        for (auto bytes = static_cast<double>(options.min_bytes); bytes <= static_cast<double>(options.max_bytes);
             bytes *= options.factor) {
            rows.push_back(beside.measure(std::max<std::size_t>(static_cast<std::size_t>(bytes) / sizeof(float), 1)));
            if (prints) print_beside_row(rows.back());
        }
    }
};

void require_same_places(const Mpi &mpi, mdist_strategy_t *strategy) {
    const uint32_t replicas = mdist_strategy_replica_count(strategy);
    if (mpi.size() == replicas && mdist_strategy_local_replica_count(strategy) == 1) return;
    throw std::runtime_error(
        "MPI has " + counted(mpi.size(), "rank") + " and libmdist " + counted(replicas, "replica") + " in " +
        counted(replicas / mdist_strategy_local_replica_count(strategy), "worker") +
        ": each rank must be a worker with one replica. Start it by MPI's launcher: mpirun -n 4 mdist bench --workers "
        "--beside mpi, without MDIST_DEVICES; with Open MPI on several hosts also -x MDIST_STORE=HOST:PORT");
}

} // namespace

int bench_beside_mpi(const WorkersOptions &options, bool json) {
    const std::unique_ptr<Mpi> mpi = start_mpi(options.beside);
    const StrategyHandle strategy = make_strategy(nullptr);
    require_same_places(*mpi, strategy.get());
    BesideRun run = {options, *mpi, json, {}, {}};
    mdist_error_t *error = nullptr;
    const mdist_status_t status = mdist_run(strategy.get(), BesideRun::step, &run, nullptr, &error);
    const std::string sentence = status < 0 ? sentence_of(status, error) : "";
    if (!run.failure.empty() || status < 0) throw std::runtime_error(run.failure.empty() ? sentence : run.failure);
    if (json && mpi->rank() == 0) print_beside_json(mpi->size(), mpi->version(), run.rows);
    mpi->finish();
    return std::any_of(run.rows.begin(), run.rows.end(), [](const BesideRow &row) { return row.wrong != 0; }) ? 1 : 0;
}

} // namespace mdist
