// SPDX-License-Identifier: Apache-2.0
// How a group ends, for one step or for good: departures, failures, what an outer group and its inner ones tell each
// other, and the sentences that say why.
#include "comm/local/group.h"

#include "util/log.h"
#include "util/text.h"

#include <algorithm>
#include <string>
#include <utility>

namespace mdist {
namespace {

/// Whether every waiting party gets this cause as it is. Any other cause, such as the failure of one step function,
/// reaches the waiting parties as ABORTED.
bool concerns_everyone(const Failure &cause) {
    return cause.status() == MDIST_ERR_OUT_OF_MEMORY || cause.status() == MDIST_ERR_MISMATCH ||
           cause.status() == MDIST_ERR_TIMEOUT || cause.status() == MDIST_ERR_PEER_LOST ||
           cause.status() == MDIST_ERR_DATA_LOSS;
}

} // namespace

Group::~Group() {
    if (outer_ == nullptr) return;
    const std::lock_guard lock(outer_->inner_mutex_);
    outer_->inner_.erase(std::remove(outer_->inner_.begin(), outer_->inner_.end(), this), outer_->inner_.end());
    outer_->inner_count_.store(outer_->inner_.size(), std::memory_order_seq_cst);
}

void Group::join_outer(Group &outer, std::vector<uint32_t> parties, std::string name) {
    outer_parties_ = std::move(parties);
    name_ = std::move(name);
    {
        const std::lock_guard lock(outer.inner_mutex_);
        outer.inner_.push_back(this);
        outer.inner_count_.store(outer.inner_.size(), std::memory_order_seq_cst);
        outer_ = &outer;
    }
    // Either this sees that the outer group has ended, or whoever ended it sees this one.
    if (const std::optional<Failure> cause = outer.cause())
        end(outer.failed() ? kFailed : kReleased, *cause, concerns_everyone(*cause));
}

template <class Use>
void Group::each_inner(Use use) noexcept {
    if (inner_count_.load(std::memory_order_seq_cst) == 0) return;
    const std::lock_guard lock(inner_mutex_);
    for (Group *const inner : inner_) use(*inner);
}

bool Group::count_departure(uint32_t party) noexcept {
    slots_[party].departed_run.store(run_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    return arrived(tally_.fetch_add(kOneDeparted, std::memory_order_seq_cst)) != 0;
}

void Group::depart(uint32_t party) noexcept {
    if (count_departure(party)) release_gone();
    if (inner_count_.load(std::memory_order_seq_cst) != 0) depart_inner(party);
}

void Group::depart_inner(uint32_t party) noexcept {
    std::optional<Failure> cause;
    each_inner([&](Group &inner) {
        const auto &parties = inner.outer_parties_;
        const auto found = std::find(parties.begin(), parties.end(), party);
        if (found == parties.end()) return;
        if (!inner.count_departure(static_cast<uint32_t>(found - parties.begin())) || cause) return;
        cause = failure_or(out_of_memory(), [&] { return inner.gone(); });
    });
    if (cause) release(*cause); // without the lock, which it takes again
}

void Group::release_gone() noexcept {
    release(failure_or(out_of_memory(), [this] { return gone(); }));
}

void Group::fail_late(uint32_t party, const Call &call, uint64_t waited_ns) noexcept {
    fail(failure_or({MDIST_ERR_TIMEOUT, ""}, [&] { return late(party, call, waited_ns); }));
}

/// Returns whether this call ended the group.
bool Group::end(State state, const Failure &cause, bool alike) noexcept {
    {
        const std::lock_guard lock(cause_mutex_);
        const uint32_t now = state_.load(std::memory_order_relaxed);
        if (now == kFailed || now == state) return false;
        // If a released group fails, it keeps the cause of the release until the step is over, because that came first.
        if (!cause_) {
            alike_ = alike;
            cause_ = cause;
        }
        if (state == kFailed) failed_cause_ = cause;
        state_.store(state, std::memory_order_seq_cst);
    }
    advance(round_);
    if (wake_leader_) wake_leader_();
    each_inner([&](Group &inner) { inner.end(state, cause, alike); });
    if (when_ended_) when_ended_();
    return true;
}

/// Ends the group for a failure that all waiting parties get as it is.
void Group::end_alike(const Failure &failure) noexcept {
    if (outer_ != nullptr) {
        outer_->end_alike(failure);
        end(kReleased, failure, true); // another thread may be on the way from the outer group to this one
        return;
    }
    end_job_ ? fail(failure) : void(end(kReleased, failure, true));
}

void Group::release(const Failure &cause) noexcept {
    if (outer_ != nullptr) {
        outer_->release(cause);
        end(kReleased, cause, concerns_everyone(cause));
        return;
    }
    if (end_job_ && state_.load(std::memory_order_acquire) != kReleased) return fail(cause);
    end(kReleased, cause, concerns_everyone(cause));
}

void Group::refuse(const Failure &why) noexcept {
    const std::lock_guard lock(cause_mutex_);
    if (!refusal_) refusal_ = why;
}

Failure Group::first_cause(const Failure &found) const noexcept {
    const std::lock_guard lock(cause_mutex_);
    const bool follows = found.status() == MDIST_ERR_MISMATCH || found.status() == MDIST_ERR_TIMEOUT;
    return refusal_ && follows ? *refusal_ : found;
}

void Group::fail(const Failure &found) noexcept {
    if (outer_ != nullptr) {
        outer_->fail(found);
        end(kFailed, found, concerns_everyone(found));
        return;
    }
    const Failure cause = first_cause(found);
    if (!end(kFailed, cause, concerns_everyone(cause))) return;
    // Others are told first: the program's log sink may take its time.
    if (end_job_) end_job_(cause);
    const bool asked_for = cause.status() == MDIST_ERR_ABORTED; // mdist_strategy_abort, or the end of the strategy
    asked_for ? log_info("collectives have ended: ", cause.message())
              : log_error("collectives have ended: ", cause.message());
}

std::optional<Failure> Group::cause() const noexcept {
    if (state_.load(std::memory_order_acquire) == kReady) return std::nullopt;
    const std::lock_guard lock(cause_mutex_);
    return cause_;
}

bool Group::alike() const noexcept {
    const std::lock_guard lock(cause_mutex_);
    return alike_;
}

void Group::reset() noexcept {
    reset_own();
    each_inner([](Group &inner) { inner.reset_own(); });
}

void Group::reset_own() noexcept {
    tally_.store(tally_.load(std::memory_order_relaxed) & ~uint64_t{0xffffffff}, std::memory_order_relaxed);
    prints_.store(0, std::memory_order_relaxed);
    starting_.store(0, std::memory_order_relaxed);
    run_.fetch_add(1, std::memory_order_relaxed);
    if (state_.load(std::memory_order_acquire) == kReady) return; // an abort from now on belongs to the next run
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
    refusal_.reset();
    state_.store(kReady, std::memory_order_release);
}

Failure Group::ended(bool waiting) const noexcept {
    const Failure first = cause().value_or(Failure(MDIST_ERR_ABORTED, "the step has ended"));
    if (waiting && alike()) return first;
    const bool for_ever = failed();
    if (for_ever && first.status() == MDIST_ERR_PEER_LOST) return first;
    return Failure(MDIST_ERR_ABORTED, first.message())
        .about(for_ever ? "an earlier failure ended all collectives of this strategy" : "the step has failed already")
        .replica(first.replica())
        .worker(first.worker())
        .native(first.native())
        .reason(for_ever ? "strategy_failed" : "step_failed");
}

WaitText Group::waiting(uint32_t party, const Call &call, const Arrival &arrival) {
    const uint64_t mine = ((arrival.generation & 0xffffffff) << 16 | party) + 1;
    uint64_t teller = teller_.load(std::memory_order_relaxed);
    while (teller != mine) {
        if (teller != 0 && (teller - 1) >> 16 == (mine - 1) >> 16) return {};
        if (teller_.compare_exchange_weak(teller, mine, std::memory_order_relaxed)) break;
    }
    return waiting(party, call);
}

WaitText Group::waiting(uint32_t party, const Call &call) const {
    const uint64_t own = entered(party);
    std::string whom;
    for (uint32_t other = 0; other < parties_; ++other) {
        const uint64_t theirs = entered(other);
        if (theirs >= own) continue;
        whom += text(whom.empty() ? "" : "; ", "replica ", id(other), ", which has entered ", theirs);
        if (theirs != 0) whom += text(" (last ", slots_[other].last_kind.load(std::memory_order_relaxed)->name(), ")");
    }
    return {text("replica ", id(party)), text(call_text(call), ", operation ", own, " of its step", in_name(), ","),
            std::move(whom)};
}

const char *Group::waits_in(uint32_t party) noexcept {
    for (uint32_t other = 0; other < parties_; ++other)
        if (entered(other) < entered(party)) return slots_[party].last_kind.load(std::memory_order_relaxed)->name();
    const char *name = nullptr;
    each_inner([&](Group &inner) {
        const auto &parties = inner.outer_parties_;
        const auto found = std::find(parties.begin(), parties.end(), party);
        if (found != parties.end() && name == nullptr)
            name = inner.waits_in(static_cast<uint32_t>(found - parties.begin()));
    });
    return name;
}

Failure Group::late(uint32_t party, const Call &call, uint64_t waited_ns) const {
    uint32_t first = MDIST_NONE;
    for (uint32_t other = parties_; other-- > 0;)
        if (entered(other) < entered(party)) first = id(other);
    const WaitText wait = waiting(party, call);
    const bool by_key = waited_ns >= call_timeout();
    return Failure(MDIST_ERR_TIMEOUT,
                   text(wait.who, " waited ", waited_text(waited_ns), by_key ? " (communication.call_timeout)" : "",
                        " in ", wait.where, " for ", wait.whom))
        .operation(call.kind->name())
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
    const char *name = slots_[waiting].last_kind.load(std::memory_order_relaxed)->name();
    return Failure(MDIST_ERR_MISMATCH,
                   text("replicas made different numbers of calls", in_name(), ": replica ", id(left),
                        " returned from its step after ", entered(left), " operations, while replica ", id(waiting),
                        " waits in ", name, ", its operation ", entered(waiting)))
        .operation(name)
        .replica(id(left))
        .reason("step_returned");
}

} // namespace mdist
