// SPDX-License-Identifier: Apache-2.0
#include "api/work.h"
#include "api/description.h"
#include "api/replica_guard.h"
#include "comm/operation_queue.h"
#include "strategy/job/context.h"
#include "util/forced_unwind.h"
#include "util/log.h"
#include "util/text.h"

#include <utility>

namespace mdist {
namespace {

/// A started collective. The operation is also in its replica's queue until it is over.
class StartedCollective final : public Work {
  public:
    StartedCollective(std::shared_ptr<void> owner, Job &job, OperationQueue &operations,
                      std::shared_ptr<Operation> operation, uint32_t replica)
        : owner_(std::move(owner)),
          job_(job),
          meeting_(job.comm.keep_meeting()),
          operations_(operations),
          operation_(std::move(operation)),
          replica_(replica),
          generation_(job.elastic.generation()) {}
    void settle() noexcept override {
        if (operation_->over()) return operation_->leave_result();
        // In a function of mdist_work_on_done, giving it up might wait for this very thread. It stays in its line.
        if (!in_done_call()) operations_.settle(*operation_, work_destroyed(operation_->name(), replica_));
    }
    bool test() override { return operations().test(*operation_); }
    bool wait(uint64_t timeout_ns) override { return operations().wait(*operation_, timeout_ns); }
    int descriptor() override { return operations().descriptor(*operation_); }
    /// A replica's step ends only after these calls have returned, and keeps the job. So they need not keep it.
    void on_done(mdist_work_done_fn done, void *user_data) override {
        operations().when_over(*operation_, done_call(job_, replica_, done, user_data));
    }

  private:
    OperationQueue &operations() const {
        job_.elastic.require_generation(generation_, "the work");
        return operations_;
    }

    const std::shared_ptr<void> owner_;   // of the operations: a job, or a group of replicas
    const Job &job_;                      // the owner, or the group's
    const std::shared_ptr<void> meeting_; // has the queue, unless a group has it
    OperationQueue &operations_;
    std::shared_ptr<Operation> operation_;
    uint32_t replica_;
    const uint32_t generation_; // all works of an older one are over
};

} // namespace

std::function<void(mdist_status_t)> done_call(const Job &job, uint32_t replica, mdist_work_done_fn done,
                                              void *user_data) {
    return [&job, replica, done, user_data](mdist_status_t status) {
        const Context context(job, Context::Kind::kDone);
        try {
            done(status, user_data);
        } catch (const std::exception &exception) {
            log_warn("the function of mdist_work_on_done of replica ", replica, " threw: ", exception.what());
        } catch (...) {
            if (thread_is_ending()) rethrow();
            log_warn("the function of mdist_work_on_done of replica ", replica, " threw an exception");
        }
    };
}

bool in_done_call() {
    const Context *const context = Context::innermost();
    return context != nullptr && context->kind() == Context::Kind::kDone;
}

Failure work_destroyed(const char *function, uint32_t replica) noexcept {
    return failure_or(out_of_memory(), [&] {
        return Failure(MDIST_ERR_ABORTED, text("replica ", replica, " destroyed the work of the ", function,
                                               " that it had started, before it was done"))
            .operation(function)
            .replica(replica)
            .reason("work_destroyed");
    });
}

void start_work(Replica &self, const GroupSeat &place, const Call &call, uint64_t timeout_ns, mdist_work_t **out) {
    need(out, "out");
    OperationQueue &operations = place.seat.operations;
    const auto operation = operations.start(place.seat.party, call, timeout_ns);
    try {
        const auto owner = place.group ? std::shared_ptr<void>(place.group) : self.job().shared_from_this();
        *out = publish<mdist_work_t>(std::shared_ptr<Work>(
            std::make_shared<StartedCollective>(owner, self.job(), operations, operation, self.id())));
    } catch (const std::exception &caught) {
        operations.settle(*operation, as_failure(caught));
        throw;
    }
}

} // namespace mdist

using namespace mdist;

mdist_status_t mdist_collective_start(mdist_replica_t *replica, const mdist_collective_description_t *collective,
                                      mdist_work_t **out, const mdist_call_options_t *options, mdist_error_t **error) {
    return collective_guard(
        "mdist_collective_start", [&] { return described_call(collective); }, kDescriptionNames, replica, Others::kWait,
        options, error,
        [&](Replica &self, const GroupSeat &place, const Call &own, uint64_t timeout_ns) {
            need_no_packs(options);
            start_work(self, place, own, timeout_ns, out);
        });
}

mdist_status_t mdist_work_test(mdist_work_t *work, int32_t *done, mdist_error_t **error) {
    return guard("mdist_work_test", error, [&] {
        const auto pinned = pin(work);
        need(done, "done");
        *done = pinned->test() ? 1 : 0;
    });
}

mdist_status_t mdist_work_wait(mdist_work_t *work, uint64_t timeout_ns, int32_t *done, mdist_error_t **error) {
    return guard("mdist_work_wait", error, [&] {
        const auto pinned = pin(work);
        need(done, "done");
        Context::require_not_done("mdist_work_wait");
        *done = pinned->wait(timeout_ns) ? 1 : 0;
    });
}

mdist_status_t mdist_work_descriptor(mdist_work_t *work, int32_t *out, mdist_error_t **error) {
    return guard("mdist_work_descriptor", error, [&] {
        const auto pinned = pin(work);
        need(out, "out");
        *out = pinned->descriptor();
    });
}

mdist_status_t mdist_work_on_done(mdist_work_t *work, mdist_work_done_fn done, void *user_data, mdist_error_t **error) {
    return guard("mdist_work_on_done", error, [&] {
        const auto pinned = pin(work);
        need(reinterpret_cast<const void *>(done), "done");
        pinned->on_done(done, user_data);
    });
}

void mdist_work_destroy(mdist_work_t *work) {
    if (const auto given_up = give_up(work)) given_up->settle();
}
