// SPDX-License-Identifier: Apache-2.0
// Group: the place where the replicas of one worker meet for a collective, and the state that says whether they still
// can. It does not know what they do after they have met, or who does it (see executors.h).
//
//   READY --release(cause)--> RELEASED --reset()--> READY     a step failed: waiting parties are released, and the next
//                                                             step works again
//   READY --fail(cause)-----> FAILED                          for good: timeout, abort
//
// A collective opens with meet(). Each party posts a Call, and the last party to arrive compares all of them. Then all
// parties go on, or all fail with the same error.
//
// Between meet() and finish() only library code runs. It may wait for other workers, but only for a limited time, so no
// party can leave before finish(). A caller therefore gets its buffers back only when nobody reads or writes them any
// more.
//
// A party that does not want to wait calls the two halves of meet(): arrive_started(), then met() until it returns
// true. After such a meeting nobody may wait for a party that is not inside a library call: use finish_work(), never
// finish().
//
// In a job of several workers (join_job()) every release is a fail, and whatever ends the group ends the job. The other
// workers may already have moved on from the operation that this worker is in. Only release_alike() is none, since it
// comes when all workers have met.
//
// Some of the parties may also meet in an inner group (join_outer()), with a sequence of meetings of its own. What ends
// the outer group or an inner one ends all of them, and a step that begins afterwards begins with all of them reset. A
// party that departs from the outer group departs from the inner ones too.
//
// Party = local replica index; in an inner group, a number of its own. The functions that take a party are called by
// that replica's thread, or by one thread at a time on its behalf. Any thread may call release(), fail() and abort.
#pragma once

#include "comm/call/calls.h"
#include "util/alarm.h"
#include "util/clock.h"
#include "util/event_count.h"
#include "util/failure.h"
#include "util/long_wait.h"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mdist {

class Group {
  public:
    Group(uint32_t parties, Patience patience, uint64_t timeout_ns);
    ~Group();
    Group(const Group &) = delete;
    Group &operator=(const Group &) = delete;

    uint32_t parties() const { return parties_; }

    /// Says that the job has other workers. `end_job` is told, once, what ends all collectives; it must not throw.
    /// Party 0 is replica `first_replica_id` of the job. Call before anybody meets.
    void join_job(std::function<void(const Failure &)> end_job, uint32_t first_replica_id) {
        end_job_ = std::move(end_job);
        first_id_ = first_replica_id;
        has_workers_ = true;
    }
    /// Nothing outside hears of this group's end any more. No other thread may be inside.
    void leave_job() noexcept {
        end_job_ = nullptr;
        when_ended_ = nullptr;
    }
    /// Makes this an inner group: party i is party parties[i] of `outer`, which outlives it. `name` is for messages.
    /// Call it before anybody meets, and while no party of `outer` is inside.
    void join_outer(Group &outer, std::vector<uint32_t> parties, std::string name);
    /// Says that workers meet in this inner group, too. `wake` is called when the group has ended, to wake the party
    /// that leads; it must not throw or wait.
    void join_workers(std::function<void()> wake) {
        wake_leader_ = std::move(wake);
        has_workers_ = true;
    }
    const Patience &patience() const { return patience_; }

    /// The party that does all the work of large reductions, or kEveryParty. kEveryParty shares the work among all
    /// parties; so does a meeting in which some party only started its call. Set before anybody meets.
    static constexpr uint32_t kEveryParty = UINT32_MAX;
    uint32_t reducer() const { return reducer_; }
    void set_reducer(uint32_t party) { reducer_ = party; }

    /// The time limit of meetings that are given none of their own. Change it only while no party is inside.
    uint64_t timeout() const { return outer_ != nullptr ? outer_->timeout() : timeout_ns_; }
    void set_timeout(uint64_t timeout_ns) { timeout_ns_ = timeout_ns; }

    /// How long a meeting may take at most, and then each operation that it leads to (`communication.call_timeout`).
    uint64_t call_timeout() const { return outer_ != nullptr ? outer_->call_timeout() : call_timeout_ns_; }
    void set_call_timeout(uint64_t timeout_ns) { call_timeout_ns_ = timeout_ns; }

    /// Posts `call` and returns when every party has posted the same call. Otherwise throws, the same on every party.
    /// `timeout_ns` 0 means the group's own limit. The call must stay valid until finish(), or until this throws.
    void meet(uint32_t party, const Call &call, uint64_t timeout_ns);

