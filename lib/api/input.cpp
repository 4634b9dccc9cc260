// SPDX-License-Identifier: Apache-2.0
#include <mdist/input.h>

#include <algorithm>
#include <utility>

#include "api/check.h"
#include "api/guard.h"
#include "api/input_options.h"
#include "data/distribute/describe.h"
#include "data/iterator.h"
#include "data/keep.h"
#include "strategy/elastic/elastic.h"
#include "strategy/input/elastic_dataset.h"
#include "strategy/job/call_functions.h"
#include "strategy/strategy.h"
#include "util/callback.h"
#include "util/failure.h"
#include "util/text.h"

using namespace mdist;

namespace {

std::string ahead_text(uint64_t ahead) {
    return ahead == 0 ? "" : text("elements for each replica made ahead on a thread: ", ahead, "\n");
}

Contribution contribution_of(InputPlan plan, const InputChoices &choices) {
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

/// Calls the caller's function for `context` and returns its dataset. Takes over the returned handle in any case.
std::shared_ptr<const Dataset> made_by(mdist_dataset_fn function, const mdist_input_context_t &context,
                                       void *user_data) {
    const auto who = [&] { return text("the dataset function, making dataset ", context.pipeline, ","); };
    struct TakenOver {
        mdist_dataset_t *handle = nullptr;
        ~TakenOver() { retire(handle); }
    } made;
    call_back_or_fail(who, [&] { return function(&context, &made.handle, user_data); });
    const auto dataset = try_pin(made.handle);
    if (!dataset)
        throw Failure(MDIST_ERR_CALLBACK,
                      text("the dataset function returned 0 but made no dataset (pipeline ", context.pipeline, ")"));
    return dataset.shared();
}

Contribution made_by_function(mdist_dataset_fn function, void *user_data, const InputChoices &choices,
                              const InputLayout &layout) {
    if (function == nullptr) throw invalid("function is NULL");
    // Number of datasets on this worker. With by_replica there are no other workers.
    const uint32_t here = choices.by_replica ? layout.total() : 1;
    mdist_input_context_t context = {sizeof context, layout.workers() * here, layout.worker, layout.total()};
    Contribution out;
    for (uint32_t i = 0; i < here; ++i, ++context.pipeline) out.parts.push_back(made_by(function, context, user_data));
    out.source = "made by a function"; // other workers may get other datasets
    out.place = text(choices.by_replica ? "one for each replica" : "one for each worker", ", for ", layout.text());
    out.whole_steps = choices.whole_steps();
    out.on_devices = choices.on_devices;
    out.ahead = choices.ahead;
    out.alike = choices.text();
    out.text =
        text("made by a function: ", context.pipeline_count, " datasets for the job, ", here,
             " of them here\neach step uses one whole element per replica, in turn\n", ahead_text(choices.ahead));
    return out;
}

/// In an elastic job, input belongs to replica ids, and each worker sees all of it.
ElasticContribution elastic_plan(const std::shared_ptr<const Dataset> &source, InputChoices choices) {
    const int32_t policy = choices.dealing.policy;
    const bool fits = choices.dealing.split && (policy == MDIST_SHARD_AUTO || policy == MDIST_SHARD_DATA);
    if (!fits)
        throw Failure(MDIST_ERR_UNSUPPORTED,
                      "the job is elastic, so its input belongs to replicas, not to workers: options.policy must be "
                      "MDIST_SHARD_AUTO or _DATA, and options.flags without MDIST_INPUT_NO_SPLIT")
            .reason("elastic_input");
    choices.dealing.policy = MDIST_SHARD_DATA;
    choices.dealing.by_replica = true;
    return [source = Source(make_keep(source)), choices](const InputLayout &layout) {
        return contribution_of(make_plan(source, layout, choices.dealing), choices);
    };
}

/// In an elastic job, each replica has a dataset of its own, whatever worker has the replica. All workers make the
/// datasets of all replicas, so the function is not needed later, and datasets that differ are noticed.
ElasticContribution elastic_from_function(mdist_dataset_fn function, void *user_data, InputChoices choices,
                                          uint32_t replicas) {
    choices.by_replica = true;
    Contribution all = made_by_function(function, user_data, choices, {Spans::even(1, replicas), 0});
    for (uint32_t replica = 0; replica < replicas; ++replica) {
        const std::string description = all.parts[replica]->description();
        all.source += text(replica == 0 ? ": " : "; ", description);
        all.alike += text("for replica ", replica, " the dataset ", description, '\n');
    }
    all.place = "one for each replica";
    return [all](const InputLayout &layout) {
        const auto first = all.parts.begin();
        Contribution mine = all;
        mine.text += text("replicas ", layout.own().first, " to ", layout.own().last - 1, " are on this worker\n");
        mine.parts = {first + layout.own().first, first + layout.own().last};
        return mine;
    };
}

/// Lets the strategy's commits keep the position of each iterator.
NoteIterator noted_by(const Strategy &strategy) {
    Elastic *const part = strategy.elastic_part(); // lives as long as the dataset, which keeps the strategy
    return [part](const std::shared_ptr<Iterator> &iterator) { part->add(iterator); };
}

/// Returns the choices. If they ask for threads, later forks become detectable.
InputChoices watched(InputChoices choices) {
    if (choices.ahead != 0) watch_forks();
    return choices;
}

/// Distributes what `bring` makes for this worker, or in an elastic job, what `prepare` makes for each layout to come.
std::shared_ptr<Dataset> distributed(const std::shared_ptr<Strategy> &strategy, CallKind kind,
                                     FunctionRef<Contribution(const InputLayout &)> bring,
                                     FunctionRef<ElasticContribution()> prepare) {
    if (!strategy->elastic.on()) return distribute(strategy, strategy->inputs(), kind, bring);
    return distribute_elastic(strategy, kind, strategy->inputs().count++, prepare, noted_by(*strategy));
}

} // namespace

mdist_status_t mdist_distribute_dataset(mdist_strategy_t *strategy, const mdist_dataset_t *source,
                                        mdist_dataset_t **out, const mdist_input_options_t *options,
                                        mdist_error_t **error) {
    return guard("mdist_distribute_dataset", error, [&] {
        const auto self = pin(strategy);
        const auto chosen = [&](const InputLayout &layout) {
            need(out, "out");
            return watched(choices_for_dataset(options, self->inputs(), layout));
        };
        const auto bring = [&](const InputLayout &layout) {
            const auto from = pin(source);
            const InputChoices choices = chosen(layout);
            return contribution_of(make_plan(from.shared(), layout, choices.dealing), choices);
        };
        const auto prepare = [&] {
            const auto from = pin(source);
            return elastic_plan(from.shared(), chosen({self->replicas.spans(), self->replicas.worker()}));
        };
        *out = publish<mdist_dataset_t>(distributed(self.shared(), &calls::kDistributeDataset, bring, prepare));
    });
}

mdist_status_t mdist_distribute_from_function(mdist_strategy_t *strategy, mdist_dataset_fn function, void *user_data,
                                              mdist_dataset_t **out, const mdist_input_options_t *options,
                                              mdist_error_t **error) {
    return guard("mdist_distribute_from_function", error, [&] {
        const auto self = pin(strategy);
        const auto chosen = [&](const InputLayout &layout) {
            need(out, "out");
            return watched(choices_for_function(options, self->inputs(), layout));
        };
        const auto bring = [&](const InputLayout &layout) {
            return made_by_function(function, user_data, chosen(layout), layout);
        };
        const auto prepare = [&] {
            const uint32_t replicas = self->replicas.count();
            return elastic_from_function(function, user_data, chosen({Spans::even(1, replicas), 0}), replicas);
        };
        *out = publish<mdist_dataset_t>(distributed(self.shared(), &calls::kDistributeFromFunction, bring, prepare));
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
                               " replicas cannot share evenly; use a multiple of ", replicas));
        *out = global_batch_size / replicas;
    });
}

mdist_status_t mdist_dataset_explain(const mdist_dataset_t *dataset, char *text, size_t capacity, size_t *needed,
                                     mdist_error_t **error) {
    return guard("mdist_dataset_explain", error, [&] {
        const auto pinned = pin(dataset);
        const std::string dealt = pinned->deal_text();
        copy_text(dealt.empty() ? describe(*pinned) : dealt, text, capacity, needed);
    });
}

mdist_status_t mdist_iterator_row_counts(mdist_iterator_t *iterator, uint64_t *rows, size_t count,
                                         mdist_error_t **error) {
    return guard("mdist_iterator_row_counts", error, [&] {
        const auto pinned = pin(iterator);
        need(rows, "rows");
        const StepRows all = pinned->step_rows();
        if (all.size() != count) throw invalid(text("count is ", count, "; the job has ", all.size(), " replicas"));
        std::copy(all.begin(), all.end(), rows);
    });
}
