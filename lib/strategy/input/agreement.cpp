// SPDX-License-Identifier: Apache-2.0
#include "strategy/input/agreement.h"

#include "comm/call/bad_message.h"
#include "comm/workers/workers.h"
#include "data/current_failure.h"
#include "strategy/job/call_functions.h"
#include "strategy/job/consensus.h"
#include "strategy/job/turn.h"
#include "util/forced_unwind.h"
#include "util/text.h"

#include <cstring>
#include <optional>
#include <utility>

namespace mdist {
namespace {

constexpr const char *kInStep = "it before mdist_run, and pass the elements as arguments";

/// Returns what `part` threw; none if it returned normally, with its result in `mine`.
std::optional<Failure> failure_of(Job &job, CallKind kind, FunctionRef<std::string()> part, std::string &mine) {
    try {
        mine = part();
        return std::nullopt;
    } catch (...) {
        if (!thread_is_ending()) return current_failure();
        job.comm.fail_workers(kind->name(), thread_ended());
        rethrow();
    }
}

/// Returns the results of all workers, which must be equal if there is a `rule`.
std::vector<std::string> gathered(Job &job, const Call &call, FunctionRef<std::string()> part, const char *rule) {
    std::string mine;
    std::optional<Failure> failed = failure_of(job, call.kind, part, mine);
    const Turn turn(job, call.kind->name(), kInStep);
    // Asked for once: a worker that knows the outcome may end, and the job with it, before this one has compared.
    const Workers *const others = job.other_workers(); // nullptr: alone in an elastic job
    std::vector<std::string> all = Consensus(job, call, 0).gather("", [&] {
        if (!failed) return std::move(mine);
        throw others == nullptr ? std::move(*failed) : std::move(*failed).about(others->name(job.replicas.worker()));
    });
    if (rule != nullptr && others != nullptr) require_same_texts(*others, all, rule);
    return all;
}

} // namespace

void require_input_place(Job &job, CallKind kind) {
    const Turn turn(job, kind->name(), kInStep);
}

std::vector<std::string> on_all_workers(Job &job, const Call &call, FunctionRef<std::string()> part) {
    return gathered(job, call, part, nullptr);
}

void alike_on_all_workers(Job &job, const Call &call, FunctionRef<std::string()> part) {
    gathered(job, call, part, "all workers must distribute in the same way");
}

void ElementAgreement::require_place() {
    require_input_place(*job_, &calls::kNextElement);
}

StepRows ElementAgreement::agree(FunctionRef<StepRows()> take) {
    // Short, because it travels in a header. "0.1, element 5" stands for iterator 1 of distributed dataset 0.
    std::string subject = text(dataset_, '.', iterator_);
    if (!job_->elastic.on()) subject += text(", element ", element_++);
    const std::vector<std::string> told = on_all_workers(*job_, call_about(&calls::kNextElement, subject), [&] {
        const StepRows mine = take();
        return std::string(reinterpret_cast<const char *>(mine.data()), mine.size() * sizeof mine[0]);
    });
    StepRows all(job_->replicas.count());
    for (uint32_t worker = 0; worker < told.size(); ++worker) {
        const Span &span = job_->replicas.span_of(worker);
        const std::size_t bytes = span.count() * sizeof all[0];
        if (told[worker].size() != bytes)
            throw bad_message(worker, text(told[worker].size(), " bytes about its replicas' rows instead of ", bytes));
        std::memcpy(&all[span.first], told[worker].data(), bytes);
    }
    return all;
}

} // namespace mdist