    /// The result of the first half of meet(), which does not wait; the second half needs it.
    struct Arrival {
        uint64_t print;      // fingerprint of the call
        uint64_t generation; // of the meeting
        uint32_t seen;       // round() before it
        bool last;           // the meeting is complete
        bool started;
    };
    /// The first half of meet(), for a party that may not come back soon: nobody may leave work to it (see started()).
    Arrival arrive_started(uint32_t party, const Call &call);
    /// Whether the meeting is complete. Throws, the same on every party, if the meeting failed; withdraws and throws if
    /// the group has ended.
    bool met(const Arrival &arrival);
    /// Takes the arrival back and returns true; nobody reads the call any more. Returns false if the meeting is
    /// complete.
    bool withdraw(const Arrival &arrival);
    /// Ends all collectives, and throws why. For a party that has waited too long and withdrawn.
    [[noreturn]] void throw_late(uint32_t party, const Call &call, uint64_t waited_ns);
    /// Text for the log that says what an arrived party waits for. Only one of the waiting parties gets it.
    WaitText waiting(uint32_t party, const Call &call, const Arrival &arrival);
    /// Sleeps until round() or finishes() differs from `seen`, or for `timeout_ns`.
    uint32_t round() const { return round_.now(); }
    void wait_round(uint32_t seen, uint64_t timeout_ns) const { round_.wait(seen, patience_, timeout_ns); }
    void wait_finish(uint32_t seen, uint64_t timeout_ns) const { finish_round_.wait(seen, patience_, timeout_ns); }
    /// Registers an alarm, which is rung whenever round() or finishes() changes until it is removed. For parties that
    /// do not sleep in the group. Throws bad_alloc.
    void add(Alarm &alarm);
    void remove(const Alarm &alarm) noexcept;
    /// Whether met() would now return true or throw.
    bool decided(const Arrival &arrival) const {
        return completed_.load(std::memory_order_acquire) != arrival.generation ||
               state_.load(std::memory_order_seq_cst) != kReady;
    }
    /// Whether some party of this meeting only started its call. Valid after meet().
    bool started() const { return any_started_; }

    /// The call that a party posted. Valid between meet() and finish().
    const Call &call_of(uint32_t party) const { return *slots_[party].call; }
    Calls calls() const { return {&slots_[0].call, sizeof(Slot), parties_}; }
    /// A party's input and output, for calls with one buffer. Saves reading the other party's stack.
    const void *input_of(uint32_t party) const { return slots_[party].input; }
    void *output_of(uint32_t party) const { return slots_[party].output; }
    /// Returns when every party has called it.
    void finish() noexcept;
    /// The other way to finish: returns when all `total` pieces of work are done, whoever did them. This party did
    /// `done` of them. Nobody needs to wait for a party that found no work left, since nothing moves on until that
    /// party meets again. `before` is what finishes() returned before the meeting.
    void finish_work(uint32_t before, uint64_t done, uint64_t total) noexcept {
        if (add_work(done, total) || finishes() != before) return;
        finish_round_.wait(before, patience_, kNoDeadline);
    }
    /// Counts pieces as done. Returns true if they were the last.
    bool add_work(uint64_t done, uint64_t total) noexcept;
    /// Does a piece of work, unless an earlier one failed. The first failure is kept for all parties.
    template <class Work>
    void do_work(Work work) noexcept {
        if (work_failed_.load(std::memory_order_relaxed)) return;
        try {
            work();
        } catch (const std::exception &caught) {
            keep_work_failure(as_failure(caught));
        }
    }
    /// Throws why the work of this meeting failed, the same on all parties. Call it when all work is done: no party can
    /// meet again before all have called it.
    void check_work() const {
        if (work_failed_.load(std::memory_order_relaxed)) throw_work_failure();
    }
    uint32_t finishes() const { return finish_round_.now(); }
    /// Whether each party has a core of its own, and so spins while it waits.
    bool spins() const { return patience_.spin_ns != 0; }

    /// Says that the party's step is over. Parties that wait for it would wait in vain, so they are released.
    void depart(uint32_t party) noexcept;

