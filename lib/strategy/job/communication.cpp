// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/communication.h"

#include "comm/device/gpu_group.h"
#include "comm/mail/mail.h"
#include "comm/workers/workers.h"
#include "device/gpu/gpu.h"
#include "strategy/job/replicas.h"
#include "util/cpus.h"

#include <utility>

namespace mdist {

bool client_has_left(const Failure &failure) {
    return failure.status() == MDIST_ERR_PEER_LOST && failure.reason() == "left" && failure.worker() == 0;
}

Communication::MeetingPlace::MeetingPlace(uint32_t parties, uint64_t timeout_ns, uint64_t call_timeout_ns)
    : Meeting(parties, Patience::for_threads(parties, usable_cpus()), timeout_ns),
      mail(std::make_unique<Mail>(group, group.patience())) {
    group.set_call_timeout(call_timeout_ns);
}

Communication::~Communication() {
    meeting_->mail->leave(); // its thread uses the workers
}

void Communication::check_health() const {
    if (const auto cause = end_of_collectives()) throw Failure(*cause);
}

std::optional<Failure> Communication::end_of_collectives() const {
    const std::lock_guard lock(mutex_);
    if (meeting_->group.failed()) return meeting_->group.cause().value_or(Failure(MDIST_ERR_ABORTED, "aborted"));
    // Another thread may be about to tell the group. A call may have told the program already.
    if (!workers_ || !workers_->membership().failed()) return std::nullopt;
    const std::optional<Failure> cause = workers_->membership().failure();
    return cause ? std::optional(as_told(*cause)) : std::nullopt;
}

Failure Communication::as_told(const Failure &cause) const {
    if (!in_graph_ || !client_has_left(cause)) return cause;
    return Failure(MDIST_ERR_ABORTED, "the client has left").reason("left").worker(0);
}

Memory Communication::allocate_shared(Device &device, std::size_t bytes) const {
    if (device.gpu() != nullptr) return device.gpu()->allocate_zeros(bytes);
    if (Memory shared = memory_ ? memory_->try_allocate(bytes) : nullptr) return shared;
    Memory memory = device.allocate(bytes);
    device.zero(memory.get(), bytes);
    return memory;
}

namespace {

Failure told_by(const char *function, const Failure &failure) noexcept {
    Failure told = Failure(failure).about(function);
    if (told.operation().empty()) std::move(told).operation(function);
    return told;
}

} // namespace

void Communication::fail_workers(const char *function, const Failure &failure) noexcept {
    if (replicas_.worker_count() != 1 && !group().failed()) group().fail(told_by(function, failure));
}

uint64_t Communication::operations_entered() const {
    return workers_ ? workers_->entered() : 0;
}

bool Communication::all_refuse(const char *function, const Failure &failure) noexcept {
    if (!workers_ || group().failed()) return false;
    try {
        const Failure told = told_by(function, failure);
        workers_->meet(refusal_of(function, told), timeout_or_own(0));
        group().count_refusal();
        return true;
    } catch (const std::exception &) {
        return false;
    }
}

void Communication::abort(const char *sentence, const char *reason) noexcept {
    {
        const std::lock_guard lock(mutex_);
        group().fail(Failure(MDIST_ERR_ABORTED, sentence).reason(reason));
    }
    changes_.advance();
}

void Communication::leave() noexcept {
    meeting_->mail->leave();
    if (workers_) workers_->leave();
}

void Communication::begin_generation(uint32_t parties) {
    auto meeting =
        std::make_shared<MeetingPlace>(parties, group().timeout(), group().call_timeout()); // or nothing changes
    {
        const std::lock_guard lock(mutex_);
        meeting_->executors.let_go(); // works and groups may keep it
    }
    gpus_.reset(); // waits for what a failed collective has left to its lanes
    const std::lock_guard lock(mutex_);
    meeting_ = std::move(meeting);
    workers_.reset();
}

} // namespace mdist
