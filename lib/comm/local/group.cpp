// SPDX-License-Identifier: Apache-2.0
#include "comm/local/group.h"

#include "comm/plan/lengths.h"
#include "util/log.h"
#include "util/text.h"

#include <algorithm>

#include <sched.h>

namespace mdist {
namespace {

constexpr uint64_t kOneArrived = 1;
constexpr uint64_t kOneGeneration = uint64_t{1} << 32;

uint32_t departures(uint64_t tally) {
    return (tally >> 16) & 0xffff;
}
uint64_t generation(uint64_t tally) {
    return tally >> 32;
}

} // namespace

Group::Group(uint32_t parties, Patience patience, uint64_t timeout_ns)
    : parties_(parties), patience_(patience), timeout_ns_(timeout_ns), slots_(new Slot[parties]) {}

void Group::write(Slot &slot, const Call &call) {
    const bool one = call.buffer_count == 1 && call.inputs != nullptr;
    const void *input = one ? call.inputs[0].data : nullptr;
    void *output = one ? call.outputs[0].data : nullptr;
    if (slot.call != &call) slot.call = &call;
    if (slot.input != input) slot.input = input;
    if (slot.output != output) slot.output = output;
}

void Group::enter(Slot &slot, const Call &call) {
    const uint64_t run = run_.load(std::memory_order_relaxed);
    const uint64_t before =
        slot.entered_run.load(std::memory_order_relaxed) == run ? slot.entered.load(std::memory_order_relaxed) : 0;
    slot.last_kind.store(call.kind, std::memory_order_relaxed);
    slot.entered.store(before + 1, std::memory_order_relaxed);
    slot.entered_run.store(run, std::memory_order_relaxed);
    write(slot, call);
}

uint64_t Group::entered(uint32_t party) const {
    const Slot &slot = slots_[party];
    const bool now = slot.entered_run.load(std::memory_order_relaxed) == run_.load(std::memory_order_relaxed);
    return now ? slot.entered.load(std::memory_order_relaxed) : 0;
}

bool Group::departed(uint32_t party) const {
    return slots_[party].departed_run.load(std::memory_order_relaxed) == run_.load(std::memory_order_relaxed);
}

void Group::meet(uint32_t party, const Call &call, uint64_t timeout_ns) {
    const Arrival arrival = arrive(party, call);
    if (!arrival.last) await(party, call, arrival, std::min(timeout_ns != 0 ? timeout_ns : timeout(), call_timeout()));
    if (!well_) throw ended(true);
}

Group::Arrival Group::arrive(uint32_t party, const Call &call) {
    if (state_.load(std::memory_order_acquire) != kReady) throw ended(false);
    enter(slots_[party], call);

    const uint64_t print = fingerprint(call);
    const uint32_t seen = round_.now();
    prints_.fetch_add(print, std::memory_order_relaxed);
    const uint64_t tally = tally_.fetch_add(kOneArrived, std::memory_order_seq_cst) + kOneArrived;
    const bool last = arrived(tally) == parties_;
    if (last) {
        complete(print);
    } else if (departures(tally) != 0) {
        release_gone();
    }
    // From here on, the party that arrives last may read the call, unless this party withdraws first.
    return {print, generation(tally), seen, last, false};
}

Group::Arrival Group::arrive_started(uint32_t party, const Call &call) {
    if (state_.load(std::memory_order_acquire) != kReady) throw ended(false);
    starting_.fetch_add(1, std::memory_order_relaxed); // before the arrival, which publishes it
    Arrival arrival = arrive(party, call);
    arrival.started = true;
    return arrival;
}

/// Returns when the meeting is complete; otherwise withdraws and throws. The party that arrives last decides the
/// outcome. If the meeting succeeded for one party it succeeded for all, even if something ends the group at the same
/// moment: the parties then count on each other in finish().
void Group::await(uint32_t party, const Call &call, const Arrival &arrival, uint64_t limit_ns) {
    uint32_t seen = arrival.seen;
    LongWait long_wait;
    const auto describe = [&] { return waiting(party, call, arrival); };
    // The round also advances for the previous meeting, if that meeting's last party was slow to announce it.
    while (completed_.load(std::memory_order_acquire) == arrival.generation) {
        if (state_.load(std::memory_order_seq_cst) != kReady) {
            if (withdraw(arrival)) throw ended(true);
        } else if (!round_.wait(seen, patience_, limit_ns, long_wait, describe) && withdraw(arrival)) {
            throw_late(party, call, limit_ns);
        }
        seen = round_.now();
    }
}

bool Group::met(const Arrival &arrival) {
    if (completed_.load(std::memory_order_acquire) == arrival.generation) {
        if (state_.load(std::memory_order_seq_cst) != kReady && withdraw(arrival)) throw ended(true);
        if (completed_.load(std::memory_order_acquire) == arrival.generation) return false;
    }
    if (!well_) throw ended(true);
    return true;
}

void Group::throw_late(uint32_t party, const Call &call, uint64_t waited_ns) {
    fail_late(party, call, waited_ns);
    throw ended(true);
}

/// The last party to arrive compares the calls and releases all parties. The others are waiting, so their calls are
/// safe to read.
void Group::complete(uint64_t print) noexcept {
    try {
        if (prints_.load(std::memory_order_relaxed) != parties_ * print)
            compare();
        else if (!has_workers_ && call_of(0).kind->traits().tells_lengths)
            check_pieces();
    } catch (const std::bad_alloc &) {
        release(out_of_memory());
    } catch (const Failure &failure) {
        end_alike(failure);
    }
    reset_work();
    any_started_ = starting_.load(std::memory_order_relaxed) != 0;
    if (any_started_) starting_.store(0, std::memory_order_relaxed);
    prints_.store(0, std::memory_order_relaxed);
    well_ = state_.load(std::memory_order_seq_cst) == kReady;
    uint64_t tally = tally_.load(std::memory_order_relaxed);
    while (!tally_.compare_exchange_weak(tally, tally - parties_ * kOneArrived + kOneGeneration,
                                         std::memory_order_seq_cst)) {
    }
    completed_.store((generation(tally) + 1) & 0xffffffff, std::memory_order_release);
    advance(round_);
}

void Group::check_pieces() const try {
    const CallLengths lengths(calls());
    check_lengths(lengths, call_of(0));
    for (uint32_t party = 0; party < parties_; ++party) {
        const Call &call = call_of(party);
        if (call.kind->traits().has_root && party != call.root) continue;
        for (std::size_t b = 0; b < call.buffer_count; ++b) check_place(call, party, b, lengths.offset(party, b));
    }
} catch (const Failure &failure) {
    throw name_.empty() ? failure : Failure(failure).about(name_);
}

std::string Group::in_name() const {
    return name_.empty() ? "" : text(" in ", name_);
}

/// Throws unless all calls are the same. Most of the replicas are right, if any.
void Group::compare() {
    uint32_t most = 0, alike = 0; // the first party whose call the most others made, too, and how many did
    for (uint32_t party = 0; party < parties_; ++party) {
        uint32_t count = 0;
        for (uint32_t other = 0; other < parties_; ++other) count += same_call(call_of(party), call_of(other));
        if (count == parties_) return;
        if (count > alike) most = party, alike = count;
    }
    for (uint32_t other = 0; other < parties_; ++other) {
        if (same_call(call_of(most), call_of(other))) continue;
        throw Failure(MDIST_ERR_MISMATCH,
                      text("replicas disagree in operation ", entered(0), " of the step", in_name(), ": ",
                           alike > 1 ? text(alike, " of ", parties_, " replicas") : text("replica ", id(most)),
                           " called ", call_text(call_of(most)), ", replica ", id(other), " called ",
                           call_text(call_of(other)), difference_text(call_of(most), call_of(other))))
            .operation(call_of(most).kind->name())
            .reason("different_calls");
    }
}

/// Takes the party's arrival back, so that nobody reads its call any more, and returns true. Returns false if the
/// meeting is complete, and only after the last party to arrive has read all calls.
bool Group::withdraw(const Arrival &arrival) {
    uint64_t tally = tally_.load(std::memory_order_seq_cst);
    while (generation(tally) == arrival.generation) {
        if (arrived(tally) == parties_) {
            sched_yield(); // the last party is comparing calls, for a few hundred nanoseconds
            tally = tally_.load(std::memory_order_seq_cst);
        } else if (tally_.compare_exchange_weak(tally, tally - kOneArrived, std::memory_order_seq_cst)) {
            // The meeting cannot complete without this party, so nobody reads these while they change.
            prints_.fetch_sub(arrival.print, std::memory_order_relaxed);
            if (arrival.started) starting_.fetch_sub(1, std::memory_order_relaxed);
            return true;
        }
    }
    return false;
}

void Group::finish() noexcept {
    const uint32_t seen = finish_round_.now();
    if (finished_.fetch_add(1, std::memory_order_acq_rel) + 1 == parties_) {
        finished_.store(0, std::memory_order_relaxed);
        advance(finish_round_);
    } else {
        // No deadline: between meet() and finish() the others run only library code, and its waits are limited.
        finish_round_.wait(seen, patience_, kNoDeadline);
    }
}

bool Group::add_work(uint64_t done, uint64_t total) noexcept {
    if (done == 0 || finished_.fetch_add(done, std::memory_order_acq_rel) + done != total) return false;
    finished_.store(0, std::memory_order_relaxed);
    advance(finish_round_);
    return true;
}

void Group::keep_work_failure(const Failure &failure) noexcept {
    const std::lock_guard lock(cause_mutex_);
    if (work_failed_.load(std::memory_order_relaxed)) return;
    work_failure_ = failure;
    work_failed_.store(true, std::memory_order_relaxed);
}

void Group::throw_work_failure() const {
    const std::lock_guard lock(cause_mutex_);
    throw Failure(*work_failure_);
}

void Group::add(Alarm &alarm) {
    const std::lock_guard lock(alarm_mutex_);
    alarms_.push_back(&alarm);
    alarm_count_.store(static_cast<uint32_t>(alarms_.size()), std::memory_order_seq_cst);
}

void Group::remove(const Alarm &alarm) noexcept {
    const std::lock_guard lock(alarm_mutex_);
    alarms_.erase(std::remove(alarms_.begin(), alarms_.end(), &alarm), alarms_.end());
    alarm_count_.store(static_cast<uint32_t>(alarms_.size()), std::memory_order_seq_cst);
}

void Group::ring() noexcept {
    const std::lock_guard lock(alarm_mutex_);
    for (Alarm *alarm : alarms_) alarm->ring();
}

} // namespace mdist
