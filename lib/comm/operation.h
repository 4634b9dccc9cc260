// SPDX-License-Identifier: Apache-2.0
// Operation: a collective under way that nobody waits in, as one party's part of it.
//
// It moves on inside advance() and never waits for other parties' calls. When it is over (done, failed or given up) the
// caller's buffers are free, and the party may take part in the next collective. Functions: any thread; they exclude
// each other.
#pragma once

#include "comm/across.h"
#include "comm/all_reduce.h"
#include "comm/exchange.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

namespace mdist {

class Operation {
  public:
    /// Posts the call, whose buffer arrays are copied. Throws as the blocking form would before it waits.
    Operation(Group &group, uint32_t party, const Call &call, uint64_t timeout_ns);
    Operation(const Operation &) = delete;
    Operation &operator=(const Operation &) = delete;
    /// Over.
    ~Operation() = default;

    /// True when done; throws what the blocking form would, again and again.
    bool advance();
    /// advance() until it is true, or for `timeout_ns`.
    bool wait(uint64_t timeout_ns);
    /// The function it came from, without `_start`.
    const char *name() const { return call_name(call_.kind); }
    bool over() const { return over_.load(std::memory_order_acquire); }
    /// Finishes it if all parties have come, else withdraws and releases the group with `cause`.
    void settle(const Failure &cause) noexcept;

  private:
    bool advance_locked();
    bool move_on();
    void start_leading() noexcept;
    uint64_t work();
    bool finished() const;
    void end(const Failure *failure) noexcept;
    uint64_t waited_ns() const;

    Group &group_;
    const uint32_t party_;
    const uint64_t timeout_ns_;
    std::vector<mdist_buffer_t> buffers_; // inputs, then outputs
    Call call_;
    std::variant<std::monostate, StagedReduce, ChunkedReduce, Exchange, Across> part_;
    uint64_t total_ = 0; // pieces of work
    uint64_t start_ns_;
    uint32_t finishes_before_;
    Group::Arrival arrival_;

    std::mutex mutex_;
    bool met_ = false;
    std::optional<Failure> failure_;
    std::atomic<bool> over_{false};
};

} // namespace mdist
