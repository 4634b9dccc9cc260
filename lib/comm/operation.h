// SPDX-License-Identifier: Apache-2.0
// Operation: one party's part in a started collective, which the party does not wait in.
//
// An operation is the first in its party's line in an OperationQueue, or waits there for its turn. It takes part in the
// group from post() to its end. It is over when it is done, failed or given up; then the caller's buffers are free.
// Buffers on a GPU are free for work that the replica's stream gets after take_result().
//
// Any thread may call over() and result(). The queue calls everything else, one thread at a time.
#pragma once

#include "comm/call/arrays.h"
#include "comm/done_calls.h"
#include "comm/party_work.h"
#include "util/alarm.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>

namespace mdist {

class Operation {
  public:
    /// Copies the call's buffer arrays. If the buffers lie on the party's GPU, also marks its stream. `timeout_ns`
    /// counts from post(); 0 means the group's timeout. A library thread that has talked to the other workers calls
    /// `led` afterwards.
    Operation(Executors &executors, uint32_t party, const Call &call, uint64_t timeout_ns, std::function<void()> led);
    Operation(const Operation &) = delete;
    Operation &operator=(const Operation &) = delete;
    /// Destroy it only when it is over, or was never posted.
    ~Operation();

    uint32_t party() const { return party_; }
    /// The name of the function that started it, without `_start`.
    const char *name() const { return call_.kind->name(); }
    bool over() const { return over_.load(std::memory_order_acquire); }
    bool on_gpus() const { return call_.on_gpus(); }
    /// True when done, false while under way. Throws what the blocking form would throw, on every call.
    bool result() const;
    /// result() for the party. Once it returns true, whatever the party's stream gets next runs after the collective.
    bool take_result();
    /// take_result() for an operation that nobody asks about any more. Drops a failure: whatever comes next fails as
    /// well.
    void leave_result() noexcept;

    /// Posts the call when its turn has come. Throws what the blocking form would throw before it waits.
    void post();
    /// If the parties have met, lets a library thread talk to the other workers.
    void begin() noexcept { advance(Share::kOthers); }
    /// Does what begin() does, does the work of small calls, and notices what others have done. Returns true when the
    /// operation is over.
    bool notice() noexcept { return advance(Share::kSmall); }
    /// Does what notice() does, and takes part in all of the work.
    bool move_on() noexcept { return advance(Share::kAll); }
    /// Whether all parties have come. From then on the operation ends by library code alone.
    bool met() const { return group_.decided(arrival_); }
    /// Whether this party has seen that and done its share, so that only the others' pieces are left.
    bool working() const { return working_; }
    /// Whether move_on() would find something new.
    bool news() const;
    /// When to look again at the latest, because the operation has taken long or too long. kNoDeadline once the parties
    /// have met.
    uint64_t deadline() const;
    /// Takes the arrival back and returns true. Returns false if the parties have met.
    bool withdraw() { return group_.withdraw(arrival_); }
    /// Ends the operation as failed, and releases the group.
    void end(const Failure &failure) noexcept;

    /// When the operation is over, `functions` go to `calls`. Not for an operation that is over.
    void listen(DoneCalls::List &functions, DoneCalls &calls) noexcept {
        listeners_.splice(listeners_.end(), functions);
        calls_ = &calls;
    }
    bool has_listeners() const { return calls_ != nullptr; }
    /// How the operation ended.
    mdist_status_t status() const { return failure_ ? failure_->status() : MDIST_OK; }

    /// Makes the alarm. From then on it rings when there may be news, and stays on when the operation is over. Throws
    /// RESOURCE.
    void make_alarm();
    bool has_alarm() const { return alarm_ != nullptr; }
    /// Turns the alarm off until that time, or until there is news. Not for an operation that is over.
    void set_alarm(uint64_t at_ns) noexcept { alarm_->set(at_ns); }
    void ring_alarm() noexcept { alarm_->ring(); }
    int duplicate_alarm() const { return alarm_->duplicate(); }

  private:
    /// How much of the work after the meeting a call takes on.
    enum class Share { kOthers, kSmall, kAll };

    bool advance(Share share) noexcept;
    bool try_advance(Share share);
    bool takes(Share share) const;
    uint64_t meeting_limit() const { return std::min(timeout_ns_, group_.call_timeout()); }
    bool finished() const;
    void set_over() noexcept;

    Executors &executors_;
    Group &group_;
    const uint32_t party_;
    const uint64_t timeout_ns_;
    const std::function<void()> led_;
    Call call_;
    const CallArrays arrays_;
    const std::shared_ptr<const reduce::Operator> by_; // keeps the call's operator
    Event ready_;                                      // marks the stream, for buffers on a GPU
    Marks done_;                                       // where the GPUs stand once it is over
    // From post() on:
    std::optional<PartyWork> work_;
    uint64_t posted_ns_ = 0;
    LongWait long_wait_;
    uint32_t finishes_before_ = 0;
    Group::Arrival arrival_ = {};
    bool working_ = false; // this party has done its share

    DoneCalls::List listeners_;
    DoneCalls *calls_ = nullptr;
    std::unique_ptr<Alarm> alarm_;
    std::optional<Failure> failure_;
    std::atomic<bool> over_{false};
};

} // namespace mdist
