// SPDX-License-Identifier: Apache-2.0
#include "comm/operation.h"

#include <utility>

namespace mdist {
Operation::Operation(Executors &executors, uint32_t party, const Call &call, uint64_t timeout_ns,
                     std::function<void()> led)
    : executors_(executors),
      group_(executors.group()),
      party_(party),
      timeout_ns_(timeout_ns != 0 ? timeout_ns : group_.timeout()),
      led_(std::move(led)),
      call_(call),
      arrays_(call_),
      by_(call.by != nullptr ? call.by->shared_from_this() : nullptr) {
    if (executors_.gpus() == nullptr || !executors_.gpus()->holds(party, call)) return;
    ready_ = executors_.gpus()->gpu(party).record();
    call_.ready = &ready_;
    call_.recorded = executors_.gpus()->gpu(party).recording();
}

Operation::~Operation() {
    if (alarm_ && !over()) group_.remove(*alarm_);
}

void Operation::post() {
    posted_ns_ = monotonic_clock().now_ns();
    long_wait_.begin(posted_ns_);
    finishes_before_ = group_.finishes();
    if (executors_.workers() != nullptr) executors_.workers()->start_thread();
    work_.emplace(executors_, party_, call_, timeout_ns_);
    arrival_ = group_.arrive_started(party_, call_);
}

bool Operation::result() const {
    if (!over()) return false;
    if (failure_) throw Failure(*failure_);
    return true;
}

bool Operation::take_result() {
    if (!result()) return false;
    // Behind its generation there is nothing to order: the end of its step has waited for the GPU.
    if (on_gpus() && executors_.gpus() != nullptr) executors_.gpus()->order(party_, done_);
    return true;
}

void Operation::leave_result() noexcept {
    try {
        take_result();
    } catch (const std::exception &) {
        // The header says why this failure may be dropped.
    }
}

bool Operation::advance(Share share) noexcept {
    if (over()) return true;
    try {
        if (!try_advance(share)) return false;
        set_over();
    } catch (const std::exception &caught) {
        end(as_failure(caught));
    }
    return true;
}

bool Operation::try_advance(Share share) {
    if (!working_) {
        if (!group_.met(arrival_)) {
            const uint64_t waited = monotonic_clock().now_ns() - posted_ns_;
            if (waited >= meeting_limit() && group_.withdraw(arrival_)) group_.throw_late(party_, call_, waited);
            if (posted_ns_ + waited >= long_wait_.next_ns())
                long_wait_.look([this] { return group_.waiting(party_, call_, arrival_); });
            return false;
        }
        long_wait_.end();
        if (takes(share)) {
            working_ = true;
            group_.add_work(work_->start(led_), work_->total());
        }
    }
    if (share == Share::kOthers || !finished()) return false;
    work_->check();
    if (on_gpus()) done_ = executors_.gpus()->done();
    return true;
}

bool Operation::takes(Share share) const {
    if (work_->is_led()) return true;
    return share == Share::kAll || (share == Share::kSmall && work_->total() == 0);
}

/// Whether all pieces are done: another party may still be working on one it took.
bool Operation::finished() const {
    return work_->total() == 0 ? working_ : group_.finishes() != finishes_before_;
}

bool Operation::news() const {
    return over() || (working_ ? finished() : met());
}

uint64_t Operation::deadline() const {
    if (met()) return kNoDeadline;
    return std::min(posted_ns_ + std::min(meeting_limit(), kNoDeadline - posted_ns_), long_wait_.next_ns());
}

void Operation::end(const Failure &failure) noexcept {
    group_.release(failure); // the other parties may wait for this one
    failure_ = failure;
    set_over();
}

void Operation::set_over() noexcept {
    long_wait_.end();
    over_.store(true, std::memory_order_release);
    if (calls_ != nullptr) calls_->add(listeners_, status());
    if (!alarm_) return;
    group_.remove(*alarm_);
    alarm_->ring();
}

void Operation::make_alarm() {
    auto alarm = std::make_unique<Alarm>();
    if (over())
        alarm->ring();
    else
        group_.add(*alarm);
    alarm_ = std::move(alarm);
}

} // namespace mdist
