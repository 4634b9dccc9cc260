// SPDX-License-Identifier: Apache-2.0
// Merging: all local replicas meet, replica 0 runs the merge function while the others stand by for nested runs, and
// each takes its own part of what came out.
#include "strategy/steps/merge.h"

#include "strategy/context.h"
#include "strategy/strategy.h"
#include "strategy/values/regroup.h"
#include "strategy/values/structure.h"
#include "util/callback.h"
#include "util/dtype.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

/// A tensor's dtype; of a structure nothing, since regrouping says more about paths that differ.
int32_t dtype_of(const Part &argument) {
    return argument.size() == 1 && argument[0].path.empty() ? argument[0].tensor.dtype() : 0;
}

uint64_t shape_of_merge(const std::vector<Part> &arguments, std::size_t result_count) {
    uint64_t hash = result_count;
    for (const Part &argument : arguments) hash = hash * 31 + static_cast<uint64_t>(dtype_of(argument));
    return hash * 1024 + arguments.size();
}

std::string summary_of_merge(const std::vector<Part> &arguments, std::size_t result_count) {
    constexpr std::size_t kShown = 4;
    std::string out = text(arguments.size(), " arguments");
    for (std::size_t i = 0; i < std::min(arguments.size(), kShown); ++i)
        out +=
            text(i == 0 ? ": " : ", ", dtype_of(arguments[i]) == 0 ? "structure" : dtype_name(dtype_of(arguments[i])));
    if (arguments.size() > kShown) out += ", ...";
    return out + text("; ", result_count, " results");
}

} // namespace

void meet_to_merge(Group &group, const Replica &replica, CallKind kind, std::size_t result_count, uint64_t timeout_ns) {
    replica.finish_device();
    const std::string summary = summary_of_merge(replica.merge_arguments, result_count);
    Call call;
    call.kind = kind;
    call.subject = shape_of_merge(replica.merge_arguments, result_count);
    call.subject_text = summary.c_str();
    group.meet(replica.local_index(), call, timeout_ns);
}

void take_merged(Replica &replica) {
    replica.merged = replica.frame().shared.merged;
}

void Strategy::merge(Replica &replica, const Merge &merge, std::vector<Part> arguments, std::size_t result_count,
                     uint64_t timeout_ns) {
    replica.await_turn("mdist_merge_call");
    if (replica.entered) return merge_entered(replica, merge, std::move(arguments), result_count, timeout_ns);
    replica.merge_arguments = std::move(arguments);
    meet_to_merge(group_, replica, CallKind::kMerge, result_count, timeout_ns);

    if (replica.local_index() == 0)
        run_merge(replica, merge, result_count);
    else
        team_->serve(replica.local_index());

    if (replica.frame().shared.merge_failed)
        throw Failure(MDIST_ERR_ABORTED, "the merge function failed; mdist_run returns why").reason("step_failed");
    take_merged(replica);
}

/// The same for a replica on a thread of the caller.
void Strategy::merge_entered(Replica &replica, const Merge &merge, std::vector<Part> arguments,
                             std::size_t result_count, uint64_t timeout_ns) {
    std::vector<ValuePointer> regrouped;
    open_runs_.open_merge(replica, CallKind::kMerge, std::move(arguments), result_count, timeout_ns,
                          [&](const std::vector<ValuePointer> &values) { regrouped = values; });
    open_runs_.close_merge(replica, "mdist_merge_call", result_count, [&] {
        std::vector<ValuePointer> merged(result_count);
        if (replica.local_index() != 0) return merged;
        const Context context(*this, Context::Kind::kMerge);
        const int32_t code = merge(regrouped, merged);
        if (code != 0) throw callback_returned("the merge function", code);
        return merged;
    });
}

/// Replica 0's part. Whatever happens, the others go on afterwards.
void Strategy::run_merge(Replica &replica, const Merge &merge, std::size_t result_count) {
    Frame::Shared &shared = replica.frame().shared;
    shared.merge_failed = true;
    struct Resumption {
        Strategy &strategy;
        const bool &failed;
        ~Resumption() {
            // Before the others go on and say that the merge failed: the cause must be the first they see. What has not
            // been released by now is a lack of memory.
            if (failed) strategy.group_.release(Failure(MDIST_ERR_OUT_OF_MEMORY, "out of memory"));
            strategy.team_->resume();
        }
    };
    const Resumption resumption{*this, shared.merge_failed};
    shared.merged.assign(result_count, nullptr);
    try {
        const Context context(*this, Context::Kind::kMerge);
        const int32_t code = merge(regroup(replica.frame(), replica.merge_arguments.size()), shared.merged);
        if (code != 0) throw callback_returned("the merge function", code);
        check_merged(shared.merged);
    } catch (const Failure &failure) {
        release_failure(group_, "mdist_merge_call", replica.id(), failure);
        throw;
    } catch (const std::exception &) {
        throw; // the library's own: no memory
    } catch (...) {
        release_callback(group_, "mdist_merge_call", replica.id(), 0,
                         [] { return std::string("the merge function ended its thread"); });
        throw;
    }
    shared.merge_failed = false;
}

void Strategy::check_merged(const std::vector<ValuePointer> &merged) const {
    for (std::size_t i = 0; i < merged.size(); ++i) {
        if (!merged[i]) continue;
        visit_leaves(*merged[i], [&](const Value &leaf, std::size_t) {
            leaf.check_whole();
            const std::size_t count = leaf.tensors().size();
            if (leaf.kind() == MDIST_VALUE_PLAIN || count == local_replica_count()) return;
            throw Failure(MDIST_ERR_CALLBACK, text("the merge function gave result ", i, " with ", count,
                                                   " tensors for ", local_replica_count(), " local replicas"));
        });
    }
}

std::vector<ValuePointer> Strategy::regroup(Frame &frame, std::size_t count) {
    std::vector<ValuePointer> values;
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<Part> parts;
        for (uint32_t local = 0; local < local_replica_count(); ++local)
            parts.push_back(frame.replica(local).merge_arguments[i]);
        ValuePointer value =
            mdist::regroup(text("argument ", i, " of the merge"), std::move(parts), first_replica_id());
        values.push_back(value ? std::move(value) : structure_of({}));
    }
    return values;
}

} // namespace mdist
