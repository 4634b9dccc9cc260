// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/operation.h"

#include "comm/schedules/direct_agreement.h"
#include "comm/schedules/relayed_agreement.h"
#include "comm/schedules/tree_sum.h"
#include "util/clock.h"
#include "util/text.h"

#include <algorithm>

namespace mdist {

WorkerOperation::WorkerOperation(Workers &workers, const Call &call, uint64_t timeout_ns)
    : workers_(workers),
      timeout_ns_(timeout_ns),
      ends_ns_(call.endless || workers.call_timeout() == kNoDeadline
                   ? kNoDeadline
                   : monotonic_clock().now_ns() + workers.call_timeout()),
      refusal_(call.refusal),
      header_(OperationHeader::of(call, workers.enter(), 0)) {}

template <class Kind, class... Arguments>
Schedule &WorkerOperation::begin(Arguments &&...arguments) {
    agreement_ = std::make_unique<Kind>(link(), header_, std::forward<Arguments>(arguments)...);
    return *agreement_;
}

void WorkerOperation::agree(const Link::Message &payload, uint32_t giver) {
    if (workers_.meets_directly()) return agree_before([] {}, payload);
    drive([&]() -> Schedule & { return begin<RelayedAgreement>(workers_.join_plan(), payload, giver, scratch()); });
}

std::size_t WorkerOperation::most_payload(const Workers &workers, bool directly) {
    return directly ? CallAgreement::kPayloadLimit : RelayedAgreement::most(workers.count());
}

void WorkerOperation::agree_before(FunctionRef<void()> send, const Link::Message &payload,
                                   const std::vector<uint32_t> &peers) {
    come();
    drive([&]() -> Schedule & {
        Schedule &agreement = begin<DirectAgreement>(payload, peers);
        send();
        return agreement;
    });
}

void WorkerOperation::agree_by_tree_sum(const std::vector<ReduceRow> &rows) {
    drive([&]() -> Schedule & { return begin<TreeSum>(workers_.join_plan(), rows, scratch()); });
}

/// Says in shared memory, if there is some, what this worker has come to, even if the bytes will not move through it:
/// workers in an all-reduce look for the others there.
void WorkerOperation::come() noexcept {
    if (ShmGroup *const shared = workers_.shared()) shared->come(header_);
}

void WorkerOperation::all_reduce_shared(const Call *const *calls) {
    Wait wait;
    attempt([&] { workers_.shared()->all_reduce(header_, calls, [&] { check(wait); }); });
}

/// Runs `body`. Anything that it throws ends the job.
void WorkerOperation::attempt(FunctionRef<void()> body) {
    try {
        body();
    } catch (const Failure &failure) {
        if (failure.status() == MDIST_ERR_PEER_LOST) workers_.await_cause(failure.worker());
        if (refusal_ == nullptr && failure.reason() == kRefusedCall) await_refusal(failure.worker());
        fail(failure.reason() == kDifferentCalls ? by_majority(failure) : failure);
    } catch (const std::exception &) {
        fail(out_of_memory());
    }
}

/// Waits until the worker that has refused its call has told why, for a few seconds at most. It finds out that others
/// call from what this worker sends it: if nothing is due yet, from this header. Both must still go out.
void WorkerOperation::await_refusal(uint32_t rank) {
    constexpr uint64_t kGraceNs = 5'000'000'000;
    try {
        for (uint32_t worker = 0; worker < workers_.count(); ++worker)
            if (workers_.rank(worker) == rank) send_headed(link(), worker, header_, nullptr, told_);
        progress_until([] { return false; }, kGraceNs);
    } catch (const Failure &failure) {
        workers_.await_cause(failure.worker()); // a worker has closed its links
    }
}

/// Says what most workers call, which tells more than what two of them call. Waits a moment for those that it has not
/// heard of.
Failure WorkerOperation::by_majority(const Failure &pair) {
    constexpr uint64_t kGraceNs = 1'000'000'000;
    std::optional<Failure> found;
    try {
        progress_until(
            [&] {
                std::vector<const OperationHeader *> headers(workers_.count());
                for (uint32_t worker = 0; worker < workers_.count(); ++worker) headers[worker] = header_of(worker);
                found = odd_one_out(headers, [this](uint32_t worker) { return workers_.rank(worker); });
                return found || std::count(headers.begin(), headers.end(), nullptr) == 0;
            },
            kGraceNs);
    } catch (const std::exception &) {
        return pair; // a worker has closed its links, or there is no memory
    }
    return found.value_or(pair);
}

/// Lets the link go on until `enough()`, or the job has failed, or the time is over.
void WorkerOperation::progress_until(FunctionRef<bool()> enough, uint64_t limit_ns) {
    constexpr uint64_t kSliceNs = 20'000'000;
    const uint64_t end_ns = monotonic_clock().now_ns() + limit_ns;
    while (!enough() && !workers_.membership().failed() && monotonic_clock().now_ns() < end_ns) {
        link().progress();
        link().wait(kSliceNs);
    }
}

/// `begin_schedule` makes the schedule, which posts its first operations. If that or anything after it fails, the link
/// is closed before the schedule's memory is freed.
void WorkerOperation::drive(FunctionRef<Schedule &()> begin_schedule) {
    constexpr uint64_t kLongestSleep = 100'000'000; // the most that a lost interrupt can cost
    const uint64_t long_ns = std::min(kLongestSleep, timeout_ns_ / 4);
    attempt([&] {
        Schedule &schedule = begin_schedule();
        if (schedule.advance()) return;
        Wait wait;
        bool announced = false;
        const bool awaited =
            agreement_.get() == &schedule && !hears_all() && somebody_waits(); // behind it, all have come
        do {
            // What a worker sent before it ended is here by now. It may say why that worker ended.
            if (workers_.membership().failed() && schedule.advance()) return;
            const uint64_t left_ns = check(wait);
            if (!announced && (awaited || wait.waited_ns >= long_ns)) {
                workers_.announce();
                announced = true;
            }
            link().wait(std::min(left_ns, std::max<uint64_t>(long_ns, 1)));
        } while (!schedule.advance());
    });
}

/// Throws the job's first cause, which may differ from `cause`. A call that this worker has refused fails for that
/// reason, whatever the others called.
void WorkerOperation::fail(const Failure &found) {
    const Failure &cause = refusal_ != nullptr ? *refusal_ : found;
    workers_.fail(workers_.layout() == nullptr ? cause : Failure(cause).about(workers_.label()));
    link().close();
    throw workers_.membership().failure().value_or(cause);
}

/// Counts what has moved between this worker and the others.
uint64_t WorkerOperation::moved() const {
    const ShmGroup *const shared = workers_.shared();
    return (shared != nullptr ? shared->waits() : 0) + workers_.link().moved();
}

/// Returns how much time is left without progress. Throws if there is none, or if the job has failed.
uint64_t WorkerOperation::check(Wait &wait) const {
    if (workers_.membership().failed())
        if (std::optional<Failure> cause = workers_.membership().failure()) throw *cause;
    const ShmGroup *const shared = workers_.shared();
    if (shared != nullptr) shared->require_same();
    const uint64_t now_ns = monotonic_clock().now_ns();
    if (const uint64_t moved = this->moved(); wait.begin_ns == 0 || moved != wait.moved) {
        wait.moved = moved;
        wait.log.begin(wait.begin_ns = now_ns);
    }
    wait.waited_ns = now_ns - wait.begin_ns;
    if (wait.waited_ns >= timeout_ns_) throw late(waiting(), text(" waited ", waited_text(timeout_ns_), " in "));
    if (now_ns >= ends_ns_)
        throw late(waiting(), text(" has been, with progress or without, for ", waited_text(workers_.call_timeout()),
                                   " (communication.call_timeout) in "));
    if (now_ns >= wait.log.next_ns()) wait.log.look([this] { return waiting(); });
    return std::min(timeout_ns_ - wait.waited_ns, ends_ns_ - now_ns);
}

/// Whether a worker has come to this operation, by what it has told this worker itself: the membership's knowledge is
/// some heartbeats old. Where not every worker tells this one, a worker that waits has announced itself.
bool WorkerOperation::has_come(uint32_t worker) const {
    const OperationHeader *const told = agreement_ ? agreement_->header_of(worker) : header_of(worker);
    return told != nullptr || (!hears_all() && workers_.has_entered(worker, header_.sequence));
}

/// What a worker has told of this operation, in its agreement or in shared memory; nullptr if nothing has come.
const OperationHeader *WorkerOperation::header_of(uint32_t worker) const {
    if (worker == workers_.self()) return &header_;
    const OperationHeader *const told = agreement_ ? agreement_->header_of(worker) : nullptr;
    const ShmGroup *const shared = workers_.shared();
    return told == nullptr && shared != nullptr ? shared->header_of(worker) : told;
}

/// Whether some worker has waited so long that it has announced itself, and will hear of this worker only through
/// others.
bool WorkerOperation::somebody_waits() const {
    for (uint32_t worker = 0; worker < workers_.count(); ++worker)
        if (worker != workers_.self() && !agreement_->has_come(worker) &&
            workers_.has_entered(worker, header_.sequence))
            return true;
    return false;
}

WaitText WorkerOperation::waiting() const {
    const Membership &membership = workers_.membership();
    std::string whom;
    for (uint32_t worker = 0; worker < workers_.count(); ++worker) {
        if (has_come(worker)) continue;
        whom += text(whom.empty() ? "" : "; ", workers_.name(worker));
        if (workers_.layout() != nullptr) continue;
        const uint64_t entered = std::min(membership.entered(worker), header_.sequence - 1); // by its last heartbeat
        whom += text(", which has entered ", entered + 1 < header_.sequence ? "at least " : "", entered);
    }
    return {workers_.name(workers_.self()),
            text(header_.text(), ", operation ", header_.sequence, " of ", workers_.label(), ","),
            whom.empty() ? "the others' bytes" : std::move(whom)};
}

Failure WorkerOperation::late(const WaitText &wait, std::string_view words) const {
    uint32_t first = MDIST_NONE;
    for (uint32_t worker = workers_.count(); worker-- > 0;)
        if (!has_come(worker)) first = workers_.rank(worker);
    return Failure(MDIST_ERR_TIMEOUT, text(wait.who, words, wait.where, " for ", wait.whom))
        .operation(header_.name())
        .worker(first);
}

} // namespace mdist
