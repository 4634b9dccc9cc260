// SPDX-License-Identifier: Apache-2.0
// Group: the meeting point of the replicas of one worker, and the state that decides whether they may still meet.
//
//   READY --release(cause)--> RELEASED --reset()--> READY     a step failed: who waits is let go; the next step is fine
//   READY --fail(cause)-----> FAILED                          for ever: timeout, abort
//
// In a job of several workers every release is a fail, and what ends the group ends the job: the others may have moved
// on from where this worker stands.
// A collective opens with meet(): everybody posts a Call, the last to arrive compares all of them, and all go on or all
// fail alike. Between meet() and finish() only library code runs (which waits for other workers at most, for a limited
// time), so that finish() cannot be left early: a caller gets its buffers back when nobody reads or writes them any
// more. Who has other things to do than wait uses the halves of meet(): arrive(), and met() until it says so; what
// follows the meeting must then be such that nobody waits for a party that is not in a call of the library
// (finish_work(), never finish()). Party = local replica index. Each party's functions are called by that replica's
// thread, or by one thread at a time on its behalf; release, fail and abort by any.
#pragma once

#include "comm/call.h"
#include "util/alarm.h"
#include "util/clock.h"
#include "util/event_count.h"
#include "util/failure.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace mdist {

class GpuGroup;
class Workers;

class Group {
  public:
    Group(uint32_t parties, Patience patience, uint64_t timeout_ns);

    uint32_t parties() const { return parties_; }

    /// The job's other workers; nullptr if there are none. Set before anybody meets.
    Workers *workers() const { return workers_; }
    void set_workers(Workers *workers, uint32_t first_replica_id) {
        workers_ = workers;
        first_id_ = first_replica_id;
    }

    /// The GPUs that the parties work on; nullptr on the CPU. Set before anybody meets.
    GpuGroup *gpus() const { return gpus_; }
    void set_gpus(GpuGroup *gpus) { gpus_ = gpus; }

    /// The party that does all work of large reductions, for those parties that wait and not only started; or all of
    /// them together. Set before anybody meets.
    static constexpr uint32_t kAllReduceTogether = UINT32_MAX;
    uint32_t reducer() const { return reducer_; }
    void set_reducer(uint32_t party) { reducer_ = party; }

    /// For meetings that are given no limit of their own. Changed while no party is inside.
    uint64_t timeout() const { return timeout_ns_; }
    void set_timeout(uint64_t timeout_ns) { timeout_ns_ = timeout_ns; }

    /// Posts `call` and returns when every party has posted the same; throws what every party then throws alike.
    /// `timeout_ns` 0: the group's own. The call must stay valid until finish(), or until this throws.
    void meet(uint32_t party, const Call &call, uint64_t timeout_ns);

    /// The first half of meet(), which does not wait.
    struct Arrival {
        uint64_t print;      // fingerprint of the call
        uint64_t generation; // of the meeting
        uint32_t seen;       // round() before it
        bool last;           // the meeting is complete
        bool started;
    };
    /// For a party that may not come back soon: nobody may leave work to it (see started()).
    Arrival arrive_started(uint32_t party, const Call &call);
    /// Whether the meeting is complete; throws what every party throws alike, and withdraws if the group has ended.
    bool met(const Arrival &arrival);
    /// Takes the arrival back, unless the meeting is complete: true if it did, and nobody reads the call any more.
    bool withdraw(const Arrival &arrival);
    /// For a withdrawn party that waited too long: ends all collectives, and throws why.
    [[noreturn]] void throw_late(uint32_t party, const Call &call, uint64_t waited_ns);
    /// Sleeps until round() or finishes() is no longer what was seen, or for `timeout_ns`.
    uint32_t round() const { return round_.now(); }
    void wait_round(uint32_t seen, uint64_t timeout_ns) const { round_.wait(seen, patience_, timeout_ns); }
    void wait_finish(uint32_t seen, uint64_t timeout_ns) const { finish_round_.wait(seen, patience_, timeout_ns); }
    /// Alarms that are rung whenever round() or finishes() changes, until they are removed; for parties that do not
    /// sleep there. Throws bad_alloc.
    void add(Alarm &alarm);
    void remove(const Alarm &alarm) noexcept;
    /// Whether met() would no longer say false.
    bool decided(const Arrival &arrival) const {
        return completed_.load(std::memory_order_acquire) != arrival.generation ||
               state_.load(std::memory_order_seq_cst) != kReady;
    }
    /// Whether some party of this meeting only started its call; after meet().
    bool started() const { return any_started_; }

