// SPDX-License-Identifier: Apache-2.0
// What comes out is not prefetched here, as TensorFlow prefetches one step. Sub-batches are views, or one copy, so that
// a thread of each iterator would buy little; what is slow stands before the cutting, where the program puts a prefetch
// of its own, and data.prefetch_on_device puts one behind it. No thread of the library may run a source that has
// callers_thread_only() in any case.
#include "data/distribute/plan.h"

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
                               " of the dataset is a scalar, which cannot be split over replicas; give "
                               "the dataset a batch first (mdist_dataset_batch)"));
}

void check_weights(const InputLayout &layout, const Dealing &dealing) {
    const std::vector<double> &weights = dealing.weights;
    if (dealing.uneven != MDIST_UNEVEN_DEFAULT || !dealing.split)
        throw invalid(
            "weights say how many rows of a batch each replica gets; without splitting, or with uneven other "
            "than MDIST_UNEVEN_DEFAULT, that is said already");
    if (weights.size() != layout.total())
        throw invalid(text(weights.size(), " weights for ", layout.total(), " replicas of the job; each needs one"));
    for (std::size_t i = 0; i < weights.size(); ++i)
        if (!std::isfinite(weights[i]) || weights[i] < 0)
            throw invalid(text("weight ", i, " is ", weights[i], "; weights are finite, and 0 or more"));
    if (std::ranges::all_of(weights, [](double weight) { return weight == 0; }))
        throw invalid("all weights are 0; one at least must be more");
}

void check(const Dataset &source, const InputLayout &layout, const Dealing &dealing) {
    if (dealing.uneven < MDIST_UNEVEN_DEFAULT || dealing.uneven > MDIST_UNEVEN_DROP)
        throw invalid(text("uneven ", dealing.uneven, " is none of mdist_uneven_t"));
    if (!dealing.split && dealing.uneven != MDIST_UNEVEN_DEFAULT)
        throw invalid("elements that are not split are never uneven; uneven must be MDIST_UNEVEN_DEFAULT");
    if (!dealing.weights.empty()) check_weights(layout, dealing);
    if (dealing.split) check_rows(source.spec());
}

/// As for files: TensorFlow fails on those workers that got an element, here all do.
void check_enough(const Dataset &source, const InputLayout &layout) {
    const uint64_t elements = source.size().value_or(0);
    if (elements == 0 || elements >= layout.workers) return;
    throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                  text("cannot share out whole elements: there are ", elements, " for ", layout.workers,
                       " workers; take at least one for each, or policy OFF"))
        .reason("too_few_elements");
}

/// Batches that are too small for all are left out, which would never end here.
void check_drops(const Plan &plan, const InputLayout &layout, const Dealing &dealing) {
    if (dealing.uneven != MDIST_UNEVEN_DROP || !plan.endless ||
        plan.global_batch.value_or(UINT64_MAX) >= layout.total())
        return;
    throw invalid(
        text("batches of ", *plan.global_batch, " rows for ", layout.total(),
             " replicas: MDIST_UNEVEN_DROP would leave out every one of them, without end; make them larger"));
}

/// Whether all its elements but the last are as large as batch_size_of() says.
bool ends_in_batches(const Dataset &source) {
    const Traits traits = source.traits();
    if (traits.batch_size) return true;
    return traits.identity == "" && ends_in_batches(*source.sources().at(0));
}

/// Plan::place: "" where each step takes one batch of the source, for however many replicas. The same on all workers.
std::string place_of(const Plan &plan, const Cutting &cutting, const Dataset &source, const InputLayout &layout,
                     const Dealing &dealing) {
    const bool stream = cutting.kind == Cutting::Kind::kStream;
    const uint64_t replicas = layout.total();
    if (replicas == 1) return "";
    if (cutting.kind == Cutting::Kind::kSlices && (plan.policy == MDIST_SHARD_DATA || layout.workers == 1)) {
        const bool drops = cutting.slicing.shares.rule == Shares::Rule::kEqual;
        return drops ? text("batches of at least ", replicas, " rows") : "";
    }
    if (stream && layout.workers == 1) return ends_in_batches(source) ? "" : "rows, not batches";
    std::string place = text("policy ", policy_name(plan.policy), ", ", cutting.text(), ", ");
    if (stream && dealing.weights.empty() && *plan.global_batch % replicas == 0)
        return place + text(*plan.global_batch / layout.workers, " for each of ", layout.workers, " workers");
    place += text("for ", layout.workers, " workers of ", layout.replicas, " replicas");
    for (const double weight : dealing.weights) place += text(", ", exact_text(weight));
    return place;
}

} // namespace

Plan make_plan(std::shared_ptr<const Dataset> source, const InputLayout &layout, const Dealing &dealing) {
    check(*source, layout, dealing);
    const Sharing sharing = share(source, layout, dealing.policy);
    const bool shared = sharing.policy == MDIST_SHARD_DATA;
    if (shared && !dealing.split && !dealing.by_replica) check_enough(*source, layout);
    Plan plan;
    plan.policy = sharing.policy;
    plan.global_batch = batch_size_of(*source);
    const Cutting cutting = choose_cutting(layout, dealing, shared, plan.global_batch);
    plan.parts = cutting.applied(sharing.dataset);
    // With policy OFF workers may have what they like.
    const bool own = plan.policy == MDIST_SHARD_OFF && layout.workers != 1;
    plan.source = own ? "what each worker reads by itself" : source->description();
    plan.place = place_of(plan, cutting, *source, layout, dealing);
    // Who takes whole elements in turns finds the end between two workers.
    plan.common_knowledge = layout.workers == 1 || (shared && dealing.split);
    // Of the source: a shard of it may have nothing to repeat.
    plan.endless = source->endless();
    check_drops(plan, layout, dealing);
    plan.alike = alike_lines(plan, sharing, layout, dealing);
    plan.text = explain(plan, sharing, layout, dealing);
    return plan;
}

} // namespace mdist
