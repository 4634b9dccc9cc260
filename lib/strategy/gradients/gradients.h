// SPDX-License-Identifier: Apache-2.0
// Gradients: buffers for a model's gradients on each local replica, reduced in buckets over all replicas. Each replica
// goes through rounds:
//
//   closed --accumulate(), ready()--> open --end()--> closed         called by the replica's thread only
//                                     open --leave()-> closed        the step ends, which fails the run
//
// A round either reduces or accumulates. In a round that reduces, buckets start in the plan's order as their gradients
// become ready. Each bucket is an operation in the replica's queue, like any other started collective. A round that
// accumulates starts nothing.
// Operations under way read and write this object's memory. A replica therefore holds a reference from the first call
// of a round until its operations are over.
//
// The memory is the library's, or the program's (lent.cpp). Lent memory is used only within a round: read and written
// where it lies, except for small gradients with gaps between them, which are packed into memory of the library on the
// way.
#pragma once

#include "comm/operation.h"
#include "device/tensor.h"
#include "strategy/gradients/plan.h"
#include "strategy/job/party.h"
#include "util/function_ref.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace mdist {

class Gradients final : public Unfinished, public OfSpan, public std::enable_shared_from_this<Gradients> {
  public:
    Gradients(std::shared_ptr<Job> job, std::vector<GradientSpec> specs, const GradientOptions &options);

    const Job &job() const { return *job_; }
    /// As many as the worker has replicas, unless a regroup has failed.
    std::size_t share_count() const { return shares_.size(); }
    const GradientPlan &plan() const { return plan_; }
    /// Throws INVALID_ARGUMENT if no gradient has this number.
    void check_index(std::size_t index) const;
    /// Where the gradient lies, or lay in the last round. Its data is NULL if it has no memory yet.
    Tensor tensor(uint32_t local, std::size_t index) const;
    /// Takes new addresses from the program for all gradients of a replica, from the next round on. nullptr: none for
    /// now. Throws FAILED_PRECONDITION within a round.
    void lend(uint32_t local, const std::vector<void *> &addresses);
    /// Throws INVALID_ARGUMENT if memory at `data` is not where this replica's device can use it.
    void check_place(uint32_t local, std::size_t index, const void *data) const;

    // Called in a step:
    void accumulate(Party &replica);
    void ready(Party &replica, std::size_t index);
    /// ready() for a gradient that lies at `data` in this round.
    void ready_at(Party &replica, std::size_t index, void *data);
    struct Outcome {
        double norm = 0;
        bool finite = true;
    };
    /// Waits until an operation is over, or just tells whether it is.
    using Over = FunctionRef<bool(Operation &)>;
    /// Goes on with the end of the round while operations are `over`. Returns whether the round has ended.
    bool end(Party &replica, Outcome &outcome, Over over);

    std::string leave(const Party &replica) override;
    /// Begins anew, with the replicas of the next generation: nothing is accumulated, nothing is lent.
    void span_changed() override { make_shares(); }

  private:
    /// The state of one replica's round.
    struct Round {
        std::atomic<bool> open{false}; // lend() asks on any thread
        bool failed = false;
        bool accumulates = false;
        std::vector<char> ready; // by gradient
        std::size_t ready_count = 0;
        std::vector<std::size_t> missing;                // by bucket: how many of its gradients are not ready
        std::vector<std::shared_ptr<Operation>> started; // the first buckets' operations; after all of them, the norm's
        bool ending = false;                             // all are ready, and a call has begun to end the round
        std::size_t buckets_over = 0;                    // once it is ending
        std::vector<double> squares;                     // by block, of reduced buckets; empty if no norm is wanted
        Memory squares_on_gpu;                           // the same on a GPU, before they are copied to `squares`
        std::vector<char> packed;                        // by buffer: whether it was packed

        uint64_t rounds_before = 0;        // accumulated and not yet reduced
        uint64_t epoch = 0;                // failed runs of the group when the round opened
        std::vector<char> kept;            // by gradient: whether `sums` holds a part of it
        std::vector<std::string> subjects; // of the operations, made for `subjects_for` rounds
        uint64_t subjects_for = 0;
    };
    /// Atomic, since other threads may ask where gradients lie.
    using Addresses = std::unique_ptr<std::atomic<char *>[]>;
    struct Share {
        Place place;                // of the device
        Memory gradients;           // the library's; empty if the program lends
        Addresses lent;             // by gradient; nullptr: none
        Addresses data;             // where they lie in this round
        std::vector<Memory> spare;  // by gradient: for those that have no other memory
        std::vector<Memory> packed; // by buffer
        Memory sums;                // of the rounds before; allocated by the first round that accumulates
        Round round;
    };

    static char *at(const Memory &memory, std::size_t offset) { return static_cast<char *>(memory.get()) + offset; }

    void leave_shares();
    void make_shares();
    void in_round(Party &replica, FunctionRef<void(Share &)> call);
    void open(Party &replica, Share &share);
    void close(Party &replica, Round &round) noexcept;
    void mark(Party &replica, Share &share, std::size_t index);
    void settle_missing(Party &replica, Share &share);
    Failure missing(const Round &round) const;
    void make_zero(const Party &replica, Share &share, std::size_t index);
    void need_not_ready(const Round &round, std::size_t index) const;
    void need_memory(const Share &share, std::size_t index) const;

    char *data_of(const Share &share, std::size_t index) const {
        return share.data[index].load(std::memory_order_relaxed);
    }
    mdist_buffer_t buffer_of(const Party &replica, Share &share, const GradientPlan::Buffer &buffer) const;
    char *in_one_piece(const Share &share, const GradientPlan::Buffer &buffer) const;
    void pack(const Party &replica, Share &share, const GradientPlan::Buffer &buffer) const;
    void unpack(const Party &replica, Share &share, const GradientPlan::Bucket &bucket) const;

    void keep(Party &replica, Share &share, std::size_t index);
    void add_kept(const Party &replica, Share &share, std::size_t index);

    void start_full_buckets(Party &replica, Share &share);
    std::shared_ptr<Operation> start(Party &replica, Round &round, std::size_t number,
                                     const std::vector<mdist_buffer_t> &buffers, int32_t op);
    const std::string &subject(Round &round, std::size_t number);

    void begin_end(Party &replica, Round &round);
    bool finish(Party &replica, Share &share, Outcome &outcome, Over over);
    bool buckets_over(const Party &replica, Share &share, Over over);
    bool norm_over(Party &replica, Share &share, Over over);
    void add_squares(const Party &replica, Share &share, const GradientPlan::Bucket &bucket);
    void clip(const Party &replica, const Share &share, const Outcome &outcome) const;
    void zero_all(const Party &replica, const Share &share) const;

    struct Former {
        Memory gradients;
        std::vector<Memory> spare;
        Place place;
    };

    const std::shared_ptr<Job> job_;
    const GradientPlan plan_;
    std::vector<std::unique_ptr<Share>> shares_; // by local replica
    /// By local replica, of those that the worker has no longer: the program may still have their addresses.
    std::vector<Former> former_;
    std::vector<Former> elsewhere_; // of replicas that work on another device now
};

} // namespace mdist