    /// Ends the step for all: parties that wait, and parties that come before reset(). They get `cause` as ABORTED. But
    /// if it concerns every party, the parties that already wait get it as it is. Only the first cause counts.
    void release(const Failure &cause) noexcept;
    /// release() for a cause that all workers of the job have met to agree on: the job goes on.
    void release_alike(const Failure &cause) noexcept {
        count_refusal();
        end(kReleased, cause, false);
    }
    /// How many calls all workers have refused, at least.
    uint64_t refusals() const { return refusals_.load(std::memory_order_relaxed); }
    void count_refusal() noexcept { refusals_.fetch_add(1, std::memory_order_relaxed); }
    /// Keeps why a party meets in a refusal (refusal_of) in place of a call. If the others do something else, the group
    /// ends for this reason, not for the mismatch or timeout that follows from it.
    void refuse(const Failure &why) noexcept;
    /// Ends all collectives for good. Only the first cause counts.
    void fail(const Failure &cause) noexcept;
    /// Throws the cause, as meet() would, unless the group is READY.
    void require_ready() const {
        if (state_.load(std::memory_order_acquire) != kReady) throw ended(false);
    }
    bool ready() const { return state_.load(std::memory_order_acquire) == kReady; }
    /// What a party gets that waits when the group ends, or that comes later. A loss that ended all collectives is told
    /// as it is, so that it does not matter whether it was known before a call. For those who come later, any other
    /// cause is ABORTED.
    Failure ended(bool waiting) const noexcept;
    /// Throws the cause as a party that waits gets it, unless the group is READY.
    void require_ready_while_waiting() const {
        if (state_.load(std::memory_order_seq_cst) != kReady) throw ended(true);
    }
    /// Sets a function to call whenever release() or fail() has ended the group. Any thread may be in it; it must not
    /// wait or throw. Set it before anybody meets.
    void set_when_ended(std::function<void()> call) { when_ended_ = std::move(call); }
    /// The function in which a party waits for other parties, here or in an inner group; nullptr if it does not. For
    /// texts only.
    const char *waits_in(uint32_t party) noexcept;
    bool failed() const { return state_.load(std::memory_order_acquire) == kFailed; }
    /// Why nobody can meet any more; empty while the group is READY.
    std::optional<Failure> cause() const noexcept;
    /// How many runs have failed and been reset.
    uint64_t failed_runs() const { return failed_runs_.load(std::memory_order_relaxed); }
    /// Makes a released group READY again. No party is inside.
    void reset() noexcept;

    /// Claims a piece of work: there is one per party, and each can be claimed once in each meeting. Call it after
    /// meet(). A party may come so late that all the work is done.
    bool claim(uint32_t piece) {
        const uint64_t meeting = completed_.load(std::memory_order_relaxed) + 1;
        return slots_[piece].claimed.exchange(meeting, std::memory_order_relaxed) != meeting;
    }

    /// A counter from which parties draw work, one per collective. meet() sets it to 0. Valid between meet() and
    /// finish().
    std::atomic<uint64_t> &work() { return work_; }
    /// Memory for a small call's data, one piece per party, so that the call needs no finish(). A party fills its piece
    /// for the next round and calls meet(). All parties may then read the pieces of that round until they meet again.
    static constexpr std::size_t kStageBytes = 8192;
    uint64_t next_round(uint32_t party) const { return entered(party) + 1; }
    char *stage(uint32_t party, uint64_t round) const { return slots_[party].stage[round & 1]; }

  private:
    enum State : uint32_t { kReady, kReleased, kFailed };

    struct alignas(64) Slot {
        /// Meetings entered in run `entered_run`. The party writes it; others read it only for their messages.
        std::atomic<uint64_t> entered{0};
        std::atomic<uint64_t> entered_run{0};
        std::atomic<uint64_t> departed_run{0};
        std::atomic<CallKind> last_kind{&kUnnamedFunction};
        /// The last meeting in which somebody claimed the piece of this number.
        std::atomic<uint64_t> claimed{0};
        /// The others read these in every call, so they are written only when they change. Usually they do not.
        alignas(64) const Call *call = nullptr;
        const void *input = nullptr;
        void *output = nullptr;
        alignas(64) char stage[2][kStageBytes];
    };

    // Parts of the tally.
    static constexpr uint64_t kOneDeparted = uint64_t{1} << 16;
    static uint32_t arrived(uint64_t tally) { return tally & 0xffff; }

