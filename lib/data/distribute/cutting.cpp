// SPDX-License-Identifier: Apache-2.0
#include "data/distribute/cutting.h"

#include "data/transforms.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <numeric>

namespace mdist {
namespace {

/// Returns which slices of a batch are this worker's, one for each replica. All workers see the batch.
std::vector<uint64_t> own_slices(const InputLayout &layout, bool by_replica) {
    std::vector<uint64_t> own;
    for (uint32_t i = 0; i < layout.own().count(); ++i)
        own.push_back(by_replica ? layout.own().first + i : layout.worker + i * layout.workers());
    return own;
}

std::vector<uint64_t> all_slices(const InputLayout &layout) {
    std::vector<uint64_t> all(layout.total());
    std::iota(all.begin(), all.end(), 0);
    return all;
}

/// Returns the replica id that each slice of a batch is for. All workers see the batch.
std::vector<uint64_t> replica_of_each(const InputLayout &layout, bool by_replica) {
    std::vector<uint64_t> replicas = all_slices(layout);
    for (uint64_t &slice : replicas)
        if (!by_replica)
            slice = layout.spans[static_cast<uint32_t>(slice % layout.workers())].first + slice / layout.workers();
    return replicas;
}

/// Each worker reads batches of its own. A worker of slow devices takes fewer rows in each step, so its batches last
/// longer.
Cutting weighted_stream(const InputLayout &layout, const Dealing &dealing, std::optional<uint64_t> batch_size) {
    if (!batch_size)
        throw invalid(
            "weights need a known batch size where workers do not share batches. End the dataset with "
            "mdist_dataset_batch, or use policy DATA");
    const std::vector<uint64_t> all =
        Shares{Shares::Rule::kWeighted, layout.total(), 0, dealing.weights}.of(*batch_size);
    const auto rows_of = [&](uint32_t worker) -> std::vector<uint64_t> {
        return {all.begin() + layout.spans[worker].first, all.begin() + layout.spans[worker].last};
    };
    for (uint32_t worker = 0; worker < layout.workers(); ++worker) {
        const std::vector<uint64_t> rows = rows_of(worker);
        if (std::count(rows.begin(), rows.end(), 0u) == static_cast<std::ptrdiff_t>(rows.size()))
            throw invalid(text("worker ", worker, " gets 0 of the ", *batch_size,
                               " rows of each batch with these weights. Raise its weights or the batch size"));
    }
    return {.kind = Cutting::Kind::kStream, .sizes = rows_of(layout.worker)};
}

Cutting slices(const InputLayout &layout, const Dealing &dealing, bool shared, Shares::Rule rule) {
    Cutting cutting = {.kind = Cutting::Kind::kSlices};
    Slicing &slicing = cutting.slicing;
    slicing.shares.rule = rule;
    slicing.shares.slices = layout.total();
    if (!shared) {
        // Each worker cuts batches of its own, and one batch lasts for several steps: as many as there are workers, if
        // all have the same number of replicas. `turn` puts the larger slices elsewhere on each worker.
        slicing.own = all_slices(layout);
        slicing.shares.turn = layout.own().first;
        return cutting;
    }
    slicing.own = own_slices(layout, dealing.goes_by_replica(layout));
    slicing.replicas = replica_of_each(layout, dealing.goes_by_replica(layout));
    for (const uint64_t replica : slicing.replicas)
        if (!dealing.weights.empty()) slicing.shares.weights.push_back(dealing.weights[replica]);
    return cutting;
}

Cutting whole_elements(const InputLayout &layout, const Dealing &dealing, bool shared) {
    if (!shared || layout.workers() == 1) return {};
    const bool by_replica = dealing.goes_by_replica(layout);
    Cutting cutting = {.kind = Cutting::Kind::kSelection};
    cutting.slicing.shares.slices = by_replica ? layout.total() : layout.workers();
    cutting.slicing.own = by_replica ? own_slices(layout, true) : std::vector<uint64_t>{layout.worker};
    return cutting;
}

} // namespace

Cutting choose_cutting(const InputLayout &layout, const Dealing &dealing, bool shared,
                       std::optional<uint64_t> batch_size) {
    if (layout.total() == 1) return {};
    if (!dealing.split) return whole_elements(layout, dealing, shared);
    if (!dealing.weights.empty())
        return shared ? slices(layout, dealing, shared, Shares::Rule::kWeighted)
                      : weighted_stream(layout, dealing, batch_size);
    if (dealing.uneven == MDIST_UNEVEN_SPREAD) return slices(layout, dealing, shared, Shares::Rule::kEven);
    if (dealing.uneven == MDIST_UNEVEN_DROP) return slices(layout, dealing, shared, Shares::Rule::kEqual);
    if (shared || batch_size.value_or(0) == 0) return slices(layout, dealing, shared, Shares::Rule::kCeiling);
    return {.kind = Cutting::Kind::kStream, .sizes = batch_sizes_for_worker(*batch_size, layout)};
}

std::shared_ptr<const Dataset> Cutting::applied(const std::shared_ptr<const Dataset> &mine) const {
    switch (kind) {
        case Kind::kNone:
            return mine;
        case Kind::kStream:
            return make_rebatch(mine, sizes, false);
        case Kind::kSlices:
            return make_slices(mine, slicing);
        case Kind::kSelection:
            return make_selection(mine, slicing.shares.slices, slicing.own);
    }
    return mine;
}

std::vector<uint64_t> Cutting::rows(uint64_t batch_size) const {
    if (kind != Kind::kSlices) return sizes;
    const std::vector<uint64_t> all = slicing.shares.of(batch_size);
    std::vector<uint64_t> mine;
    for (const uint64_t slice : slicing.own) mine.push_back(all[slice]);
    return mine;
}

std::string Cutting::text() const {
    switch (kind) {
        case Kind::kNone:
            return "whole elements, one after the other to its replicas in turn";
        case Kind::kStream:
            return "consecutive rows, across the borders of batches";
        case Kind::kSlices:
            return mdist::text("each batch in ", slicing.shares.slices, " slices: ", slicing.shares.text());
        case Kind::kSelection:
            return mdist::text("whole elements: its own of every ", slicing.shares.slices, " in a row");
    }
    return "";
}

} // namespace mdist
