// SPDX-License-Identifier: Apache-2.0
// The workers of `mdist bench --elastic`.
#include "bench/board.h"
#include "bench/elastic.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace mdist {
namespace {

constexpr uint64_t kGradient = 256 << 10; // elements: 1 MiB
constexpr uint64_t kCommitEvery = 10;

std::string variable(const char *name) {
    const char *const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

/// A small training: an iterator in memory, weights, and a step that sums as many gradients.
class Training {
  public:
    explicit Training(mdist_strategy_t *strategy) : strategy_(strategy), gradient_(kGradient), sum_(kGradient) {
        mdist_error_t *error = nullptr;
        mdist_tensor_t like = {};
        like.data = gradient_.data();
        like.dtype = MDIST_FLOAT32;
        like.rank = 1;
        like.shape[0] = kGradient;
        require_ok(mdist_variable_create(strategy, "weights", &like, &weights_, nullptr, &error), error);
        DatasetHandle numbers, shuffled, repeated, batches, dealt;
        mdist_dataset_t *made = nullptr;
        require_ok(mdist_dataset_range(0, 100'000, 1, &made, nullptr, &error), error);
        numbers.reset(made);
        require_ok(mdist_dataset_shuffle(numbers.get(), 1000, 7, &made, nullptr, &error), error);
        shuffled.reset(made);
        require_ok(mdist_dataset_repeat(shuffled.get(), MDIST_FOREVER, &made, nullptr, &error), error);
        repeated.reset(made);
        require_ok(mdist_dataset_batch(repeated.get(), 128, &made, nullptr, &error), error);
        batches.reset(made);
        require_ok(mdist_distribute_dataset(strategy, batches.get(), &made, nullptr, &error), error);
        dealt.reset(made);
        mdist_iterator_t *iterator = nullptr;
        require_ok(mdist_iterator_create(dealt.get(), &iterator, &error), error);
        iterator_.reset(iterator);
    }
    ~Training() { mdist_variable_destroy(weights_); }
    Training(const Training &) = delete;
    Training &operator=(const Training &) = delete;

    /// One step with its input. Prints nothing: if a worker was lost, this fails on all others.
    mdist_status_t step(mdist_error_t **error) {
        mdist_value_t *batch = nullptr;
        const mdist_status_t status = mdist_iterator_next(iterator_.get(), &batch, 1, error);
        const ValueHandle owner(batch);
        return status == MDIST_OK ? bare_step(error) : status;
    }
    /// The same without input.
    mdist_status_t bare_step(mdist_error_t **error) { return mdist_run(strategy_, run, this, NULL, error); }

  private:
    static int32_t run(mdist_replica_t *replica, void *self) {
        auto &training = *static_cast<Training *>(self);
        mdist_tensor_t weights;
        mdist_error_t *error = nullptr;
        if (mdist_variable_tensor(training.weights_, mdist_replica_local_index(replica), &weights, nullptr) != MDIST_OK)
            return 1;
        const mdist_buffer_t input = {training.gradient_.data(), kGradient, MDIST_FLOAT32, 0};
        void *const to = training.to_variable_ ? weights.data : training.sum_.data();
        const mdist_buffer_t output = {to, kGradient, MDIST_FLOAT32, 0};
        const mdist_status_t status = mdist_all_reduce(replica, MDIST_SUM, &input, &output, 1, nullptr, &error);
        mdist_error_free(error); // mdist_run tells it
        return status == MDIST_OK ? 0 : 1;
    }

    mdist_strategy_t *strategy_;
    std::vector<float> gradient_, sum_;
    const bool to_variable_ = variable("BENCH_TO") == "variable";
    mdist_variable_t *weights_ = nullptr;
    IteratorHandle iterator_;
};

/// Trains until it is killed, and notes the first step of each generation.
int train(mdist_strategy_t *strategy, const MappedBoard &board, bool is_elastic) {
    Training training(strategy);
    mdist_error_t *error = nullptr;
    mdist_change_t change = {};
    change.struct_size = sizeof change;
    change.generation = 1 + static_cast<uint32_t>(std::atoi(variable("MDIST_RESTART").c_str()));
    uint64_t at = 0;
    int32_t regroups = mdist_strategy_is_joining(strategy);
    for (;;) {
        if (regroups != 0) {
            mdist_error_free(std::exchange(error, nullptr));
            require_ok(mdist_regroup(strategy, &change, nullptr, &error), error);
            at = change.step;
            regroups = 0;
        }
        board->pids[mdist_strategy_rank(strategy)] = getpid();
        mdist_status_t status = training.step(&error);
        if (status == MDIST_OK && mdist_strategy_is_chief(strategy) != 0) {
            if (change.generation < Board::kGenerations && board->first_ns[change.generation] == 0)
                board->first_ns[change.generation] = now_ns();
            ++board->steps;
        }
        if (status == MDIST_OK && ++at % kCommitEvery == 0 && is_elastic) {
            status = mdist_commit(strategy, at, nullptr, &error);
            if (status == MDIST_OK) status = mdist_membership_check(strategy, &regroups, nullptr, nullptr, &error);
        }
        if (status != MDIST_OK && !is_elastic) require_ok(status, error);
        if (status != MDIST_OK) regroups = 1;
    }
}

void add(const MappedBoard &board, double library_ns, double floor_ns) {
    const uint32_t at = board->samples;
    if (at == Board::kSamples) return;
    board->library_ns[at] = library_ns;
    board->floor_ns[at] = floor_ns;
    board->samples = at + 1;
}

/// Waits for all workers.
void meet(mdist_strategy_t *strategy) {
    int32_t verdict = 0;
    mdist_error_t *error = nullptr;
    require_ok(mdist_membership_check(strategy, &verdict, nullptr, nullptr, &error), error);
}

/// Commits and copies, in turns, the same bytes in each worker.
int commit(mdist_strategy_t *strategy, const MappedBoard &board, uint64_t bytes, uint32_t rounds) {
    std::vector<float> values(bytes / sizeof(float), 1.0f);
    std::vector<float> copies[] = {values, values}; // commits go to two places in turns, too
    mdist_tensor_t like = {};
    like.data = values.data();
    like.dtype = MDIST_FLOAT32;
    like.rank = 1;
    like.shape[0] = values.size();
    mdist_variable_t *weights = nullptr;
    mdist_error_t *error = nullptr;
    require_ok(mdist_variable_create(strategy, "weights", &like, &weights, nullptr, &error), error);
    constexpr uint32_t kCold = 4; // rounds in which memory is new
    for (uint32_t round = 0; round < rounds + kCold; ++round) {
        meet(strategy);
        double start = now_ns();
        require_ok(mdist_commit(strategy, round + 1, nullptr, &error), error);
        const double library_ns = now_ns() - start;
        meet(strategy);
        start = now_ns();
        std::memcpy(copies[round % 2].data(), values.data(), bytes);
        const double floor_ns = now_ns() - start;
        if (round >= kCold && mdist_strategy_is_chief(strategy) != 0) add(board, library_ns, floor_ns);
    }
    meet(strategy);
    mdist_variable_destroy(weights);
    return 0;
}

/// Times some steps; the bench compares jobs.
int step(mdist_strategy_t *strategy, const MappedBoard &board, uint32_t rounds) {
    Training training(strategy);
    mdist_error_t *error = nullptr;
    for (uint32_t round = 0; round < rounds + 10; ++round) {
        const double start = now_ns();
        require_ok(training.bare_step(&error), error);
        if (round >= 10 && mdist_strategy_is_chief(strategy) != 0) add(board, now_ns() - start, 0);
    }
    return 0;
}

} // namespace

int run_elastic_bench_worker() {
    const MappedBoard board(variable("BENCH_BOARD"));
    const StrategyHandle strategy = make_strategy(nullptr);
    const std::string part = variable("BENCH_PART");
    const auto rounds = static_cast<uint32_t>(std::atoi(variable("BENCH_ROUNDS").c_str()));
    const bool is_elastic = !variable("MDIST_ELASTIC_REPLICAS").empty();
    if (part == "train") return train(strategy.get(), board, is_elastic);
    if (part == "step") return step(strategy.get(), board, rounds);
    return commit(strategy.get(), board, std::stoull(variable("BENCH_BYTES")), rounds);
}

} // namespace mdist
