// SPDX-License-Identifier: Apache-2.0
// WorkerOperation: one collective among the workers of a job, from comparing the calls to the end.
//
// The constructor returns when all workers have said that they call the same. The operation then drives the schedules
// that move its bytes. Any failure ends the job (Workers::fail) before it is thrown, and no schedule touches memory
// after that. A worker has one operation at a time, used by one thread.
#pragma once

#include "comm/call/operation_header.h"
#include "comm/schedules/halving_sum.h"
#include "comm/schedules/relayed_exchange.h"
#include "comm/schedules/small_all_reduce.h"
#include "comm/schedules/small_exchange.h"
#include "comm/workers/worker_group.h"
#include "util/function_ref.h"

#include <optional>
#include <string_view>
#include <utility>

namespace mdist {

class WorkerOperation {
  public:
    /// Only the header travels, by relays if those are fewer messages.
    WorkerOperation(WorkerGroup &workers, const Call &call, uint64_t timeout_ns);

    /// `payload` travels with the header. Each worker may send its own number of bytes, up to
    /// SmallExchange::kPayloadLimit.
    WorkerOperation(WorkerGroup &workers, const Call &call, const void *payload, std::size_t payload_bytes,
                    uint64_t timeout_ns);

    /// The same with a package of its own for each worker, by worker. `behind` counts the messages behind the payloads,
    /// which have the tag tag(). What the packages point at, and `behind`, must outlive the operation.
    WorkerOperation(WorkerGroup &workers, const Call &call, const std::vector<SmallExchange::Package> &packages,
                    Pending &behind, uint64_t timeout_ns);

    /// The same with one payload for all, which goes by relays: at most RelayedExchange::most() bytes, or most_of_one()
    /// if only worker `giver` has one. What the others sent lies in scratch().
    WorkerOperation(WorkerGroup &workers, const Call &call, const SmallExchange::Bytes &relayed, uint64_t timeout_ns,
                    uint32_t giver = RelayedExchange::kEveryone);

    /// A reduce-scatter by halving, up to HalvingSum::finish(). `rows`, `expected` and `own_table` are those of
    /// HalvingSum. The first two must outlive the operation.
    WorkerOperation(WorkerGroup &workers, const Call &call, const std::vector<ReduceRow> &rows, const Blobs &expected,
                    const std::vector<char> &own_table, uint64_t timeout_ns);
    HalvingSum &halving() { return *halving_; }

    /// All-reduces among workers that all share memory (Workers::all_share); needs no schedule.
    static void all_reduce_shared(WorkerGroup &workers, const Call *const *calls, uint64_t timeout_ns);
    /// Does a small all-reduce among other workers, by one of their plans. The header travels along with the data.
    /// `rows` are those of `call`.
    static void all_reduce_small(WorkerGroup &workers, const Call &call, const JoinPlan &plan,
                                 const std::vector<ReduceRow> &rows, uint64_t timeout_ns);

    /// What a worker sent along with its header, also for this worker.
    const char *payload(uint32_t worker) const {
        return static_cast<const char *>(relayed_ ? relayed_->payload(worker) : messages_->payload(worker));
    }
    std::size_t payload_bytes(uint32_t worker) const {
        return relayed_ ? relayed_->payload_bytes(worker) : messages_->payload_bytes(worker);
    }

    Link &link() { return workers_.link(); }
    /// The tag for the messages of the schedules, one schedule after another. A schedule may use the low half.
    uint64_t tag() const { return header_.sequence << 32; }
    Scratch &scratch() { return workers_.scratch(); }

    /// Runs a schedule over link() to its end. The arguments must outlive it.
    template <class Kind, class... Arguments>
    void run(Arguments &&...arguments) {
        std::optional<Kind> schedule;
        drive([&]() -> Schedule & { return schedule.emplace(link(), std::forward<Arguments>(arguments)...); });
    }
    /// Fails because of something that all workers find wrong in the same way.
    [[noreturn]] void fail(const Failure &found);

  private:
    WorkerOperation(WorkerGroup &workers, const Call &call, std::size_t payload_bytes, uint64_t timeout_ns);

    /// A wait for others, up to their next progress. It begins with its first check(), so a short one does not read the
    /// clock.
    struct Wait {
        uint64_t begin_ns = 0; // 0: not begun
        uint64_t waited_ns = 0;
        uint64_t moved = 0; // before it
        LongWait log;
    };

    void come() noexcept;
    void drive(FunctionRef<Schedule &()> begin);
    void attempt(FunctionRef<void()> body);
    void await_refusal();
    uint64_t check(Wait &wait) const;
    uint64_t moved() const;
    bool has_come(uint32_t worker) const;
    const JoinRounds *rounds() const;
    bool somebody_waits() const;
    WaitText waiting() const;
    Failure late(const WaitText &wait, std::string_view words) const;

    WorkerGroup &workers_;
    const uint64_t timeout_ns_;
    const uint64_t ends_ns_;       // by communication.call_timeout
    const Failure *const refusal_; // Call::refusal
    const OperationHeader header_;
    // How this worker tells the others what it calls: at most one of them. None is set if memory is shared.
    std::optional<SmallExchange> messages_;
    std::optional<SmallAllReduce> small_;
    std::optional<RelayedExchange> relayed_;
    std::optional<HalvingSum> halving_;
};

} // namespace mdist
