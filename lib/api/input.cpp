// SPDX-License-Identifier: Apache-2.0
#include <mdist/input.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "api/check.h"
#include "api/guard.h"
#include "api/input_options.h"
#include "data/distribute/deal.h"
#include "data/distribute/describe.h"
#include "data/iterator.h"
#include "strategy/input/distribute.h"
#include "util/callback.h"
#include "util/failure.h"
#include "util/text.h"

using namespace mdist;

namespace {

std::string ahead_text(uint64_t ahead) {
    return ahead == 0 ? "" : text("made ahead, on a thread: ", ahead, " of each replica\n");
}

Contribution contribution_of(Plan plan, const InputChoices &choices) {
    Contribution out;
    out.alike = plan.alike + choices.text();
    out.text = plan.text + ahead_text(choices.ahead);
    out.source = std::move(plan.source);
    out.place = std::move(plan.place);
    out.parts = {std::move(plan.parts)};
    out.common_knowledge = plan.common_knowledge;
    out.whole_steps = choices.whole_steps();
    out.on_devices = choices.on_devices;
    out.ahead = choices.ahead;
    return out;
}

/// What the caller's function makes for `context`. Its handle is taken over, whatever it is and however this ends.
std::shared_ptr<const Dataset> made_by(mdist_dataset_fn function, const mdist_input_context_t &context,
                                       void *user_data) {
    const auto who = [] { return "the dataset function"; };
    struct TakenOver {
        mdist_dataset_t *handle = nullptr;
        ~TakenOver() { retire(handle); }
    } made;
    const int32_t code = call_back(who, [&] { return function(&context, &made.handle, user_data); });
    if (code != 0) throw callback_returned(who(), code, text("making dataset ", context.pipeline));
    const auto dataset = try_pin(made.handle);
    if (!dataset)
        throw Failure(MDIST_ERR_CALLBACK,
                      text("the dataset function returned 0 and made no dataset (pipeline ", context.pipeline, ")"));
    return dataset.shared();
}

Contribution made_by_function(mdist_dataset_fn function, void *user_data, const InputChoices &choices,
                              const Span &span) {
    if (function == nullptr) throw invalid("function is NULL");
    const uint32_t here = choices.by_replica ? span.replicas : 1; // datasets of this worker
    mdist_input_context_t context = {sizeof context, span.workers * here, span.worker * here,
                                     span.workers * span.replicas};
    Contribution out;
    for (uint32_t i = 0; i < here; ++i, ++context.pipeline) out.parts.push_back(made_by(function, context, user_data));
    out.source = "made by a function"; // workers may be given others
    out.place = text(choices.by_replica ? "one for each replica" : "one for each worker", ", for ", span.workers,
                     " workers of ", span.replicas, " replicas");
    out.whole_steps = choices.whole_steps();
    out.on_devices = choices.on_devices;
    out.ahead = choices.ahead;
    out.alike = choices.text();
    out.text = text("made by a function: ", context.pipeline_count, " datasets for the job, ", here,
                    " of them here\neach step takes an element for each replica, in turn, as it is\n",
                    ahead_text(choices.ahead));
    return out;
}

} // namespace

mdist_status_t mdist_distribute_dataset(mdist_strategy_t *strategy, const mdist_dataset_t *source,
                                        mdist_dataset_t **out, const mdist_input_options_t *options,
                                        mdist_error_t **error) {
    return guard("mdist_distribute_dataset", error, [&] {
        const auto self = pin(strategy);
        *out = publish<mdist_dataset_t>(distribute(self.shared(), CallKind::kDistributeDataset, [&](const Span &span) {
            const auto from = pin(source);
            need(out, "out");
            const InputChoices choices = choices_for_dataset(options, *self, span);
            if (choices.ahead != 0) watch_forks();
            return contribution_of(
                make_plan(from.shared(), {span.workers, span.worker, span.replicas}, choices.dealing), choices);
        }));
    });
}

mdist_status_t mdist_distribute_from_function(mdist_strategy_t *strategy, mdist_dataset_fn function, void *user_data,
                                              mdist_dataset_t **out, const mdist_input_options_t *options,
                                              mdist_error_t **error) {
    return guard("mdist_distribute_from_function", error, [&] {
        const auto self = pin(strategy);
        *out = publish<mdist_dataset_t>(
            distribute(self.shared(), CallKind::kDistributeFromFunction, [&](const Span &span) {
                need(out, "out");
                const InputChoices choices = choices_for_function(options, *self, span);
                if (choices.ahead != 0) watch_forks();
                return made_by_function(function, user_data, choices, span);
            }));
    });
}

mdist_status_t mdist_input_context_batch_size(const mdist_input_context_t *context, uint64_t global_batch_size,
                                              uint64_t *out, mdist_error_t **error) {
    return guard("mdist_input_context_batch_size", error, [&] {
        need(context, "context");
        need(out, "out");
        check_struct_size(context, sizeof *context, sizeof *context, "mdist_input_context_t");
        const uint32_t replicas = context->replica_count;
        if (replicas == 0) throw invalid("context.replica_count is 0; a job has at least one replica");
        if (global_batch_size % replicas != 0)
            throw invalid(text("global_batch_size is ", global_batch_size, ", which ", replicas,
                               " replicas cannot share evenly; take a multiple of ", replicas));
        *out = global_batch_size / replicas;
    });
}

mdist_status_t mdist_dataset_explain(const mdist_dataset_t *dataset, char *text, size_t capacity, size_t *needed,
                                     mdist_error_t **error) {
    return guard("mdist_dataset_explain", error, [&] {
        const auto pinned = pin(dataset);
        const std::string dealt = text_of_deal(*pinned);
        copy_text(dealt.empty() ? describe(*pinned) : dealt, text, capacity, needed);
    });
}

mdist_status_t mdist_iterator_rows(mdist_iterator_t *iterator, uint64_t *rows, size_t count, mdist_error_t **error) {
    return guard("mdist_iterator_rows", error, [&] {
        const auto pinned = pin(iterator);
        need(rows, "rows");
        const StepRows all = pinned->step_rows();
        if (all.size() != count) throw invalid(text("count is ", count, "; the job has ", all.size(), " replicas"));
        std::copy(all.begin(), all.end(), rows);
    });
}
