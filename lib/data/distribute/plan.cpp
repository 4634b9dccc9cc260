// SPDX-License-Identifier: Apache-2.0
// TensorFlow prefetches one step of the dealt dataset; this library does not. Sub-batches are views or one copy, so a
// thread for each iterator would gain little. The slow work comes before the cutting, where the program can put a
// prefetch of its own. data.prefetch_on_device puts one behind it. In any case, no thread of the library may run a
// source that has callers_thread_only().
#include "data/distribute/plan.h"

#include "data/dataset.h"
#include "data/distribute/at_least.h"
#include "data/distribute/auto_shard.h"
#include "data/distribute/cutting.h"
#include "data/distribute/explain.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <cmath>

namespace mdist {
namespace {

void check_rows(const std::vector<Spec> &spec) {
    for (std::size_t i = 0; i < spec.size(); ++i)
        if (spec[i].shape.rank == 0)
            throw invalid(text("component ", i,
                               " of the dataset is a scalar, which has no rows to split over replicas. Batch single "
                               "elements (mdist_dataset_batch), and give every component of a batch its rows"));
}

void check_weights(const InputLayout &layout, const Dealing &dealing) {
    const std::vector<double> &weights = dealing.weights;
    if (dealing.uneven != MDIST_UNEVEN_DEFAULT || !dealing.split)
        throw invalid(
            "weights work only where batches are split and uneven is MDIST_UNEVEN_DEFAULT. Remove the weights, or "
            "split batches and set uneven to MDIST_UNEVEN_DEFAULT");
    if (weights.size() != layout.total())
        throw invalid(text("there are ", weights.size(), " weights for ", layout.total(),
                           " replicas of the job; pass one weight per replica"));
    for (std::size_t i = 0; i < weights.size(); ++i)
        if (!std::isfinite(weights[i]) || weights[i] < 0)
            throw invalid(text("weight ", i, " is ", weights[i], "; it must be finite, and 0 or more"));
    if (std::all_of(weights.begin(), weights.end(), [](double weight) { return weight == 0; }))
        throw invalid("all weights are 0; at least one must be greater than 0");
}

void check(const Dataset &source, const InputLayout &layout, const Dealing &dealing) {
    if (dealing.uneven < MDIST_UNEVEN_DEFAULT || dealing.uneven > MDIST_UNEVEN_DROP)
        throw invalid(text("uneven ", dealing.uneven, " is not a valid mdist_uneven_t"));
    if (!dealing.split && dealing.uneven != MDIST_UNEVEN_DEFAULT)
        throw invalid("uneven has no effect where elements are not split; set it to MDIST_UNEVEN_DEFAULT");
    if (!dealing.weights.empty()) check_weights(layout, dealing);
    if (dealing.split) check_rows(source.spec());
}

/// As for files: in TensorFlow the workers that got an element fail. Here all fail.
std::shared_ptr<const Dataset> enough(const std::shared_ptr<const Dataset> &source, uint32_t workers) {
    return with_enough(source, workers, [workers](uint64_t elements) {
        return Failure(MDIST_ERR_FAILED_PRECONDITION,
                       text("cannot share out whole elements: the dataset has ", elements, " for ", workers,
                            " workers. Use at least one per worker, or policy OFF"))
            .reason("too_few_elements");
    });
}

/// MDIST_UNEVEN_DROP leaves out batches with fewer rows than replicas. On an endless source of such batches, that would
/// never end.
void check_drops(const InputPlan &plan, const InputLayout &layout, const Dealing &dealing) {
    if (dealing.uneven != MDIST_UNEVEN_DROP || !plan.endless ||
        plan.global_batch.value_or(UINT64_MAX) >= layout.total())
        return;
    throw invalid(text("MDIST_UNEVEN_DROP would drop every batch, without end: a batch has ", *plan.global_batch,
                       " rows, but the job has ", layout.total(), " replicas. Make batches of at least ",
                       layout.total(), " rows"));
}

/// Tells whether all its elements, except the last, are as large as batch_size_of() says.
bool ends_in_batches(const Dataset &source) {
    const Traits traits = source.traits();
    if (traits.batch_size) return true;
    return traits.identity == "" && ends_in_batches(*source.sources().at(0));
}

/// Returns InputPlan::place, the same on all workers: "" if each step takes one batch of the source, however many
/// replicas there are.
std::string place_of(const InputPlan &plan, const Cutting &cutting, const Dataset &source, const InputLayout &layout,
                     const Dealing &dealing) {
    const bool stream = cutting.kind == Cutting::Kind::kStream;
    const uint64_t replicas = layout.total();
    if (replicas == 1) return "";
    if (cutting.kind == Cutting::Kind::kSlices && (plan.policy == MDIST_SHARD_DATA || layout.workers() == 1)) {
        const bool drops = cutting.slicing.shares.rule == Shares::Rule::kEqual;
        return drops ? text("batches of at least ", replicas, " rows") : "";
    }
    if (stream && layout.workers() == 1) return ends_in_batches(source) ? "" : "rows, not batches";
    std::string place = text("policy ", policy_name(plan.policy), ", ", cutting.text(), ", ");
    if (stream && dealing.weights.empty() && layout.spans.are_even() && *plan.global_batch % replicas == 0)
        return place + text(*plan.global_batch / layout.workers(), " for each of ", layout.workers(), " workers");
    place += "for " + layout.text();
    for (const double weight : dealing.weights) place += text(", ", exact_text(weight));
    return place;
}

} // namespace

std::string InputLayout::text() const {
    std::string counts;
    for (uint32_t i = 0; i < (spans.are_even() ? 1 : workers()); ++i)
        counts += mdist::text(i == 0 ? "" : "+", spans[i].count());
    return mdist::text(workers(), " workers of ", counts, " replicas");
}

InputPlan make_plan(std::shared_ptr<const Dataset> source, const InputLayout &layout, const Dealing &dealing) {
    check(*source, layout, dealing);
    Sharing sharing = share(source, layout, dealing.policy);
    const bool shared = sharing.policy == MDIST_SHARD_DATA;
    if (shared && !dealing.split && !dealing.goes_by_replica(layout))
        sharing.dataset = enough(sharing.dataset, layout.workers());
    InputPlan plan;
    plan.policy = sharing.policy;
    plan.global_batch = batch_size_of(*source);
    const Cutting cutting = choose_cutting(layout, dealing, shared, plan.global_batch);
    plan.parts = cutting.applied(sharing.dataset);
    // With policy OFF, each worker may read something else.
    const bool own = plan.policy == MDIST_SHARD_OFF && layout.workers() != 1;
    plan.source = own ? "what each worker reads by itself" : source->description();
    plan.place = place_of(plan, cutting, *source, layout, dealing);
    // If workers take whole elements in turn, the end may come between two workers.
    plan.common_knowledge = layout.workers() == 1 || (shared && dealing.split);
    // This asks the source, not a shard of it: a shard may have nothing to repeat.
    plan.endless = source->endless();
    check_drops(plan, layout, dealing);
    plan.alike = alike_lines(plan, sharing, layout, dealing);
    plan.text = explain(plan, sharing, layout, dealing);
    return plan;
}

} // namespace mdist
