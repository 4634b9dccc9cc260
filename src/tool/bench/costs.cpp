// SPDX-License-Identifier: Apache-2.0
#include "bench/costs.h"

#include "bench/report.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace mdist {
namespace {

constexpr double kSinglesGoal = 0.2; // at least five times as fast
constexpr double kWholeGoal = 1.3;
constexpr double kAssignGoal = 1.3;
constexpr std::size_t kValues = 1000;
constexpr std::size_t kValueBytes = 4096;

/// The same number of rounds on every worker, however fast each worker is.
unsigned rounds_of(const Bench &bench) {
    return bench.quick() ? 3 : 101;
}

class ValueHandle {
  public:
    ValueHandle() = default;
    explicit ValueHandle(mdist_value_t *value) : value_(value) {}
    ValueHandle(ValueHandle &&other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
    ~ValueHandle() { mdist_value_destroy(value_); }
    mdist_value_t *get() const { return value_; }

  private:
    mdist_value_t *value_ = nullptr;
};

/// Makes a value of ones on every local replica.
ValueHandle make_value(const World &world, std::size_t bytes) {
    std::vector<float> ones(bytes / sizeof(float), 1.0f);
    mdist_tensor_t tensor = {};
    tensor.data = ones.data();
    tensor.dtype = MDIST_FLOAT32;
    tensor.rank = 1;
    tensor.shape[0] = ones.size();
    const std::vector<mdist_tensor_t> tensors(world.replicas(), tensor);
    mdist_value_t *value = nullptr;
    mdist_error_t *error = nullptr;
    require_ok(mdist_value_per_replica(world.strategy(), tensors.data(), tensors.size(), &value, &error), error);
    return ValueHandle(value);
}

/// The values to reduce, and the ways to reduce them. Each way keeps its results until it has all of them.
class Reductions {
  public:
    explicit Reductions(const World &world) : world_(world), whole_(make_value(world, kValues * kValueBytes)) {
        for (std::size_t i = 0; i < kValues; ++i) {
            values_.push_back(make_value(world, kValueBytes));
            handles_.push_back(values_.back().get());
        }
        results_.resize(kValues);
    }

    void batch() {
        mdist_error_t *error = nullptr;
        require_ok(mdist_strategy_reduce_to(world_.strategy(), MDIST_SUM, handles_.data(), nullptr, kValues,
                                            results_.data(), nullptr, &error),
                   error);
        destroy(kValues);
    }
    void singles() {
        for (std::size_t i = 0; i < kValues; ++i) reduce(handles_[i], &results_[i]);
        destroy(kValues);
    }
    void whole() {
        reduce(whole_.get(), &results_[0]);
        destroy(1);
    }

  private:
    void reduce(mdist_value_t *value, mdist_value_t **result) const {
        mdist_error_t *error = nullptr;
        require_ok(mdist_strategy_reduce_to(world_.strategy(), MDIST_SUM, &value, nullptr, 1, result, nullptr, &error),
                   error);
    }
    void destroy(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) mdist_value_destroy(std::exchange(results_[i], nullptr));
    }

    const World &world_;
    std::vector<ValueHandle> values_;
    std::vector<mdist_value_t *> handles_;
    ValueHandle whole_;
    std::vector<mdist_value_t *> results_;
};

/// Where rows were measured: "2" replicas of this process, or "2x1" workers and replicas.
struct Place {
    World &world;
    std::string layout;
};

Row row_of(const Place &place, const std::string &name, std::size_t bytes, double goal, const std::string &floor,
           const std::vector<double> &library, const std::vector<double> &bare) {
    Row row;
    row.name = name;
    row.replicas = mdist_strategy_replica_count(place.world.strategy());
    row.bytes = bytes;
    row.floor = floor;
    row.set_times(library, bare);
    row.set_goal(Measure::kRatio, goal);
    return row;
}

void bench_batch(Bench &bench, const Place &place) {
    const std::string name = "batch_reduce_to " + place.layout + " x 1000 x " + size_text(kValueBytes);
    if (!bench.wanted(name)) return;
    Reductions reductions(place.world);
    const std::function<void()> sides[] = {[&] { reductions.batch(); }, [&] { reductions.singles(); },
                                           [&] { reductions.whole(); }};
    Samples samples(std::size(sides));
    for (unsigned round = 0; round < rounds_of(bench) + 1; ++round) {
        for (std::size_t i = 0; i < std::size(sides); ++i) {
            const double start = now_ns();
            sides[i]();
            if (round != 0) samples[i].push_back(now_ns() - start); // caches are cold in the first round
        }
    }
    const std::size_t bytes = kValues * kValueBytes;
    bench.add(row_of(place, name + " / singles", bytes, kSinglesGoal,
                     "1000 mdist_strategy_reduce_to, one after another", samples[0], samples[1]));
    bench.add(row_of(place, name + " / whole", bytes, kWholeGoal, "mdist_strategy_reduce_to of as many bytes",
                     samples[0], samples[2]));
}

/// A variable with aggregation SUM, and a second one that the bare all-reduce writes to.
class Variables {
  public:
    Variables(World &world, std::size_t bytes) : elements_(bytes / sizeof(float)) {
        assigned_ = create(world, "assigned");
        reduced_ = create(world, "reduced");
        gradient_ = create(world, "gradient");
        for (uint32_t local = 0; local < world.replicas(); ++local) {
            gradients_.push_back(tensor_of(gradient_, local));
            outputs_.push_back(tensor_of(reduced_, local));
        }
    }
    ~Variables() {
        for (mdist_variable_t *variable : {assigned_, reduced_, gradient_}) mdist_variable_destroy(variable);
    }
    Variables(const Variables &) = delete;
    Variables &operator=(const Variables &) = delete;