    /// The call that a party posted; between meet() and finish().
    const Call &call_of(uint32_t party) const { return *slots_[party].call; }
    /// Its only buffer's input and output, for calls with one buffer: without a look at the other's stack.
    const void *input_of(uint32_t party) const { return slots_[party].input; }
    void *output_of(uint32_t party) const { return slots_[party].output; }
    /// Posts a call for a party without a meeting: for one thread that knows them all. No party is inside.
    void post(uint32_t party, const Call &call) {
        write(slots_[party], call);
        reset_work();
    }
    /// Returns when every party has come here.
    void finish() noexcept;
    /// The other way to finish: returns when all `total` pieces of work are done, whoever did them; `done` of them did
    /// this party. A party that found no work left need not be waited for, since until it meets again nothing moves on.
    /// `before` is what finishes() gave before the meeting.
    void finish_work(uint32_t before, uint64_t done, uint64_t total) noexcept {
        if (add_work(done, total) || finishes() != before) return;
        finish_round_.wait(before, patience_, kNoDeadline);
    }
    /// Counts pieces as done; true if they were the last.
    bool add_work(uint64_t done, uint64_t total) noexcept;
    uint32_t finishes() const { return finish_round_.now(); }
    /// Whether each party has a core of its own.
    bool spins() const { return patience_.spin_ns != 0; }

    /// The party's step is over; parties that wait for it would wait in vain.
    void depart(uint32_t party) noexcept;

    /// Ends the step for all: those who wait, and those who come before reset(), get `cause`, as ABORTED unless it
    /// is the fault of the call itself. The first cause counts.
    void release(const Failure &cause) noexcept;
    /// Ends all collectives for good. The first cause counts.
    void fail(const Failure &cause) noexcept;
    /// Throws the cause, as meet() would, unless the group is READY.
    void require_ready() const {
        if (state_.load(std::memory_order_acquire) != kReady) throw_cause(false);
    }
    bool ready() const { return state_.load(std::memory_order_acquire) == kReady; }
    bool failed() const { return state_.load(std::memory_order_acquire) == kFailed; }
    /// Why nobody can meet any more, if so.
    std::optional<Failure> cause() const;
    /// How many runs have failed and been forgotten.
    uint64_t failed_runs() const { return failed_runs_.load(std::memory_order_relaxed); }
    /// Makes a released group READY again. Nobody is inside.
    void reset() noexcept;

    /// One piece of work per party, each to be claimed once in each meeting; after meet(), also by those who come so
    /// late that all is done.
    bool claim(uint32_t piece) {
        const uint64_t meeting = completed_.load(std::memory_order_relaxed) + 1;
        return slots_[piece].claimed.exchange(meeting, std::memory_order_relaxed) != meeting;
    }
    /// Performs the collective that all parties have posted with the other workers, or on the GPUs, in the name of all.
    /// By one thread, between meeting and finishing.
    void lead(uint64_t timeout_ns) noexcept;
    /// After finishing: throws what lead() failed with, alike on all parties.
    void check_led() const {
        if (led_failure_) throw Failure(*led_failure_);
    }

    /// One number per collective for parties to draw work from, set to 0 by meet(); between meet() and finish().
    std::atomic<uint64_t> &work() { return work_; }
    /// Memory for a small call's data, one piece per party, so that it needs no finish(). A party fills its piece for
    /// the round to come and calls meet(); all may then read the pieces of that round until they meet again.
    static constexpr std::size_t kStageBytes = 8192;
    uint64_t next_round(uint32_t party) const { return entered(party) + 1; }
    char *stage(uint32_t party, uint64_t round) const { return slots_[party].stage[round & 1]; }

  private:
    enum State : uint32_t { kReady, kReleased, kFailed };

