// SPDX-License-Identifier: Apache-2.0
// Gradients: a model's gradients on each local replica, and the round that each replica is in.
//
//   closed --accumulate(), ready()--> open --wait()--> closed        by the replica's thread alone
//                                     open --leave()-> closed        its step ends, which fails the run
//
// In an open round that reduces, buckets are started in the plan's order as their gradients become ready; each is an
// operation in the replica's line, like any collective that was started. A round that accumulates starts nothing. What
// is under way reads and writes this object's memory, so a replica holds on to it from the first call of a round until
// its operations are over.
#pragma once

#include "comm/operation.h"
#include "strategy/gradients/plan.h"
#include "strategy/strategy.h"
#include "util/function_ref.h"

#include <memory>
#include <string>
#include <vector>

namespace mdist {

class Gradients : public std::enable_shared_from_this<Gradients> {
  public:
    Gradients(std::shared_ptr<Strategy> strategy, std::vector<GradientSpec> specs, const GradientOptions &options);

    const Strategy &strategy() const { return *strategy_; }
    const GradientPlan &plan() const { return plan_; }
    /// Throws INVALID_ARGUMENT for a number that no gradient has.
    void check_index(std::size_t index) const;
    Tensor tensor(uint32_t local, std::size_t index) const;

    // In a step:
    void accumulate(Replica &replica);
    void ready(Replica &replica, std::size_t index);
    struct Outcome {
        double norm = 0;
        bool finite = true;
    };
    Outcome wait(Replica &replica);

    /// The replica's step is over. In a round that it did not wait for, says so in words; empty if that had failed.
    std::string leave(const Replica &replica);

  private:
    /// What a replica knows of itself.
    struct Round {
        bool open = false;
        bool failed = false;
        bool accumulates = false;
        std::vector<char> ready; // by gradient
        std::size_t ready_count = 0;
        std::vector<std::size_t> missing;                // by bucket: how many of its gradients are not ready
        std::vector<std::shared_ptr<Operation>> started; // the first buckets'
        std::vector<double> squares;                     // by block
        Memory squares_on_gpu;                           // the same, on their way

        uint64_t rounds_before = 0;        // that were added up and not reduced
        uint64_t epoch = 0;                // when that was
        std::vector<char> kept;            // by gradient: whether `sums` has something of it
        std::vector<std::string> subjects; // of the operations, for so many rounds:
        uint64_t subjects_for = 0;
    };
    struct Share {
        Memory gradients;
        Memory sums; // of the rounds before; from the first round on that accumulates
        Round round;
    };

    static char *at(const Memory &memory, std::size_t offset) { return static_cast<char *>(memory.get()) + offset; }

    void in_round(Replica &replica, FunctionRef<void(Share &)> call);
    void open(Replica &replica, Share &share);
    void close(Replica &replica, Round &round) noexcept;
    void mark(Replica &replica, Share &share, std::size_t index);
    void settle_missing(Replica &replica, Share &share);
    Failure missing(const Round &round) const;

    void keep(Replica &replica, Share &share, std::size_t index);
    void add_kept(const Replica &replica, Share &share, std::size_t index);

    void start_full_buckets(Replica &replica, Share &share);
    std::shared_ptr<Operation> start(Replica &replica, Round &round, std::size_t number,
                                     const std::vector<mdist_buffer_t> &buffers, int32_t op);
    const std::string &subject(Round &round, std::size_t number);

    void await_buckets(const Replica &replica, Share &share);
    double norm(Replica &replica, Share &share);
    void add_squares(const Replica &replica, Share &share, const GradientPlan::Bucket &bucket);
    void clip(const Replica &replica, const Share &share, const Outcome &outcome) const;

    const std::shared_ptr<Strategy> strategy_;
    const GradientPlan plan_;
    std::vector<std::unique_ptr<Share>> shares_; // by local replica
};

} // namespace mdist
