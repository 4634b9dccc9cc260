// SPDX-License-Identifier: Apache-2.0
#include "comm/operation.h"

#include "comm/workers.h"
#include "util/clock.h"

#include <algorithm>

namespace mdist {
namespace {

std::vector<mdist_buffer_t> copy_buffers(const Call &call) {
    std::vector<mdist_buffer_t> copy;
    if (call.inputs == nullptr) return copy;
    copy.reserve(2 * call.buffer_count + 1); // NULL would say that calls of this kind have no buffers
    copy.assign(call.inputs, call.inputs + call.buffer_count);
    copy.insert(copy.end(), call.outputs, call.outputs + call.buffer_count);
    return copy;
}

} // namespace

Operation::Operation(Group &group, uint32_t party, const Call &call, uint64_t timeout_ns)
    : group_(group),
      party_(party),
      timeout_ns_(timeout_ns != 0 ? timeout_ns : group.timeout()),
      buffers_(copy_buffers(call)),
      call_(call),
      start_ns_(monotonic_clock().now_ns()),
      finishes_before_(group.finishes()) {
    if (call.inputs != nullptr) {
        call_.inputs = buffers_.data();
        call_.outputs = buffers_.data() + call.buffer_count;
    }
    if (group.workers() != nullptr) {
        group.workers()->start_thread();
        total_ = part_.emplace<Across>(group, timeout_ns_).total();
    } else if (call.kind == CallKind::kAllReduce) {
        if (StagedReduce::fits(group, call_))
            part_.emplace<StagedReduce>(group, party, call_);
        else
            total_ = part_.emplace<ChunkedReduce>(group, party, call_).total();
    } else if (call.kind != CallKind::kBarrier) {
        total_ = part_.emplace<Exchange>(group, party, call_).total();
    }
    arrival_ = group.arrive_started(party, call_);
    if (arrival_.last && group.workers() != nullptr) start_leading();
}

/// The other workers need not wait until somebody asks how it goes.
void Operation::start_leading() noexcept {
    try {
        advance();
    } catch (const std::exception &) {
        return; // kept for whoever asks
    }
}

bool Operation::advance() {
    const std::lock_guard lock(mutex_);
    return advance_locked();
}

bool Operation::advance_locked() {
    if (failure_) throw Failure(*failure_);
    if (over()) return true;
    try {
        if (!move_on()) return false;
    } catch (const Failure &failure) {
        end(&failure);
        throw;
    } catch (const std::exception &) {
        end(nullptr);
        throw;
    }
    over_.store(true, std::memory_order_release);
    return true;
}

bool Operation::move_on() {
    if (!met_) {
        if (!group_.met(arrival_)) {
            const uint64_t waited = waited_ns();
            if (waited >= timeout_ns_ && group_.withdraw(arrival_)) group_.throw_late(party_, call_, waited);
            return false;
        }
        met_ = true;
        group_.add_work(work(), total_);
    }
    if (!finished()) return false;
    if (const Across *across = std::get_if<Across>(&part_)) across->check();
    return true;
}

/// This party's share of what follows the meeting; the pieces of work that it did.
uint64_t Operation::work() {
    return std::visit(
        [](auto &part) -> uint64_t {
            using Part = std::decay_t<decltype(part)>;
            if constexpr (std::is_same_v<Part, std::monostate>)
                return 0;
            else if constexpr (std::is_same_v<Part, Across>)
                return part.start();
            else
                return part.run();
        },
        part_);
}

/// Pieces that another party took may still be under way.
bool Operation::finished() const {
    return total_ == 0 || group_.finishes() != finishes_before_;
}

/// Ends it as failed; nullptr: for lack of memory.
void Operation::end(const Failure *failure) noexcept {
    try {
        if (failure != nullptr) failure_.emplace(*failure);
    } catch (const std::bad_alloc &) {
        failure_.reset();
    }
    if (!failure_) failure_.emplace(MDIST_ERR_OUT_OF_MEMORY, "out of memory"); // short enough to need none
    over_.store(true, std::memory_order_release);
}

bool Operation::wait(uint64_t timeout_ns) {
    const uint64_t begin = monotonic_clock().now_ns();
    for (;;) {
        const uint32_t round = group_.round();
        const uint32_t finishes = group_.finishes();
        bool met;
        {
            const std::lock_guard lock(mutex_);
            if (advance_locked()) return true;
            met = met_;
        }
        const uint64_t waited = monotonic_clock().now_ns() - begin;
        if (waited >= timeout_ns) return false;
        const uint64_t left = std::min(timeout_ns - waited, timeout_ns_ - std::min(waited_ns(), timeout_ns_));
        if (met)
            group_.wait_finish(finishes, timeout_ns - waited);
        else
            group_.wait_round(round, left);
    }
}

uint64_t Operation::waited_ns() const {
    return monotonic_clock().now_ns() - start_ns_;
}

void Operation::settle(const Failure &cause) noexcept {
    const std::lock_guard lock(mutex_);
    if (over()) return;
    try {
        // The others' pieces are done inside calls of the library, which wait for nobody but other workers.
        while (!move_on()) {
            if (!met_ && group_.withdraw(arrival_)) {
                group_.release(cause);
                return end(&cause);
            }
            if (!met_) continue;
            if (group_.workers() != nullptr) group_.workers()->fail(cause); // nobody knows when the others would come
            group_.wait_finish(finishes_before_, kNoDeadline);
        }
        over_.store(true, std::memory_order_release);
    } catch (const Failure &failure) { // it ended meanwhile
        end(&failure);
    } catch (const std::exception &) {
        end(nullptr);
    }
}

} // namespace mdist