    struct alignas(64) Slot {
        /// Meetings entered in run `entered_run`; written by the party, read by others for their messages alone.
        std::atomic<uint64_t> entered{0};
        std::atomic<uint64_t> entered_run{0};
        std::atomic<uint64_t> departed_run{0};
        std::atomic<CallKind> last_kind{CallKind::kBarrier};
        /// The last meeting whose piece of this number was taken.
        std::atomic<uint64_t> claimed{0};
        /// What others read in every call, so written only where it changes: that it stays the same is the usual case.
        alignas(64) const Call *call = nullptr;
        const void *input = nullptr;
        void *output = nullptr;
        alignas(64) char stage[2][kStageBytes];
    };

    static void write(Slot &slot, const Call &call);
    void enter(Slot &slot, const Call &call);
    uint64_t entered(uint32_t party) const;
    bool departed(uint32_t party) const;
    void reset_work() {
        if (work_.load(std::memory_order_relaxed) != 0) work_.store(0, std::memory_order_relaxed);
    }
    Arrival arrive(uint32_t party, const Call &call);
    void await(uint32_t party, const Call &call, const Arrival &arrival, uint64_t limit_ns);
    void complete(uint64_t print) noexcept;
    void compare();
    bool alike() const;
    bool end(State state, const Failure &cause, bool alike) noexcept;
    /// Wakes who sleeps there, and rings the alarms.
    void advance(EventCount &count) noexcept {
        count.advance();
        if (alarm_count_.load(std::memory_order_seq_cst) != 0) ring();
    }
    void ring() noexcept;
    [[noreturn]] void throw_cause(bool waiting) const;
    Failure late(uint32_t party, const Call &call, uint64_t waited_ns) const;
    Failure gone() const;
    void fail_late(uint32_t party, const Call &call, uint64_t waited_ns) noexcept;
    void release_gone() noexcept;

    const uint32_t parties_;
    Workers *workers_ = nullptr;
    GpuGroup *gpus_ = nullptr;
    uint32_t first_id_ = 0; // of party 0, for messages
    uint32_t reducer_ = kAllReduceTogether;
    const Patience patience_;
    uint64_t timeout_ns_;
    std::unique_ptr<Slot[]> slots_;

    // What parties write when they arrive, on one line; those who wait do not look at it.
    /// Who is here: arrived in bits 0-15, departed in 16-31, completed meetings in 32-63; so that arriving, giving up
    /// and completing exclude each other.
    alignas(64) std::atomic<uint64_t> tally_{0};
    /// Sum of the fingerprints of those who have arrived: as many times one's own if all calls are the same.
    std::atomic<uint64_t> prints_{0};
    /// How many of those who have arrived only started their call.
    std::atomic<uint32_t> starting_{0};

    // What those who wait look at, on another, written once for each meeting.
    alignas(64) EventCount round_;
    /// Completed meetings, as in the tally.
    std::atomic<uint64_t> completed_{0};
    /// Whether the last complete meeting was well: written by the last to arrive before it completes the meeting, read
    /// by all after that.
    bool well_ = true;
    /// Whether some party only started its call; as well_.
    bool any_started_ = false;
    /// Why the last lead() failed. No party can meet again before all have read it.
    std::optional<Failure> led_failure_;

    // What is read in every meeting and seldom written.
    alignas(64) std::atomic<uint32_t> state_{kReady};
    std::atomic<uint64_t> run_{1}; // counts reset(), so that slots need not be wiped
    std::atomic<uint64_t> failed_runs_{0};
    std::atomic<uint32_t> alarm_count_{0};

    alignas(64) std::atomic<uint64_t> work_{0};
    alignas(64) std::atomic<uint64_t> finished_{0};
    EventCount finish_round_;
    alignas(64) mutable std::mutex cause_mutex_;
    std::optional<Failure> cause_;
    std::optional<Failure> failed_cause_; // of FAILED, where a release came first
    bool alike_ = false;                  // the cause is everybody's: all who wait get it as it is
    std::mutex alarm_mutex_;
    std::vector<Alarm *> alarms_;
};

} // namespace mdist
