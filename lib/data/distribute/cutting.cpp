// SPDX-License-Identifier: Apache-2.0
#include "data/distribute/cutting.h"

#include "data/distribute/turns.h"
#include "data/transforms.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <numeric>

namespace mdist {
namespace {

/// Which of the slices of a batch that all see are this worker's, replica after replica.
std::vector<uint64_t> own_slices(const InputLayout &layout, bool by_replica) {
    std::vector<uint64_t> own;
    for (uint64_t i = 0; i < layout.replicas; ++i)
        own.push_back(by_replica ? layout.worker * layout.replicas + i : layout.worker + i * layout.workers);
    return own;
}

std::vector<uint64_t> all_slices(const InputLayout &layout) {
    std::vector<uint64_t> all(layout.total());
    std::iota(all.begin(), all.end(), 0);
    return all;
}

/// Whom the slices of a batch that all see are for, by id.
std::vector<uint64_t> replica_of_each(const InputLayout &layout, bool by_replica) {
    std::vector<uint64_t> replicas = all_slices(layout);
    for (uint64_t &slice : replicas)
        if (!by_replica) slice = slice % layout.workers * layout.replicas + slice / layout.workers;
    return replicas;
}

/// A worker of slow devices takes fewer rows of its own in each step, and so is longer about them.
Cutting weighted_stream(const InputLayout &layout, const Dealing &dealing, std::optional<uint64_t> batch_size) {
    if (!batch_size)
        throw invalid(
            "weights need a batch size that is known beforehand where workers do not share batches; end with "
            "mdist_dataset_batch, or take policy DATA");
    const std::vector<uint64_t> all =
        Shares{Shares::Rule::kWeighted, layout.total(), 0, dealing.weights}.of(*batch_size);
    const auto begin_of = [&](uint64_t worker) {
        return all.begin() + static_cast<std::ptrdiff_t>(worker * layout.replicas);
    };
    for (uint64_t worker = 0; worker < layout.workers; ++worker)
        if (std::all_of(begin_of(worker), begin_of(worker + 1), [](uint64_t rows) { return rows == 0; }))
            throw invalid(text("by these weights no row of a batch of ", *batch_size, " is for worker ", worker,
                               "; it needs larger weights, or a larger batch"));
    return {.kind = Cutting::Kind::kStream, .sizes = {begin_of(layout.worker), begin_of(layout.worker + 1)}};
}

Cutting slices(const InputLayout &layout, const Dealing &dealing, bool shared, Shares::Rule rule) {
    Cutting cutting = {.kind = Cutting::Kind::kSlices};
    Slicing &slicing = cutting.slicing;
    slicing.shares.rule = rule;
    slicing.shares.slices = layout.total();
    if (!shared) {
        // A batch of its own lasts a worker for as many steps as there are workers, each with other slices that are
        // larger.
        slicing.own = all_slices(layout);
        slicing.shares.turn = layout.worker * layout.replicas;
        return cutting;
    }
    slicing.own = own_slices(layout, dealing.by_replica);
    slicing.replicas = replica_of_each(layout, dealing.by_replica);
    for (const uint64_t replica : slicing.replicas)
        if (!dealing.weights.empty()) slicing.shares.weights.push_back(dealing.weights[replica]);
    return cutting;
}

Cutting whole_elements(const InputLayout &layout, const Dealing &dealing, bool shared) {
    if (!shared || layout.workers == 1) return {};
    Cutting cutting = {.kind = Cutting::Kind::kTurns};
    cutting.slicing.shares.slices = dealing.by_replica ? layout.total() : layout.workers;
    cutting.slicing.own = dealing.by_replica ? own_slices(layout, true) : std::vector<uint64_t>{layout.worker};
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
        case Kind::kTurns:
            return make_turns(mine, slicing.shares.slices, slicing.own);
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
            return "consecutive rows, whatever the borders of batches";
        case Kind::kSlices:
            return mdist::text("each batch in ", slicing.shares.slices, " slices: ", slicing.shares.text());
        case Kind::kTurns:
            return mdist::text("whole elements: of each ", slicing.shares.slices, " in a row those of its own");
    }
    return "";
}

} // namespace mdist
