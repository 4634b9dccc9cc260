// SPDX-License-Identifier: Apache-2.0
#include "comm/joint/operation.h"

#include "util/clock.h"
#include "util/text.h"

#include <algorithm>

namespace mdist {

JointOperation::JointOperation(Workers &workers, const Call &call, std::size_t payload_bytes, uint64_t timeout_ns)
    : workers_(workers), timeout_ns_(timeout_ns), header_(OperationHeader::of(call, next_sequence(), payload_bytes)) {}

JointOperation::JointOperation(Workers &workers, const Call &call, const void *payload, std::size_t payload_bytes,
                               uint64_t timeout_ns)
    : JointOperation(workers, call, payload_bytes, timeout_ns) {
    // Also where shared memory is not what moves the bytes: workers that are in an all-reduce look for others there.
    if (ShmGroup *shared = workers_.links_.shared.get()) {
        const uint64_t begin = monotonic_clock().now_ns();
        attempt([&] { shared->meet(header_, [&] { check(begin); }); });
    }
    drive([&]() -> Schedule & { return messages_.emplace(link(), header_, payload); });
}

void JointOperation::all_reduce_shared(Workers &workers, const Call *const *calls, uint64_t timeout_ns) {
    JointOperation operation(workers, *calls[0], 0, timeout_ns);
    const uint64_t begin = monotonic_clock().now_ns();
    operation.attempt(
        [&] { workers.links_.shared->all_reduce(operation.header_, calls, [&] { operation.check(begin); }); });
}

void JointOperation::all_reduce_small(Workers &workers, const Call &call, const std::vector<Flat> &rows,
                                      uint64_t timeout_ns) {
    JointOperation operation(workers, call, 0, timeout_ns);
    operation.drive([&]() -> Schedule & {
        return operation.doubling_.emplace(operation.link(), operation.header_, workers.doubling(), rows,
                                           operation.scratch());
    });
}

uint64_t JointOperation::next_sequence() {
    if (workers_.membership_->failed())
        if (std::optional<Failure> cause = workers_.membership_->failure()) throw *cause;
    workers_.membership_->set_entered(++workers_.sequence_);
    return workers_.sequence_;
}

/// What `body` throws ends the job.
void JointOperation::attempt(FunctionRef<void()> body) {
    try {
        body();
    } catch (const Failure &failure) {
        if (failure.status() == MDIST_ERR_PEER_LOST) await_cause();
        fail(failure);
    } catch (const std::exception &) {
        fail(Failure(MDIST_ERR_OUT_OF_MEMORY, "out of memory"));
    }
}

/// `begin_schedule` makes the schedule, which posts its first operations: if that fails, or what comes after it, the
/// link is closed before the schedule's memory goes.
void JointOperation::drive(FunctionRef<Schedule &()> begin_schedule) {
    constexpr uint64_t kLongestSleep = 100'000'000; // a lost interrupt costs no more
    const uint64_t long_ns = std::min(kLongestSleep, timeout_ns_ / 4);
    attempt([&] {
        Schedule &schedule = begin_schedule();
        if (schedule.advance()) return;
        const uint64_t begin = monotonic_clock().now_ns();
        bool announced = false;
        const bool awaited = doubling_ && somebody_waits();
        do {
            const uint64_t left_ns = check(begin);
            if (!announced && (awaited || timeout_ns_ - left_ns >= long_ns)) {
                workers_.membership_->announce();
                announced = true;
            }
            link().wait(std::min(left_ns, std::max<uint64_t>(long_ns, 1)));
        } while (!schedule.advance());
    });
}

/// Throws the job's first cause, which may be another one.
void JointOperation::fail(const Failure &cause) {
    workers_.fail(cause);
    link().close();
    throw workers_.membership_->failure().value_or(cause);
}

/// A link that is cut says that a peer is gone, but not why. The peer, or its end, is telling the membership just now.
void JointOperation::await_cause() const {
    constexpr uint64_t kGraceNs = 5'000'000'000;
    const uint32_t seen = workers_.failures_.now();
    if (!workers_.membership_->failed()) workers_.failures_.wait(seen, Patience(), kGraceNs);
}

/// How much time is left; throws if there is none, or the job has failed.
uint64_t JointOperation::check(uint64_t begin_ns) const {
    if (workers_.membership_->failed())
        if (std::optional<Failure> cause = workers_.membership_->failure()) throw *cause;
    const uint64_t waited_ns = monotonic_clock().now_ns() - begin_ns;
    if (waited_ns >= timeout_ns_) throw late();
    return timeout_ns_ - waited_ns;
}

/// To this operation, by what it has told this worker itself: what the membership hears is some heartbeats old. In a
/// doubling not all do, but who waits there has announced itself.
bool JointOperation::has_come(uint32_t worker) const {
    if (worker == workers_.self()) return true;
    if (messages_) return messages_->has_come(worker);
    if (doubling_) return doubling_->has_come(worker) || workers_.membership_->entered(worker) >= header_.sequence;
    const ShmGroup *const shared = workers_.links_.shared.get();
    return shared != nullptr && shared->has_come(worker);
}

/// Whether one who will hear of this worker only through others has waited so long that it has announced itself.
bool JointOperation::somebody_waits() const {
    for (uint32_t worker = 0; worker < workers_.count(); ++worker)
        if (worker != workers_.self() && !doubling_->has_come(worker) &&
            workers_.membership_->entered(worker) >= header_.sequence)
            return true;
    return false;
}

Failure JointOperation::late() const {
    const Membership &membership = *workers_.membership_;
    std::string who;
    int32_t first = -1;
    for (uint32_t worker = 0; worker < workers_.count(); ++worker) {
        if (has_come(worker)) continue;
        if (first < 0) first = static_cast<int32_t>(worker);
        who += text(who.empty() ? "" : "; ", workers_.name(worker), ", which has entered ",
                    std::min(membership.entered(worker), header_.sequence - 1));
    }
    return Failure(MDIST_ERR_TIMEOUT,
                   text(workers_.name(workers_.self()), " waited ", timeout_ns_ / 1'000'000, " ms in ", header_.text(),
                        ", operation ", header_.sequence, " of the job, for ", who.empty() ? "the others' bytes" : who))
        .operation(call_name(static_cast<CallKind>(header_.kind)))
        .worker(first);
}

} // namespace mdist
