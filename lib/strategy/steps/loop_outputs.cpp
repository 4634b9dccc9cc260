// SPDX-License-Identifier: Apache-2.0
// Outputs of a loop: set in both contexts, and aggregated when the loop is over.
#include "comm/workers/workers.h"
#include "strategy/job/call_functions.h"
#include "strategy/job/context.h"
#include "strategy/steps/loop.h"
#include "strategy/values/cross.h"
#include "strategy/values/structure.h"
#include "util/dtype.h"
#include "util/text.h"

#include <mdist/variable.h>

namespace mdist {
namespace {

void check_aggregation(int32_t aggregation) {
    if (aggregation < MDIST_AGGREGATION_NONE || aggregation > MDIST_AGGREGATION_ONLY_FIRST_REPLICA)
        throw invalid(
            text("aggregation is ", aggregation,
                 ", which is not a valid aggregation; use MDIST_AGGREGATION_NONE (0) to ONLY_FIRST_REPLICA (3)"));
}

int32_t op_of(int32_t aggregation) {
    return aggregation == MDIST_AGGREGATION_MEAN ? MDIST_MEAN : MDIST_SUM;
}

std::string named(std::string_view path) {
    return text("output \"", path, '"');
}

Failure too_late(std::string_view path) {
    return Failure(MDIST_ERR_FAILED_PRECONDITION, text(named(path), " was set too late: the loop has ended"))
        .reason("loop_over");
}

} // namespace

void Loop::set(std::string_view path, ValuePointer value, int32_t aggregation) {
    require_cross_replica(*job_, "mdist_loop_set_output", "Call mdist_replica_set_output");
    if (path.empty()) throw invalid("path is \"\", but an output needs a name");
    check_path(path);
    check_aggregation(aggregation);
    visit_leaves(*value, [&](const Value &leaf, std::size_t) {
        leaf.check_count(replicas_);
        if (aggregation == MDIST_AGGREGATION_ONLY_FIRST_REPLICA) leaf.check_no_rows();
        if (aggregation == MDIST_AGGREGATION_SUM || aggregation == MDIST_AGGREGATION_MEAN)
            check_reduces(op_of(aggregation), leaf);
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

/// Throws unless the output looks like the initial value of its path.
void Loop::check_like_initial(std::string_view path, const Value &value) const {
    if (!initial_) return;
    const ValuePointer like = initial_at(path);
    if (leaf_count(*like) != leaf_count(value) || like->is_structure() != value.is_structure())
        throw Failure(MDIST_ERR_MISMATCH, text(named(path), " has ", leaf_count(value),
                                               " leaves, but its initial value has ", leaf_count(*like)))
            .reason("different_paths");
    visit_leaves(value, [&](const Value &leaf, std::size_t index) {
        const std::string what = named(path);
        const Tensor &before = leaf_of(*like, leaf_path(value, index), what).tensors()[0];
        for (const Tensor &now : leaf.tensors())
            if (now.dtype() != before.dtype() || !(now.shape() == before.shape()))
                throw Failure(MDIST_ERR_MISMATCH,
                              text(what, " is ", dtype_name(now.dtype()), ' ', now.shape().text(),
                                   ", but its initial value is ", dtype_name(before.dtype()), ' ',
                                   before.shape().text(), "; an output must keep its type and shape"))
                    .reason(now.dtype() == before.dtype() ? "different_shapes" : "different_dtypes");
    });
}

/// Throws if one output lies below another.
void Loop::check_stands_apart(std::string_view path) const {
    const auto below = [](std::string_view inner, std::string_view outer) {
        return inner.size() > outer.size() && inner.substr(0, outer.size()) == outer && inner[outer.size()] == '.';
    };
    for (const auto &[other, output] : outputs_)
        if (below(path, other) || below(other, path))
            throw invalid(text(named(path), " and ", named(other),
                               " overlap: one path is a prefix of the other. Give each output its own path"));
}

void Loop::set_part(Replica &replica, std::string_view path, Tensor tensor, int32_t aggregation) {
    if (&replica.job() != job_.get()) throw invalid("the loop belongs to another strategy than this replica");
    job_->elastic.require_generation(generation_, "the loop");
    if (path.empty()) throw invalid("path is \"\", but an output needs a name");
    check_path(path);
    check_aggregation(aggregation);
    if (aggregation == MDIST_AGGREGATION_NONE)
        throw invalid(text(named(path),
                           " is set in a step with aggregation NONE, which needs the values of all replicas. Make it a "
                           "result of the run, and set that with mdist_loop_set_output"));
    if (job_->reach.in_graph() && job_->replicas.worker_count() > 1)
        throw Failure(MDIST_ERR_UNSUPPORTED,
                      text(named(path),
                           " is set in a step that a client leads, but only the client has the loop. Make it a result "
                           "of the step, and set that with mdist_loop_set_output"))
            .reason("in_graph");
    const std::lock_guard lock(mutex_);
    if (over_) throw too_late(path);
    Parts &own = parts_[replica.local_index()];
    own.aggregations.insert_or_assign(std::string(path), aggregation);
    own.tensors.push_back({std::string(path), std::move(tensor)});
}

/// Makes outputs of the loop of what replicas have set in their steps.
void Loop::collect() {
    std::vector<Parts> set_in_steps(parts_.size());
    {
        const std::lock_guard lock(mutex_);
        set_in_steps.swap(parts_);
    }
    std::vector<Part> parts;
    for (Parts &each : set_in_steps) parts.push_back(sorted_part(std::move(each.tensors)));
    const uint32_t first = job_->replicas.first_id();
    for (uint32_t local = 1; local < parts.size(); ++local)
        require_same_paths("the outputs of steps", parts[0], text("on replica ", first), parts[local],
                           text("on replica ", first + local));
    for (std::size_t i = 0; i < parts[0].size(); ++i) {
        const std::string &path = parts[0][i].path;
        std::vector<Part> tensors;
        for (const Part &part : parts) tensors.push_back({{std::string(), part[i].tensor}});
        set(path, regroup(named(path), std::move(tensors), job_->replicas.first_id()),
            aggregation_of(set_in_steps, path));
    }
}

/// Returns the aggregation of an output that all replicas have set, on which they must agree.
int32_t Loop::aggregation_of(const std::vector<Parts> &parts, const std::string &path) const {
    const int32_t aggregation = parts[0].aggregations.at(path);
    for (uint32_t local = 1; local < parts.size(); ++local)
        if (parts[local].aggregations.at(path) != aggregation)
            throw Failure(MDIST_ERR_MISMATCH,
                          text(named(path), " has aggregation ", aggregation, " on replica ", job_->replicas.first_id(),
                               " and ", parts[local].aggregations.at(path), " on replica ",
                               job_->replicas.first_id() + local, "; use the same aggregation on all replicas"))
                .reason("different_calls");
    return aggregation;
}

/// Returns the leaves of outputs, and the initial leaves where none was set.
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

/// Returns the output that a leaf belongs to; nullptr: none.
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
    const Asker asker(*job_, calls::kRunSteps, timeout_ns_);
    switch (aggregation) {
        case MDIST_AGGREGATION_SUM:
        case MDIST_AGGREGATION_MEAN:
            return reduce_values(*job_, asker.with("outputs, "), op_of(aggregation), {value.get()},
                                 {Target::here()})[0];
        case MDIST_AGGREGATION_ONLY_FIRST_REPLICA:
            return first_value(*job_, asker.with("outputs of replica 0"), *value);
        default:
            return value;
    }
}

/// Agrees with all workers on the outputs to reduce, since all of them reduce.
void Loop::agree_on(const Outputs &outputs) const {
    Workers *const workers = job_->workers();
    if (workers == nullptr) return;
    std::string subject = "outputs";
    for (const auto &[path, output] : outputs)
        if (output.aggregation != MDIST_AGGREGATION_NONE) subject += text(" \"", path, "\" by ", output.aggregation);
    workers->gather(call_about(&calls::kRunSteps.meet, subject), "", job_->comm.timeout_or_own(timeout_ns_));
}

/// Aggregates the outputs. Needs the turn.
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
        // These are not all leaves of a tree, so perhaps not a tree. Nothing treats this value as one.
        const ValuePointer reduced = aggregate(std::make_shared<Value>(std::move(some)), aggregation);
        for (std::size_t i = 0; i < places.size(); ++i) all[places[i]].value = reduced->leaves()[i].value;
    }
    const std::lock_guard lock(mutex_);
    result_ = std::make_shared<Value>(std::move(all));
}

ValuePointer Loop::outputs() const {
    const std::lock_guard lock(mutex_);
    if (!result_)
        throw Failure(MDIST_ERR_FAILED_PRECONDITION, "the loop has not ended; read its outputs after it has ended")
            .reason("loop_running");
    return result_;
}

} // namespace mdist
