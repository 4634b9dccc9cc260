// SPDX-License-Identifier: Apache-2.0
// Operation: a collective under way that nobody waits in, as one party's part of it.
//
// It is first in an OperationQueue, or waits there for its turn; it takes part in the group from post() to its end.
// When it is over (done, failed or given up) the caller's buffers are free: on a GPU, for what the replica's stream
// gets behind take_result(). over() and result(): any thread; all else: by the queue, one thread at a time.
#pragma once

#include "comm/across.h"
#include "comm/all_reduce.h"
#include "comm/device/gpu_group.h"
#include "comm/exchange.h"
#include "util/alarm.h"

#include <atomic>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace mdist {

class OperationQueue;

class Operation {
  public:
    /// Copies the call's buffer arrays, and marks the party's stream where they lie on its GPU. `timeout_ns` 0: the
    /// group's; it counts from post().
    Operation(OperationQueue &queue, uint32_t party, const Call &call, uint64_t timeout_ns);
    Operation(const Operation &) = delete;
    Operation &operator=(const Operation &) = delete;
    /// Over, or never posted.
    ~Operation();

    uint32_t party() const { return party_; }
    /// The function it came from, without `_start`.
    const char *name() const { return call_name(call_.kind); }
    bool over() const { return over_.load(std::memory_order_acquire); }
    bool on_gpus() const { return call_.on_gpus(); }
    /// True when done, false while it is under way; throws what the blocking form would, again and again.
    bool result() const;
    /// The same for the party: once it is done, what the party's stream gets next comes behind it.
    bool take_result();
    /// The same for one that nobody asks for any more. What fails in it fails in whatever comes next, too.
    void leave_result() noexcept;

    /// Posts the call, now that its turn has come. Throws as the blocking form would before it waits.
    void post();
    /// Once the parties have met, lets a thread of the library talk to the other workers.
    void begin() noexcept { advance(Share::kOthers); }
    /// The same; and does what small calls do then, and notices what others have done. True when it is over.
    bool notice() noexcept { return advance(Share::kSmall); }
    /// The same, and takes part in the work.
    bool move_on() noexcept { return advance(Share::kAll); }
    /// Whether all parties have come; from then on it ends by library code alone.
    bool met() const { return group_.decided(arrival_); }
    /// Whether this party has seen that, and done its share: there is nothing left but the others' pieces.
    bool working() const { return working_; }
    /// Whether a call of move_on() would find something new.
    bool news() const;
    /// When it will have taken too long; kNoDeadline once the parties have met.
    uint64_t deadline() const;
    /// Takes the arrival back, unless the parties have met: true if it did.
    bool withdraw() { return group_.withdraw(arrival_); }
    /// Ends it as failed; nullptr: for lack of memory.
    void end(const Failure *failure) noexcept;

    /// From then on it is rung when there may be news, and in the end for good. Throws RESOURCE.
    void make_alarm();
    bool has_alarm() const { return alarm_ != nullptr; }
    /// Off until then, or until there is news; not for one that is over.
    void set_alarm(uint64_t at_ns) noexcept { alarm_->set(at_ns); }
    void ring_alarm() noexcept { alarm_->ring(); }
    int duplicate_alarm() const { return alarm_->duplicate(); }

  private:
    /// What a call does of what follows the meeting.
    enum class Share { kOthers, kSmall, kAll };

    bool advance(Share share) noexcept;
    bool try_advance(Share share);
    bool takes(Share share) const;
    uint64_t work();
    bool finished() const;
    void set_over() noexcept;

    OperationQueue &queue_;
    Group &group_;
    const uint32_t party_;
    const uint64_t timeout_ns_;
    std::vector<mdist_buffer_t> buffers_; // inputs, then outputs
    Call call_;
    Event ready_; // of buffers on a GPU
    Marks done_;  // the same, once it is over
    // From post() on:
    std::variant<std::monostate, StagedReduce, ChunkedReduce, Exchange, Across> part_;
    uint64_t total_ = 0; // pieces of work
    uint64_t posted_ns_ = 0;
    uint32_t finishes_before_ = 0;
    Group::Arrival arrival_ = {};
    bool working_ = false; // this party has done its share

    std::unique_ptr<Alarm> alarm_;
    std::optional<Failure> failure_;
    std::atomic<bool> over_{false};
};

} // namespace mdist
