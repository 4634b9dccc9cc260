// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/workers.h"

#include "comm/workers/sizes.h"

#include <utility>

namespace mdist {
namespace {

SplitPlan split_plan_of(const Spans &spans, uint32_t per_host) {
    return {spans, per_host, SplitPlan::groups_of(spans.workers() / per_host, sizes::kLargestGroup)};
}

} // namespace

Workers::Workers(std::unique_ptr<Membership> membership, WorkerLinks links, const Spans &spans)
    : membership_(std::move(membership)),
      links_(std::move(links)),
      in_order_(true),
      label_("the job"),
      cut_(spans),
      self_(membership_->rank()),
      join_plan_(spans, links_.per_host),
      split_plan_(split_plan_of(spans, links_.per_host)) {}

Workers::Workers(const Workers &job, WorkerLinks links, GroupLayout layout)
    : membership_(job.membership_),
      links_(std::move(links)),
      layout_(std::move(layout)),
      in_order_(layout_->in_order()),
      label_(layout_->name()),
      cut_(layout_->spans),
      self_(layout_->worker_of_rank(job.self())),
      // The membership does not know who has come to an operation of a group, so mates that do not speak could not say
      // for whom they wait.
      join_plan_(layout_->spans, links_.per_host, false),
      split_plan_(split_plan_of(layout_->spans, links_.per_host)) {}

Workers::~Workers() {
    leave();
}

bool Workers::meets_directly() const {
    return (count() <= sizes::kMostDirect && per_host() == 1) || all_share() || layout_;
}

uint64_t Workers::enter() {
    if (membership_->failed())
        if (std::optional<Failure> cause = membership_->failure()) throw *cause;
    ++sequence_;
    if (!layout_) membership_->set_entered(sequence_);
    return sequence_;
}

void Workers::wake() noexcept {
    failures_.advance();
    links_.link->interrupt();
}

void Workers::await_cause(uint32_t worker) const {
    constexpr uint64_t kGraceNs = 5'000'000'000, kSliceNs = 20'000'000;
    for (uint64_t waited = 0; waited < kGraceNs; waited += kSliceNs) {
        const uint32_t seen = failures_.now();
        if (worker != MDIST_NONE) membership_->need(worker);
        if (membership_->failed()) return;
        failures_.wait(seen, Patience(), kSliceNs);
    }
}

void Workers::fail(const Failure &cause) noexcept {
    membership_->fail(cause);
    links_.link->interrupt();
}

void Workers::when_failed(std::function<void(const Failure &)> call) {
    call_when_failed_ = std::move(call);
    membership_->when_failed([this](const Failure &cause) {
        wake();
        call_when_failed_(cause);
    });
}

void Workers::stop_thread() noexcept {
    std::unique_ptr<WorkerThread> thread; // ends without the lock
    {
        const std::lock_guard lock(thread_mutex_);
        thread = std::move(thread_);
    }
}

void Workers::leave() noexcept {
    stop_thread();
    if (!layout_) membership_->leave();
    links_.link->close();
    if (links_.mail) links_.mail->close();
}

void Workers::start_thread() {
    const std::lock_guard lock(thread_mutex_);
    if (!thread_) thread_ = std::make_unique<WorkerThread>();
}

void Workers::run_later(std::function<void()> job) noexcept {
    thread_->give(std::move(job));
}

} // namespace mdist