    Side assign(mdist_assign_t how, unsigned batch) const {
        return side("mdist_replica_assign", batch, [this, how](const Seat &seat, mdist_error_t **error) {
            return mdist_replica_assign(seat.replica, assigned_, how, &gradients_[seat.index], nullptr, error);
        });
    }
    Side all_reduce(unsigned batch) const {
        return side("mdist_all_reduce", batch, [this](const Seat &seat, mdist_error_t **error) {
            const mdist_buffer_t input = {gradients_[seat.index].data, elements_, MDIST_FLOAT32, 0};
            const mdist_buffer_t output = {outputs_[seat.index].data, elements_, MDIST_FLOAT32, 0};
            return mdist_all_reduce(seat.replica, MDIST_SUM, &input, &output, 1, nullptr, error);
        });
    }

  private:
    template <class Call>
    static Side side(const char *name, unsigned batch, Call call) {
        Side side;
        side.name = name;
        side.batch = batch;
        side.run = [call](const Seat &seat, unsigned times) {
            for (unsigned i = 0; i < times; ++i) {
                mdist_error_t *error = nullptr;
                seat.note(call(seat, &error), error);
            }
        };
        return side;
    }

    mdist_variable_t *create(const World &world, const char *name) const {
        mdist_tensor_t zeros = {};
        zeros.dtype = MDIST_FLOAT32;
        zeros.rank = 1;
        zeros.shape[0] = elements_;
        const std::vector<float> memory(elements_);
        zeros.data = const_cast<float *>(memory.data());
        mdist_variable_options_t options = {};
        options.struct_size = sizeof options;
        options.aggregation = MDIST_AGGREGATION_SUM;
        mdist_variable_t *variable = nullptr;
        mdist_error_t *error = nullptr;
        require_ok(mdist_variable_create(world.strategy(), name, &zeros, &variable, &options, &error), error);
        return variable;
    }
    static mdist_tensor_t tensor_of(const mdist_variable_t *variable, uint32_t local) {
        mdist_tensor_t tensor = {};
        mdist_error_t *error = nullptr;
        require_ok(mdist_variable_tensor(variable, local, &tensor, &error), error);
        return tensor;
    }

    uint64_t elements_;
    mdist_variable_t *assigned_ = nullptr;
    mdist_variable_t *reduced_ = nullptr;
    mdist_variable_t *gradient_ = nullptr;
    std::vector<mdist_tensor_t> gradients_;
    std::vector<mdist_tensor_t> outputs_;
};

void bench_assign(Bench &bench, const Place &place, std::size_t bytes, unsigned batch) {
    constexpr std::pair<const char *, mdist_assign_t> kHow[] = {{"assign ", MDIST_ASSIGN_SET},
                                                                {"assign_add ", MDIST_ASSIGN_ADD}};
    for (const auto &[what, how] : kHow) {
        const std::string name = what + place.layout + " x " + size_text(bytes);
        if (!bench.wanted(name)) continue;
        const Variables variables(place.world, bytes);
        const Samples samples =
            place.world.measure({variables.all_reduce(batch), variables.assign(how, batch)}, rounds_of(bench));
        Row row = row_of(place, name, bytes, kAssignGoal, "mdist_all_reduce", samples[1], samples[0]);
        if (how != MDIST_ASSIGN_SET) row.measure = Measure::kNone; // also reads the copies, which no all-reduce does
        bench.add(std::move(row));
    }
}

void bench_place(Bench &bench, const Place &place) {
    bench_batch(bench, place);
    bench_assign(bench, place, 4 << 10, 100);
    bench_assign(bench, place, 256 << 10, 10);
    bench_assign(bench, place, 4 << 20, 1);
}

} // namespace

void bench_costs(Bench &bench) {
    for (const uint32_t replicas : {2u, 4u}) bench_place(bench, {bench.world(replicas), std::to_string(replicas)});
}

int bench_job_costs(const BenchOptions &options, bool json) {
    Bench bench(options);
    World world(make_strategy(nullptr), bench.machine().usable_cpus);
    const uint32_t workers = mdist_strategy_worker_count(world.strategy());
    bench_place(bench, {world, std::to_string(workers) + "x" + std::to_string(world.replicas())});
    if (mdist_strategy_rank(world.strategy()) == 0) print_bench(bench, json);
    return 0;
}

} // namespace mdist
