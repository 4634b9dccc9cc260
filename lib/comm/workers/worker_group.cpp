// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/worker_group.h"

#include <optional>
#include <utility>

namespace mdist {

WorkerGroup::WorkerGroup(std::unique_ptr<Membership> membership, WorkerLinks links, const Spans &spans)
    : membership_(std::move(membership)), links_(std::move(links)), cut_(spans), doubling_(spans, links_.per_host) {}

uint64_t WorkerGroup::enter() {
    if (membership_->failed())
        if (std::optional<Failure> cause = membership_->failure()) throw *cause;
    membership_->set_entered(++sequence_);
    return sequence_;
}

void WorkerGroup::await_cause() const {
    constexpr uint64_t kGraceNs = 5'000'000'000;
    const uint32_t seen = failures_.now();
    if (!membership_->failed()) failures_.wait(seen, Patience(), kGraceNs);
}

void WorkerGroup::fail(const Failure &cause) noexcept {
    membership_->fail(cause);
    links_.link->interrupt();
}

void WorkerGroup::when_failed(std::function<void(const Failure &)> call) {
    call_when_failed_ = std::move(call);
    membership_->when_failed([this](const Failure &cause) {
        failures_.advance();
        links_.link->interrupt();
        call_when_failed_(cause);
    });
}

void WorkerGroup::leave() noexcept {
    membership_->leave();
    links_.link->close();
}

} // namespace mdist
