// SPDX-License-Identifier: Apache-2.0
#include "strategy/steps/merge.h"

#include "strategy/job/release.h"
#include "strategy/values/regroup.h"
#include "strategy/values/structure.h"
#include "util/dtype.h"
#include "util/forced_unwind.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

/// A tensor's dtype. Nothing for a structure: regrouping has the better message about paths that differ.
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

/// Throws unless every local replica can take its part of the merged values.
void check_merged(const std::vector<ValuePointer> &merged, uint32_t local_replicas) {
    for (std::size_t i = 0; i < merged.size(); ++i) {
        if (!merged[i]) continue;
        visit_leaves(*merged[i], [&](const Value &leaf, std::size_t) {
            leaf.check_no_rows();
            const std::size_t count = leaf.tensors().size();
            if (leaf.kind() == MDIST_VALUE_PLAIN || count == local_replicas) return;
            throw Failure(MDIST_ERR_CALLBACK, text("the merge function gave result ", i, " with ", count,
                                                   " tensors for ", local_replicas, " local replicas"));
        });
    }
}

} // namespace

void meet_to_merge(const Replica &replica, CallKind kind, std::size_t result_count, uint64_t timeout_ns) {
    replica.finish_device();
    const std::string summary = summary_of_merge(replica.merge_arguments, result_count);
    const Call call = call_about(kind, summary, shape_of_merge(replica.merge_arguments, result_count));
    replica.job().comm.group().meet(replica.local_index(), call, timeout_ns);
}

std::vector<ValuePointer> regrouped_arguments(Frame &frame, uint32_t local_replicas) {
    std::vector<ValuePointer> values;
    const std::size_t count = frame.replica(0).merge_arguments.size();
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<Part> parts;
        for (uint32_t local = 0; local < local_replicas; ++local)
            parts.push_back(frame.replica(local).merge_arguments[i]);
        ValuePointer value = regroup(text("argument ", i, " of the merge"), std::move(parts),
                                     frame.replica(0).job().replicas.first_id());
        values.push_back(value ? std::move(value) : structure_of({}));
    }
    return values;
}

void keep_merged(Replica &replica, const char *function, FunctionRef<std::vector<ValuePointer>()> merge) {
    Common &common = replica.common();
    try {
        std::vector<ValuePointer> merged = merge();
        check_merged(merged, replica.job().replicas.local_count());
        common.merged = std::move(merged);
    } catch (const Failure &failure) {
        release_merge(replica, function, failure, common.refusals);
        throw;
    } catch (const std::exception &) {
        throw; // the library's own failure: out of memory
    } catch (...) {
        release_callback(replica.job().comm.group(), function, replica.id(), 0,
                         [] { return std::string("the merge function ended its thread"); });
        rethrow();
    }
    common.merge_failed = false;
}

} // namespace mdist
