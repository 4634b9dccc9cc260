// SPDX-License-Identifier: Apache-2.0
#include "data/distribute/cutting.h"

#include "data/distribute/slices.h"
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

/// What each slice weighs: as the replica that gets it.
std::vector<double> by_slice(const InputLayout &layout, const Dealing &dealing) {
    if (dealing.by_replica) return dealing.weights;
    std::vector<double> weights;
    for (uint64_t slice = 0; slice < layout.total(); ++slice)
        weights.push_back(dealing.weights[slice % layout.workers * layout.replicas + slice / layout.workers]);
    return weights;
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
    cutting.shares.rule = rule;
    cutting.shares.slices = layout.total();
    if (shared) {
        cutting.own = own_slices(layout, dealing.by_replica);
        for (uint64_t worker = 0; worker < layout.workers; ++worker) {
            const auto theirs = own_slices({layout.workers, worker, layout.replicas}, dealing.by_replica);
            cutting.everybodys.insert(cutting.everybodys.end(), theirs.begin(), theirs.end());
        }
        return cutting;
    }
    // A batch of its own lasts a worker for as many steps as there are workers, each with other slices that are larger.
    cutting.own = all_slices(layout);
    cutting.shares.turn = layout.worker * layout.replicas;
    return cutting;
}

Cutting whole_elements(const InputLayout &layout, const Dealing &dealing, bool shared) {
    if (!shared || layout.workers == 1) return {};
    Cutting cutting = {.kind = Cutting::Kind::kTurns};
    cutting.shares.slices = dealing.by_replica ? layout.total() : layout.workers;
    cutting.own = dealing.by_replica ? own_slices(layout, true) : std::vector<uint64_t>{layout.worker};
    return cutting;
}

} // namespace

Cutting choose_cutting(const InputLayout &layout, const Dealing &dealing, bool shared,
                       std::optional<uint64_t> batch_size) {
    if (layout.total() == 1) return {};
    if (!dealing.split) return whole_elements(layout, dealing, shared);
    if (!dealing.weights.empty()) {
        if (!shared) return weighted_stream(layout, dealing, batch_size);
        Cutting cutting = slices(layout, dealing, shared, Shares::Rule::kWeighted);
        cutting.shares.weights = by_slice(layout, dealing);
        return cutting;
    }
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
            return make_slices(mine, shares, own, everybodys);
        case Kind::kTurns:
            return make_turns(mine, shares.slices, own);
    }
    return mine;
}

std::vector<uint64_t> Cutting::rows(uint64_t batch_size) const {
    if (kind != Kind::kSlices) return sizes;
    const std::vector<uint64_t> all = shares.of(batch_size);
    std::vector<uint64_t> mine;
    for (const uint64_t slice : own) mine.push_back(all[slice]);
    return mine;
}

std::string Cutting::text() const {
    switch (kind) {
        case Kind::kNone:
            return "whole elements, one after the other to its replicas in turn";
        case Kind::kStream:
            return "consecutive rows, whatever the borders of batches";
        case Kind::kSlices:
            return mdist::text("each batch in ", shares.slices, " slices: ", shares.text());
        case Kind::kTurns:
            return mdist::text("whole elements: of each ", shares.slices, " in a row those of its own");
    }
    return "";
}

} // namespace mdist
