// SPDX-License-Identifier: Apache-2.0
#include "comm/group.h"

#include "comm/device/gpu_group.h"
#include "comm/parts.h"
#include "comm/pointers.h"
#include "comm/workers.h"
#include "util/log.h"
#include "util/text.h"

#include <algorithm>
#include <string>

#include <sched.h>

namespace mdist {
namespace {

constexpr uint64_t kOneArrived = 1;
constexpr uint64_t kOneDeparted = uint64_t{1} << 16;
constexpr uint64_t kOneGeneration = uint64_t{1} << 32;

uint32_t arrived(uint64_t tally) {
    return tally & 0xffff;
}
uint32_t departures(uint64_t tally) {
    return (tally >> 16) & 0xffff;
}
uint64_t generation(uint64_t tally) {
    return tally >> 32;
}

std::string seconds(uint64_t ns) {
    return ns < 10'000'000'000u ? text(ns / 1'000'000, " ms") : text(ns / 1'000'000'000u, " s");
}

/// Those that are wrong together are told alike; a step's failure lets the others go with ABORTED.
bool concerns_everyone(const Failure &cause) {
    return cause.status() == MDIST_ERR_MISMATCH || cause.status() == MDIST_ERR_TIMEOUT ||
           cause.status() == MDIST_ERR_PEER_LOST || cause.status() == MDIST_ERR_DATA_LOSS;
}

bool has_parts(const Call &call) {
    return gathers(call.kind) || call.kind == CallKind::kReduceScatter || call.kind == CallKind::kScatter;
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
    if (!arrival.last) await(party, call, arrival, timeout_ns != 0 ? timeout_ns : timeout_ns_);
    if (!well_) throw_cause(true);
}

Group::Arrival Group::arrive(uint32_t party, const Call &call) {
    if (state_.load(std::memory_order_acquire) != kReady) throw_cause(false);
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
    // From here on the call may be read by whoever arrives last, unless this party withdraws first.
    return {print, generation(tally), seen, last, false};
}

Group::Arrival Group::arrive_started(uint32_t party, const Call &call) {
    if (state_.load(std::memory_order_acquire) != kReady) throw_cause(false);
    starting_.fetch_add(1, std::memory_order_relaxed); // before the arrival, which publishes it
    Arrival arrival = arrive(party, call);
    arrival.started = true;
    return arrival;
}

/// Returns when the meeting is complete; else withdraws and throws. Whoever arrived last has the last word: if all went
/// well for one party it went well for all, whatever ends the group in the same moment, since they count on each other
/// in finish().
void Group::await(uint32_t party, const Call &call, const Arrival &arrival, uint64_t limit_ns) {
    uint32_t seen = arrival.seen;
    // The round also advances for the meeting before this one, if its last party was slow to say so.
    while (completed_.load(std::memory_order_acquire) == arrival.generation) {
        if (state_.load(std::memory_order_seq_cst) != kReady) {
            if (withdraw(arrival)) throw_cause(true);
        } else if (!round_.wait(seen, patience_, limit_ns) && withdraw(arrival)) {
            throw_late(party, call, limit_ns);
        }
        seen = round_.now();
    }
}

bool Group::met(const Arrival &arrival) {
    if (completed_.load(std::memory_order_acquire) == arrival.generation) {
        if (state_.load(std::memory_order_seq_cst) != kReady && withdraw(arrival)) throw_cause(true);
        if (completed_.load(std::memory_order_acquire) == arrival.generation) return false;
    }
    if (!well_) throw_cause(true);
    return true;
}

void Group::throw_late(uint32_t party, const Call &call, uint64_t waited_ns) {
    fail_late(party, call, waited_ns);
    throw_cause(true);
}

/// The last to arrive compares the calls and lets everybody go. All others wait, so their calls can be read.
void Group::complete(uint64_t print) noexcept {
    try {
        if (prints_.load(std::memory_order_relaxed) != parties_ * print)
            compare();
        else if (workers_ == nullptr && has_parts(call_of(0)))
            check_parts(*this);
    } catch (const std::bad_alloc &) {
        release(Failure(MDIST_ERR_OUT_OF_MEMORY, "out of memory"));
    } catch (const Failure &failure) {
        workers_ == nullptr ? void(end(kReleased, failure, true)) : fail(failure);
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

void Group::compare() {
    for (uint32_t other = 1; other < parties_; ++other) {
        if (same_call(call_of(0), call_of(other))) continue;
        const uint64_t operation = entered(0);
        throw Failure(MDIST_ERR_MISMATCH,
                      text("replicas disagree in operation ", operation, " of the step: replica ", first_id_,
                           " called ", call_text(call_of(0)), ", replica ", first_id_ + other, " called ",
                           call_text(call_of(other)), difference_text(call_of(0), call_of(other))))
            .operation(call_name(call_of(0).kind))
            .reason("different_calls");
    }
}

/// Takes the party's arrival back, so that nobody reads its call any more; true if it did. False: the meeting is
/// complete; returns only when the last to arrive has read all calls.
bool Group::withdraw(const Arrival &arrival) {
    uint64_t tally = tally_.load(std::memory_order_seq_cst);
    while (generation(tally) == arrival.generation) {
        if (arrived(tally) == parties_) {
            sched_yield(); // the last one is comparing calls: some hundred nanoseconds
            tally = tally_.load(std::memory_order_seq_cst);
        } else if (tally_.compare_exchange_weak(tally, tally - kOneArrived, std::memory_order_seq_cst)) {
            // Nobody can be last without this party.
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
        // No deadline: between meet() and finish() the others run library code only, whose waits have limits.
        finish_round_.wait(seen, patience_, kNoDeadline);
    }
}

void Group::lead(uint64_t timeout_ns) noexcept {
    led_failure_.reset();
    try {
        Pointers<const Call *> calls(parties_);
        for (uint32_t party = 0; party < parties_; ++party) calls[party] = slots_[party].call;
        if (calls[0]->on_gpus())
            gpus_->perform(*this, calls.get(), timeout_ns);
        else
            workers_->perform(calls.get(), timeout_ns);
    } catch (const Failure &failure) {
        led_failure_.emplace(failure);
        if (failure.operation().empty()) std::move(*led_failure_).operation(call_name(slots_[0].call->kind));
    } catch (const std::exception &) {
        led_failure_.emplace(MDIST_ERR_OUT_OF_MEMORY, "out of memory"); // short enough to need none
    }
    // Before any party hears of it, and makes a failure of its own of it.
    if (led_failure_) release(*led_failure_);
}

bool Group::add_work(uint64_t done, uint64_t total) noexcept {
    if (done == 0 || finished_.fetch_add(done, std::memory_order_acq_rel) + done != total) return false;
    finished_.store(0, std::memory_order_relaxed);
    advance(finish_round_);
    return true;
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

void Group::depart(uint32_t party) noexcept {
    slots_[party].departed_run.store(run_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    const uint64_t tally = tally_.fetch_add(kOneDeparted, std::memory_order_seq_cst);
    if (arrived(tally) != 0) release_gone();
}

void Group::release_gone() noexcept {
    try {
        release(gone());
    } catch (const std::bad_alloc &) {
        release(Failure(MDIST_ERR_OUT_OF_MEMORY, "out of memory"));
    }
}

void Group::fail_late(uint32_t party, const Call &call, uint64_t waited_ns) noexcept {
    try {
        fail(late(party, call, waited_ns));
    } catch (const std::bad_alloc &) {
        fail(Failure(MDIST_ERR_TIMEOUT, "timed out"));
    }
}

/// Whether it was this that ended it.
bool Group::end(State state, const Failure &cause, bool alike) noexcept {
    {
        const std::lock_guard lock(cause_mutex_);
        const uint32_t now = state_.load(std::memory_order_relaxed);
        if (now == kFailed || now == state) return false;
        try {
            // A released group that fails keeps the cause of the release till the step is over: that came first.
            if (!cause_) {
                alike_ = alike;
                cause_.emplace(cause);
            }
            if (state == kFailed) failed_cause_.emplace(cause);
        } catch (const std::bad_alloc &) {
            // The state alone must do; cause() says so.
        }
        state_.store(state, std::memory_order_seq_cst);
    }
    advance(round_);
    return true;
}

void Group::release(const Failure &cause) noexcept {
    if (workers_ != nullptr) return fail(cause);
    end(kReleased, cause, concerns_everyone(cause));
}

void Group::fail(const Failure &cause) noexcept {
    if (!end(kFailed, cause, concerns_everyone(cause))) return;
    const bool asked_for = cause.status() == MDIST_ERR_ABORTED; // by mdist_strategy_abort, or the strategy's end
    asked_for ? log_info("collectives have ended: ", cause.message())
              : log_error("collectives have ended: ", cause.message());
    if (workers_ != nullptr) workers_->fail(cause);
}

std::optional<Failure> Group::cause() const {
    if (state_.load(std::memory_order_acquire) == kReady) return std::nullopt;
    const std::lock_guard lock(cause_mutex_);
    if (!cause_ && state_.load(std::memory_order_relaxed) != kReady)
        return Failure(MDIST_ERR_OUT_OF_MEMORY, "the first cause could not be kept for lack of memory");
    return cause_;
}

bool Group::alike() const {
    const std::lock_guard lock(cause_mutex_);
    return alike_;
}

void Group::reset() noexcept {
    tally_.store(tally_.load(std::memory_order_relaxed) & ~uint64_t{0xffffffff}, std::memory_order_relaxed);
    prints_.store(0, std::memory_order_relaxed);
    starting_.store(0, std::memory_order_relaxed);
    run_.fetch_add(1, std::memory_order_relaxed);
    if (state_.load(std::memory_order_acquire) == kReady) return; // an abort from now on is for the next run
    const std::lock_guard lock(cause_mutex_);
    if (state_.load(std::memory_order_relaxed) == kFailed) {
        if (failed_cause_) {
            cause_.swap(failed_cause_);
            alike_ = concerns_everyone(*cause_);
        }
        failed_cause_.reset();
        return;
    }
    failed_runs_.fetch_add(1, std::memory_order_relaxed);
    cause_.reset();
    state_.store(kReady, std::memory_order_release);
}

void Group::throw_cause(bool waiting) const {
    const Failure first = cause().value_or(Failure(MDIST_ERR_ABORTED, "the step has ended"));
    if (waiting && alike()) throw first;
    const bool for_ever = failed();
    throw Failure(MDIST_ERR_ABORTED, text(for_ever ? "an earlier failure ended all collectives of this strategy: "
                                                   : "the step has failed already: ",
                                          first.message()))
        .replica(first.replica())
        .worker(first.worker())
        .native(first.native())
        .reason(for_ever ? "strategy_failed" : "step_failed");
}

Failure Group::late(uint32_t party, const Call &call, uint64_t waited_ns) const {
    const uint64_t own = entered(party);
    std::string who;
    int32_t first = -1;
    for (uint32_t other = 0; other < parties_; ++other) {
        const uint64_t theirs = entered(other);
        if (theirs >= own) continue;
        if (first < 0) first = static_cast<int32_t>(first_id_ + other);
        who += text(who.empty() ? "" : "; ", "replica ", first_id_ + other, ", which has entered ", theirs);
        if (theirs != 0)
            who += text(" (last ", call_name(slots_[other].last_kind.load(std::memory_order_relaxed)), ")");
    }
    return Failure(MDIST_ERR_TIMEOUT, text("replica ", first_id_ + party, " waited ", seconds(waited_ns), " in ",
                                           call_text(call), ", operation ", own, " of its step, for ", who))
        .operation(call_name(call.kind))
        .replica(first);
}

Failure Group::gone() const {
    uint32_t left = 0;
    uint32_t waiting = 0;
    for (uint32_t party = 0; party < parties_; ++party) {
        if (departed(party)) {
            left = party;
        } else if (entered(party) > entered(waiting)) {
            waiting = party;
        }
    }
    if (waiting == left) waiting = left == 0 ? 1 : 0;
    const char *name = call_name(slots_[waiting].last_kind.load(std::memory_order_relaxed));
    return Failure(MDIST_ERR_MISMATCH,
                   text("replicas made different numbers of calls: replica ", first_id_ + left,
                        " returned from its step after ", entered(left), " operations, while replica ",
                        first_id_ + waiting, " waits in ", name, ", its operation ", entered(waiting)))
        .operation(name)
        .replica(static_cast<int32_t>(first_id_ + left))
        .reason("step_returned");
}

} // namespace mdist
