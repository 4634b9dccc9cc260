// SPDX-License-Identifier: Apache-2.0
#include "util/long_wait.h"

#include "util/clock.h"
#include "util/log.h"
#include "util/text.h"

#include <algorithm>
#include <atomic>
#include <new>

namespace mdist {
namespace {

constinit std::atomic<uint64_t> wait_after_ns{30'000'000'000};

} // namespace

std::string waited_text(uint64_t ns) {
    return ns < 10'000'000'000u ? text(ns / 1'000'000, " ms") : text(ns / 1'000'000'000u, " s");
}

void LongWait::set_after(uint64_t ns) noexcept {
    wait_after_ns.store(ns, std::memory_order_relaxed);
}

uint64_t LongWait::due_ns() const noexcept {
    return due_ns_ != 0 ? due_ns_ : wait_after_ns.load(std::memory_order_relaxed);
}

uint64_t LongWait::next_ns() const noexcept {
    const uint64_t due = due_ns();
    return due > UINT64_MAX - begin_ns_ ? UINT64_MAX : begin_ns_ + due;
}

uint64_t LongWait::slice_ns() const noexcept {
    if (begin_ns_ == 0) return due_ns();
    const uint64_t next = next_ns();
    return next - std::min(next, monotonic_clock().now_ns());
}

void LongWait::look(Describe describe) noexcept {
    const uint64_t now = monotonic_clock().now_ns();
    if (begin_ns_ == 0) begin_ns_ = now - std::min(now, due_ns());
    const uint64_t waited = now - std::min(now, begin_ns_);
    if (waited < due_ns()) return;
    due_ns_ = std::max(due_ns(), waited / 2 + 1) * 2;
    if (!log::enabled(MDIST_LOG_WARN)) return;
    try {
        WaitText said = describe();
        if (said.who.empty()) return;
        if (!told_) told_ = std::make_unique<WaitText>();
        *told_ = std::move(said);
        log_warn(told_->who, " has waited ", waited_text(waited), " in ", told_->where, " for ", told_->whom);
    } catch (const std::bad_alloc &) {
        return; // no memory; the next warning may get through
    }
}

void LongWait::tell_end() noexcept {
    const uint64_t now = monotonic_clock().now_ns();
    try {
        std::string &where = told_->where;
        if (where.ends_with(',')) where.pop_back(); // it was there for "for"
        log_warn(told_->who, " waited ", waited_text(now - std::min(now, begin_ns_)), " in ", where,
                 "; the wait has ended");
    } catch (const std::bad_alloc &) {
        // The warning of the wait remains the last word.
    }
    told_.reset();
}

} // namespace mdist
