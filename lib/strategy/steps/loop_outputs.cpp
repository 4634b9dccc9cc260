// SPDX-License-Identifier: Apache-2.0
// Outputs of a loop: set from both contexts, and aggregated when it is over.
#include "comm/workers.h"
#include "strategy/context.h"
#include "strategy/serve/session.h"
#include "strategy/steps/loop.h"
#include "strategy/values/cross.h"
#include "strategy/values/structure.h"
#include "util/dtype.h"
#include "util/text.h"

#include <mdist/variable.h>

#include <functional>

namespace mdist {
namespace {

void check_aggregation(int32_t aggregation) {
    if (aggregation < MDIST_AGGREGATION_NONE || aggregation > MDIST_AGGREGATION_ONLY_FIRST_REPLICA)
        throw invalid(text("aggregation is ", aggregation,
                           ", which is none; take MDIST_AGGREGATION_NONE (0) to ONLY_FIRST_REPLICA (3)"));
}

int32_t op_of(int32_t aggregation) {
    return aggregation == MDIST_AGGREGATION_MEAN ? MDIST_MEAN : MDIST_SUM;
}

std::string named(std::string_view path) {
    return text("output \"", path, '"');
}

Failure too_late(std::string_view path) {
    return Failure(MDIST_ERR_FAILED_PRECONDITION, text(named(path), " comes too late, since the loop is over"))
        .reason("loop_over");
}

} // namespace

void Loop::set(std::string_view path, ValuePointer value, int32_t aggregation) {
    require_cross_replica(*strategy_, "mdist_loop_set_output", "call mdist_replica_set_output");
    if (path.empty()) throw invalid("path is \"\", and an output has a name");
    check_path(path);
    check_aggregation(aggregation);
    visit_leaves(*value, [&](const Value &leaf, std::size_t) {
        leaf.check_count(replicas_);
        if (aggregation == MDIST_AGGREGATION_ONLY_FIRST_REPLICA) leaf.check_whole();
        if (aggregation == MDIST_AGGREGATION_SUM || aggregation == MDIST_AGGREGATION_MEAN)
            check_reduces(*strategy_, op_of(aggregation), leaf);
    });
    check_like_initial(path, *value);
    const std::lock_guard lock(mutex_);
    if (over_) throw too_late(path);
    check_stands_apart(path);
    outputs_.insert_or_assign(std::string(path), Output{std::move(value), aggregation});
}

ValuePointer Loop::initial_at(std::string_view path) const {
    try {
        return part_of(initial_, path);
    } catch (Failure &failure) {
        throw std::move(failure).about("initial outputs");
    }
}

/// What there was before the first iteration says what outputs look like.
void Loop::check_like_initial(std::string_view path, const Value &value) const {
    if (!initial_) return;
    const ValuePointer like = initial_at(path);
    if (leaf_count(*like) != leaf_count(value) || like->is_structure() != value.is_structure())
        throw Failure(MDIST_ERR_MISMATCH, text(named(path), " has ", leaf_count(value),
                                               " leaves, and its initial value ", leaf_count(*like)))
            .reason("different_paths");
    visit_leaves(value, [&](const Value &leaf, std::size_t index) {
        const Tensor &before = leaf_of(*like, leaf_path(value, index), named(path)).tensors()[0];
        for (const Tensor &now : leaf.tensors())
            if (now.dtype() != before.dtype() || !(now.shape() == before.shape()))
                throw Failure(MDIST_ERR_MISMATCH,
                              text(named(path), " is ", dtype_name(now.dtype()), ' ', now.shape().text(),
                                   ", and its initial value ", dtype_name(before.dtype()), ' ', before.shape().text(),
                                   "; it keeps its type and shape"))
                    .reason(now.dtype() == before.dtype() ? "different_shapes" : "different_dtypes");
    });
}

/// No output lies below another.
void Loop::check_stands_apart(std::string_view path) const {
    const auto below = [](std::string_view inner, std::string_view outer) {
        return inner.size() > outer.size() && inner.substr(0, outer.size()) == outer && inner[outer.size()] == '.';
    };
    for (const auto &[other, output] : outputs_)
        if (below(path, other) || below(other, path))
            throw invalid(
                text(named(path), " and ", named(other), " lie one below the other; each has a place of its own"));
}

void Loop::set_part(Replica &replica, std::string_view path, Tensor tensor, int32_t aggregation) {
    if (&replica.strategy() != strategy_.get()) throw invalid("the loop belongs to another strategy than this replica");
    if (path.empty()) throw invalid("path is \"\", and an output has a name");
    check_path(path);
    check_aggregation(aggregation);
    if (aggregation == MDIST_AGGREGATION_NONE)
        throw invalid(text(named(path),
                           " is set in a step with aggregation NONE, which is for values of all replicas: "
                           "make it a result of the run, and set that by mdist_loop_set_output"));
    if (strategy_->session() != nullptr && strategy_->worker_count() > 1)
        throw Failure(MDIST_ERR_UNSUPPORTED, text(named(path),
                                                  " is set in a step that a client leads, and the loop is "
                                                  "the client's alone; make it a result of the step, and "
                                                  "set that by mdist_loop_set_output"))
            .reason("in_graph");
    const std::lock_guard lock(mutex_);
    if (over_) throw too_late(path);
    Parts &own = parts_[replica.local_index()];
    own.aggregations.insert_or_assign(std::string(path), aggregation);
    own.tensors.push_back({std::string(path), std::move(tensor)});
}

/// What replicas have set in their steps becomes outputs of the loop.
void Loop::collect() {
    std::vector<Parts> set_in_steps(parts_.size());
    {
        const std::lock_guard lock(mutex_);
        set_in_steps.swap(parts_);
    }
    std::vector<Part> parts;
    for (Parts &each : set_in_steps) parts.push_back(sorted_part(std::move(each.tensors)));
    const uint32_t first = strategy_->first_replica_id();
    for (uint32_t local = 1; local < parts.size(); ++local)
        require_same_paths("what steps put out", parts[0], text("on replica ", first), parts[local],
                           text("on replica ", first + local));
    for (std::size_t i = 0; i < parts[0].size(); ++i) {
        const std::string &path = parts[0][i].path;
        std::vector<Part> tensors;
        for (const Part &part : parts) tensors.push_back({{std::string(), part[i].tensor}});
        set(path, regroup(named(path), std::move(tensors), first), aggregation_of(set_in_steps, path));
    }
}

/// What all replicas say of an output that they have set.
int32_t Loop::aggregation_of(const std::vector<Parts> &parts, const std::string &path) const {
    const int32_t aggregation = parts[0].aggregations.at(path);
    for (uint32_t local = 1; local < parts.size(); ++local)
        if (parts[local].aggregations.at(path) != aggregation)
            throw Failure(MDIST_ERR_MISMATCH,
                          text(named(path), " has aggregation ", aggregation, " on replica ",
                               strategy_->first_replica_id(), " and ", parts[local].aggregations.at(path),
                               " on replica ", strategy_->first_replica_id() + local, "; it must be one"))
                .reason("different_calls");
    return aggregation;
}

/// The leaves of outputs, and where none was set the initial ones.
ValuePointer Loop::gathered(const Outputs &outputs) const {
    std::vector<Leaf> leaves;
    for (const auto &[path, output] : outputs) leaves.push_back({path, output.value});
    for (std::size_t i = 0; initial_ && i < initial_->leaves().size(); ++i)
        if (!output_at(outputs, initial_->leaves()[i].path)) leaves.push_back(initial_->leaves()[i]);
    if (leaves.empty()) return structure_of({});
    try {
        return structure_of(std::move(leaves));
    } catch (Failure &failure) {
        throw std::move(failure).about("outputs");
    }
}

/// The output that a leaf belongs to; nullptr: none.
const Loop::Output *Loop::output_at(const Outputs &outputs, std::string_view leaf) {
    for (;;) {
        const auto found = outputs.find(leaf);
        if (found != outputs.end()) return &found->second;
        const std::size_t dot = leaf.rfind('.');
        if (dot == std::string_view::npos) return nullptr;
        leaf = leaf.substr(0, dot);
    }
}

ValuePointer Loop::aggregate(const ValuePointer &value, int32_t aggregation) const {
    const Asker asker(*strategy_, CallKind::kRunSteps, timeout_ns_);
    switch (aggregation) {
        case MDIST_AGGREGATION_SUM:
        case MDIST_AGGREGATION_MEAN:
            return reduce_values(*strategy_, asker.with("outputs, "), op_of(aggregation), {value}, {Target::here()})[0];
        case MDIST_AGGREGATION_ONLY_FIRST_REPLICA:
            return first_value(*strategy_, asker.with("outputs of replica 0"), *value);
        default:
            return value;
    }
}

/// What is reduced is reduced by all workers.
void Loop::agree_on(const Outputs &outputs) const {
    Workers *const workers = strategy_->workers();
    if (workers == nullptr) return;
    std::string subject = "outputs";
    for (const auto &[path, output] : outputs)
        if (output.aggregation != MDIST_AGGREGATION_NONE) subject += text(" \"", path, "\" by ", output.aggregation);
    Call call;
    call.kind = CallKind::kRunSteps;
    call.subject = std::hash<std::string>()(subject);
    call.subject_text = subject.c_str();
    workers->gather(call, nullptr, 0, strategy_->timeout_or_own(timeout_ns_));
}

/// With the turn.
void Loop::finish() {
    Outputs outputs;
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
        outputs.swap(outputs_);
    }
    std::vector<Leaf> all = gathered(outputs)->leaves();
    agree_on(outputs);
    for (int32_t aggregation = MDIST_AGGREGATION_SUM; aggregation <= MDIST_AGGREGATION_ONLY_FIRST_REPLICA;
         ++aggregation) {
        std::vector<Leaf> some;
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const Output *const output = output_at(outputs, all[i].path);
            if (output == nullptr || output->aggregation != aggregation) continue;
            some.push_back(all[i]);
            places.push_back(i);
        }
        if (some.empty()) continue;
        // Not all leaves of a tree, and so perhaps none by itself; nobody looks at it as one.
        const ValuePointer reduced = aggregate(std::make_shared<Value>(std::move(some)), aggregation);
        for (std::size_t i = 0; i < places.size(); ++i) all[places[i]].value = reduced->leaves()[i].value;
    }
    const std::lock_guard lock(mutex_);
    result_ = std::make_shared<Value>(std::move(all));
}

ValuePointer Loop::outputs() const {
    const std::lock_guard lock(mutex_);
    if (!result_)
        throw Failure(MDIST_ERR_FAILED_PRECONDITION, "the loop is not over; its outputs are there when it is")
            .reason("loop_running");
    return result_;
}

} // namespace mdist
