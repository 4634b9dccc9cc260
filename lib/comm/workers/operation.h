// SPDX-License-Identifier: Apache-2.0
// WorkerOperation: one collective among the workers of a job, from comparing the calls to the end.
//
// It begins with an agreement: when that is done, all workers have said that they call the same. The operation then
// drives the schedules that move its bytes. Any failure ends the job (Workers::fail) before it is thrown, and no
// schedule touches memory after that. A worker has one operation at a time, used by one thread.
#pragma once

#include "comm/call/operation_header.h"
#include "comm/call/reduce_row.h"
#include "comm/schedules/call_agreement.h"
#include "comm/workers/workers.h"
#include "util/function_ref.h"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace mdist {

class WorkerOperation {
  public:
    static constexpr uint32_t kEveryone = UINT32_MAX, kNobody = UINT32_MAX - 1;

    /// Enters the operation. Throws why the job has failed. Of what follows, one form of agree() comes first, or what
    /// stands for it.
    WorkerOperation(Workers &workers, const Call &call, uint64_t timeout_ns);

    /// Returns when all workers have told that they call the same: directly, or by relays
    /// (Workers::meets_directly()).
    void agree() { agree({}, kNobody); }
    /// The same. Each worker may give a payload of its own, up to most_payload(). If all know that only one of them has
    /// any, `giver` names it. The payload must stay as long as payload() of this worker is read.
    void agree(const Link::Message &payload, uint32_t giver = kEveryone);
    /// The most bytes that a worker's payload may have.
    static std::size_t most_payload(const Workers &workers, bool directly);
    /// Agrees directly. `send` posts what follows the headers at once; its memory must outlive the operation. `peers`
    /// are those of DirectAgreement.
    void agree_before(FunctionRef<void()> send, const Link::Message &payload = {},
                      const std::vector<uint32_t> &peers = {});
    /// Small sums, with the headers.
    void agree_by_tree_sum(const std::vector<ReduceRow> &rows);
    /// All-reduces among workers that all share memory (Workers::all_share). Needs no schedule.
    void all_reduce_shared(const Call *const *calls);

    /// What a worker sent along with its header, also for this worker.
    Link::Message payload(uint32_t worker) const { return agreement_->payload(worker); }

    Link &link() const { return workers_.link(); }
    /// The tag for the messages of the schedules, one schedule after another. A schedule may use the low half.
    uint64_t tag() const { return header_.sequence << 32; }
    const OperationHeader &header() const { return header_; }
    Scratch &scratch() const { return workers_.scratch(); }

    /// Runs a schedule over link() to its end. The arguments must outlive it.
    template <class Kind, class... Arguments>
    void run(Arguments &&...arguments) {
        std::optional<Kind> schedule;
        drive([&]() -> Schedule & { return schedule.emplace(link(), std::forward<Arguments>(arguments)...); });
    }
    /// The same for a schedule that was made in agree_before().
    template <class Kind>
    void run_on(Kind &schedule) {
        drive([&]() -> Schedule & { return schedule.begin(), schedule; });
    }
    /// Runs `check`, which may throw what all workers find wrong in the same way.
    template <class Check>
    auto checked(Check check) {
        try {
            return check();
        } catch (const std::exception &caught) {
            fail(as_failure(caught));
        }
    }

  private:
    /// A wait for others, up to their next progress. It begins with its first check(), so a short one does not read the
    /// clock.
    struct Wait {
        uint64_t begin_ns = 0; // 0: not begun
        uint64_t waited_ns = 0;
        uint64_t moved = 0; // before it
        LongWait log;
    };

    template <class Kind, class... Arguments>
    Schedule &begin(Arguments &&...arguments);
    void come() noexcept;
    void drive(FunctionRef<Schedule &()> begin);
    void attempt(FunctionRef<void()> body);
    [[noreturn]] void fail(const Failure &found);
    void await_refusal(uint32_t rank);
    Failure by_majority(const Failure &pair);
    void progress_until(FunctionRef<bool()> enough, uint64_t limit_ns);
    const OperationHeader *header_of(uint32_t worker) const;
    uint64_t check(Wait &wait) const;
    uint64_t moved() const;
    bool has_come(uint32_t worker) const;
    bool hears_all() const { return agreement_ == nullptr || agreement_->hears_all(); }
    bool somebody_waits() const;
    WaitText waiting() const;
    Failure late(const WaitText &wait, std::string_view words) const;

    Workers &workers_;
    const uint64_t timeout_ns_;
    const uint64_t ends_ns_;       // by communication.call_timeout
    const Failure *const refusal_; // Call::refusal
    const OperationHeader header_;
    std::unique_ptr<CallAgreement> agreement_; // nullptr: in shared memory
    Pending told_;                             // what await_refusal() sends
};

} // namespace mdist
