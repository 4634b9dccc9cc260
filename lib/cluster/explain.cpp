// SPDX-License-Identifier: Apache-2.0
#include "cluster/explain.h"

#include "util/text.h"
#include "util/utf8.h"

namespace mdist {

namespace {

std::string position(const Resolved &resolved) {
    switch (resolved.kind) {
        case Resolved::Kind::kLocal:
            return "this process alone: no cluster";
        case Resolved::Kind::kEvaluator:
            return text(task_text(*resolved.task), ", alone beside the cluster of ", resolved.source, " (",
                        resolved.origin, ")");
        case Resolved::Kind::kMember:
            break;
    }
    return text(resolved.names[resolved.rank], ", rank ", resolved.rank, " of ", resolved.size, ", by ",
                resolved.source, " (", resolved.origin, ")");
}

std::string meeting(const Resolved &resolved) {
    if (resolved.store_by_pmi) return "at the address that worker 0 publishes by PMI";
    return text("at ", resolved.store, resolved.serves_store ? ", which this worker serves" : "");
}

} // namespace

std::string explain(const Resolved &resolved) {
    std::string lines = text(position(resolved), '\n');
    if (resolved.size > 1) lines += text("workers meet ", meeting(resolved), '\n');
    if (!resolved.job.empty()) lines += text("job ", in_quotes(resolved.job), ", restart ", resolved.restart, '\n');
    for (const std::string &line : resolved.passed_over) lines += text("passed over ", line, '\n');
    return lines;
}

std::string explain(const Cluster &cluster) {
    if (cluster.empty()) return "this process alone: no cluster\n";
    std::string counts;
    for (TaskType type : kTaskTypes)
        if (std::uint32_t count = cluster.task_count(type); count > 0)
            counts += text(counts.empty() ? "" : ", ", count, ' ', task_type_name(type));
    return text("a cluster of ", counts, "; this process is ",
                cluster.task() ? task_text(*cluster.task()) : std::string("none of its tasks"), '\n');
}

} // namespace mdist
