// SPDX-License-Identifier: Apache-2.0
#include "data/distribute/explain.h"

#include "data/dataset.h"
#include "data/distribute/cutting.h"
#include "data/distribute/describe.h"
#include "util/text.h"

#include <algorithm>

namespace mdist {

const char *policy_name(int32_t policy) {
    switch (policy) {
        case MDIST_SHARD_OFF:
            return "OFF";
        case MDIST_SHARD_AUTO:
            return "AUTO";
        case MDIST_SHARD_FILE:
            return "FILE";
        case MDIST_SHARD_DATA:
            return "DATA";
        default:
            return "MARKED";
    }
}

namespace {

const char *meaning_of(int32_t policy) {
    switch (policy) {
        case MDIST_SHARD_OFF:
            return "each reads everything";
        case MDIST_SHARD_FILE:
            return "each reads files of its own";
        case MDIST_SHARD_DATA:
            return "each reads everything and keeps its part";
        default:
            return "each reads its own shard, where the program asked for one";
    }
}

std::string policy_line(const Sharing &sharing, int32_t asked) {
    return text("policy: ", policy_name(asked),
                asked == sharing.policy ? "" : text(" -> ", policy_name(sharing.policy)),
                sharing.why.empty() ? "" : ": ", sharing.why, "\n");
}

std::string workers_line(const Sharing &sharing, const InputLayout &layout) {
    const uint32_t own = layout.own().count();
    const std::string replicas = text(own, own == 1 ? " replica" : " replicas");
    if (layout.workers() == 1) return text("workers: 1, with ", replicas, "\n");
    if (!layout.spans.are_even()) return text(layout.text(), "; ", meaning_of(sharing.policy), "\n");
    return text("workers: ", layout.workers(), ", with ", replicas, " each; ", meaning_of(sharing.policy), "\n");
}

std::string files_line(const FileList &list, const InputLayout &layout) {
    if (!list.files) return text("files: ", list.reader, ", number of files not known\n");
    std::vector<uint64_t> each;
    for (uint32_t worker = 0; worker < layout.workers(); ++worker)
        each.push_back(shard_size(*list.files, {layout.spans, worker}));
    return text("files: ", list.reader, " of ", *list.files,
                layout.workers() == 1 ? "" : text("; each worker ", listed(each)), "\n");
}

std::string batch_line(const InputPlan &plan) {
    return plan.global_batch ? text("batch: ", *plan.global_batch, " rows\n") : "batch: size not known beforehand\n";
}

std::string order_of(const Cutting &cutting, const InputLayout &layout, bool by_replica) {
    if (layout.workers() == 1 || cutting.slicing.replicas.empty()) return "";
    if (by_replica) return "; slice j is for replica j";
    return text("; slice j is for worker j mod ", layout.workers(), ", there for each replica in turn");
}

/// Returns the rows of the first steps, up to where they repeat, as far as they fit on a page.
std::string first_steps(const InputPlan &plan, const InputLayout &layout, const Dealing &dealing) {
    constexpr uint64_t kMostReplicas = 16, kMostSteps = 4;
    if (!plan.global_batch || layout.total() > kMostReplicas) return "";
    const bool shared = plan.policy == MDIST_SHARD_DATA;
    std::vector<std::string> lines;
    for (uint32_t worker = 0; worker < layout.workers(); ++worker) {
        const InputLayout there = {layout.spans, worker};
        const Cutting cutting = choose_cutting(there, dealing, shared, plan.global_batch);
        const std::vector<uint64_t> rows = cutting.rows(*plan.global_batch);
        if (rows.empty()) return "";
        const std::size_t replicas = there.own().count();
        if (worker == 0) lines.resize(kMostSteps);
        lines.resize(std::min(rows.size() / replicas, lines.size()));
        for (std::size_t i = 0; i < lines.size() * replicas; ++i) lines[i / replicas] += text(" ", rows[i]);
    }
    std::string all = "rows of each replica of the job, by id, of full batches:\n";
    for (std::size_t step = 0; step < lines.size(); ++step) all += text("  step ", step, ":", lines[step], "\n");
    return all;
}

} // namespace

std::string explain(const InputPlan &plan, const Sharing &sharing, const InputLayout &layout, const Dealing &dealing) {
    const bool shared = sharing.policy == MDIST_SHARD_DATA;
    const Cutting cutting = choose_cutting(layout, dealing, shared, plan.global_batch);
    std::string all = policy_line(sharing, dealing.policy) + workers_line(sharing, layout);
    for (const FileList &list : sharing.lists) all += files_line(list, layout);
    all += batch_line(plan);
    all += text("sub-batches: ", cutting.text(), order_of(cutting, layout, dealing.goes_by_replica(layout)), "\n");
    all += first_steps(plan, layout, dealing);
    return text(all, "how worker ", layout.worker, " makes them:\n", pipeline_of(*plan.parts));
}

std::string alike_lines(const InputPlan &plan, const Sharing &sharing, const InputLayout &layout,
                        const Dealing &dealing) {
    const bool shared = sharing.policy == MDIST_SHARD_DATA;
    std::string all = text("policy ", policy_name(sharing.policy), "\n", batch_line(plan));
    for (const FileList &list : sharing.lists) all += files_line(list, layout);
    return all + text("sub-batches: ", choose_cutting(layout, dealing, shared, plan.global_batch).text(), "\n");
}

} // namespace mdist
