// SPDX-License-Identifier: Apache-2.0
// JointOperation: one collective among the workers of a job, from telling each other what it is to its end.
//
// Creating one returns when all workers have said that they call the same. Then it drives the schedules that move its
// bytes. Whatever goes wrong ends the job (Workers::fail) before it is thrown; no schedule touches memory afterwards.
// One at a time in a worker; one thread.
#pragma once

#include "comm/operation_header.h"
#include "comm/schedules/doubling.h"
#include "comm/schedules/small_exchange.h"
#include "comm/workers.h"
#include "util/function_ref.h"

#include <optional>
#include <utility>

namespace mdist {

class JointOperation {
  public:
    /// `payload` travels with the header: up to SmallExchange::kPayloadLimit bytes, as many as this worker likes.
    JointOperation(Workers &workers, const Call &call, const void *payload, std::size_t payload_bytes,
                   uint64_t timeout_ns);

    /// An all-reduce of workers that all share memory (Workers::all_share), which needs no schedule.
    static void all_reduce_shared(Workers &workers, const Call *const *calls, uint64_t timeout_ns);
    /// A small all-reduce among others, which tells what it is along with its data; `rows` are those of `call`.
    static void all_reduce_small(Workers &workers, const Call &call, const std::vector<Flat> &rows,
                                 uint64_t timeout_ns);

    /// What a worker sent along, this one too.
    const char *payload(uint32_t worker) const { return static_cast<const char *>(messages_->payload(worker)); }
    std::size_t payload_bytes(uint32_t worker) const { return messages_->payload_bytes(worker); }

    Link &link() { return *workers_.links_.link; }
    /// For the messages of one schedule after another; its low half is the schedule's.
    uint64_t tag() const { return header_.sequence << 32; }
    Scratch &scratch() { return workers_.scratch_; }

    /// Runs a schedule over link() to its end; each has the whole timeout. What it was given outlives it.
    template <class Kind, class... Arguments>
    void run(Arguments &&...arguments) {
        std::optional<Kind> schedule;
        drive([&]() -> Schedule & { return schedule.emplace(link(), std::forward<Arguments>(arguments)...); });
    }
    /// For what all workers find wrong alike.
    [[noreturn]] void fail(const Failure &cause);

  private:
    JointOperation(Workers &workers, const Call &call, std::size_t payload_bytes, uint64_t timeout_ns);

    uint64_t next_sequence();
    void drive(FunctionRef<Schedule &()> begin);
    void attempt(FunctionRef<void()> body);
    uint64_t check(uint64_t begin_ns) const;
    bool has_come(uint32_t worker) const;
    bool somebody_waits() const;
    Failure late() const;
    void await_cause() const;

    Workers &workers_;
    const uint64_t timeout_ns_;
    const OperationHeader header_;
    // One of them is how this worker tells others what it calls; none where memory is shared.
    std::optional<SmallExchange> messages_;
    std::optional<Doubling> doubling_;
};

} // namespace mdist