    static void write(Slot &slot, const Call &call);
    void enter(Slot &slot, const Call &call);
    uint64_t entered(uint32_t party) const;
    bool departed(uint32_t party) const;
    void reset_work() {
        if (work_.load(std::memory_order_relaxed) != 0) work_.store(0, std::memory_order_relaxed);
        if (work_failed_.load(std::memory_order_relaxed)) work_failed_.store(false, std::memory_order_relaxed);
    }
    Arrival arrive(uint32_t party, const Call &call);
    void await(uint32_t party, const Call &call, const Arrival &arrival, uint64_t limit_ns);
    void complete(uint64_t print) noexcept;
    void compare();
    std::string in_name() const;
    void check_pieces() const;
    bool alike() const noexcept;
    bool end(State state, const Failure &cause, bool alike) noexcept;
    Failure first_cause(const Failure &found) const noexcept;
    void end_alike(const Failure &failure) noexcept;
    void reset_own() noexcept;
    /// Counts a departure. Returns whether parties wait.
    bool count_departure(uint32_t party) noexcept;
    void depart_inner(uint32_t party) noexcept;
    template <class Use>
    void each_inner(Use use) noexcept;
    uint32_t id(uint32_t party) const {
        return outer_ != nullptr ? outer_->id(outer_parties_[party]) : first_id_ + party;
    }
    /// Wakes the parties that sleep on `count`, and rings the alarms.
    void advance(EventCount &count) noexcept {
        count.advance();
        if (alarm_count_.load(std::memory_order_seq_cst) != 0) ring();
    }
    void ring() noexcept;
    void keep_work_failure(const Failure &failure) noexcept;
    [[noreturn]] void throw_work_failure() const;
    WaitText waiting(uint32_t party, const Call &call) const;
    Failure late(uint32_t party, const Call &call, uint64_t waited_ns) const;
    Failure gone() const;
    void fail_late(uint32_t party, const Call &call, uint64_t waited_ns) noexcept;
    void release_gone() noexcept;

    const uint32_t parties_;
    std::function<void(const Failure &)> end_job_; // empty: this worker is the whole job
    std::function<void()> when_ended_;             // may be empty
    uint32_t first_id_ = 0;                        // of party 0, for messages
    bool has_workers_ = false;                     // workers meet, too
    std::function<void()> wake_leader_;            // of an inner group
    Group *outer_ = nullptr;                       // this is an inner group of it
    std::vector<uint32_t> outer_parties_;          // by party
    std::string name_;                             // "group {0, 2}", for messages
    uint32_t reducer_ = kEveryParty;
    const Patience patience_;
    uint64_t timeout_ns_;
    uint64_t call_timeout_ns_ = kNoDeadline;
    std::unique_ptr<Slot[]> slots_;

    // Written by parties when they arrive, on one cache line. Waiting parties do not look at it.
    /// Parties that arrived in bits 0-15, departed in 16-31, completed meetings in 32-63. One word, so that arriving,
    /// giving up and completing exclude each other.
    alignas(64) std::atomic<uint64_t> tally_{0};
    /// Sum of the fingerprints of the parties that have arrived. If all calls are the same, it is the number of parties
    /// times one fingerprint.
    std::atomic<uint64_t> prints_{0};
    /// How many arrived parties only started their call.
    std::atomic<uint32_t> starting_{0};

    // Read by waiting parties, on another cache line that is written once per meeting.
    alignas(64) EventCount round_;
    /// Completed meetings, as in the tally.
    std::atomic<uint64_t> completed_{0};
    /// Whether the last complete meeting succeeded. The last party to arrive writes it before it completes the meeting;
    /// all parties read it after that.
    bool well_ = true;
    /// Whether some party only started its call. Written and read like well_.
    bool any_started_ = false;

    // Read in every meeting and seldom written.
    alignas(64) std::atomic<uint32_t> state_{kReady};
    std::atomic<uint64_t> run_{1}; // counts reset(), so that slots need not be wiped
    std::atomic<uint64_t> failed_runs_{0};
    std::atomic<uint64_t> refusals_{0};
    std::atomic<uint32_t> alarm_count_{0};
    /// Whether some work of this meeting failed. Set before the piece counts as done.
    std::atomic<bool> work_failed_{false};
    std::atomic<uint64_t> teller_{0}; // the party that logs a long wait, and its meeting

    alignas(64) std::atomic<uint64_t> work_{0};
    alignas(64) std::atomic<uint64_t> finished_{0};
    EventCount finish_round_;
    alignas(64) mutable std::mutex cause_mutex_;
    std::optional<Failure> cause_;
    std::optional<Failure> failed_cause_; // why the group is FAILED, if a release came first
    std::optional<Failure> work_failure_; // the first of the meeting
    std::optional<Failure> refusal_;      // the first of the step
    bool alike_ = false;                  // the cause concerns everybody: all waiting parties get it as it is
    std::mutex alarm_mutex_;
    std::vector<Alarm *> alarms_;
    std::atomic<std::size_t> inner_count_{0};
    std::mutex inner_mutex_; // taken before any lock of an inner group
    std::vector<Group *> inner_;
};

} // namespace mdist
