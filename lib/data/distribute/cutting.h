// SPDX-License-Identifier: Apache-2.0
// Cutting: how what a worker reads becomes sub-batches of its replicas.
#pragma once

#include "data/distribute/slices.h"

#include <memory>
#include <string>
#include <vector>

namespace mdist {

struct Cutting {
    enum class Kind {
        kNone,   // elements are sub-batches already
        kStream, // consecutive rows, `sizes` in turn, whatever the borders of batches (TensorFlow: rebatch)
        kSlices, // each batch in slices, as `slicing` says (its legacy rebatch, with the shard behind it)
        kTurns,  // whole elements: of each `slicing.shares.slices` in a row those in `slicing.own`
    };
    Kind kind = Kind::kNone;
    std::vector<uint64_t> sizes = {};
    Slicing slicing = {};

    std::shared_ptr<const Dataset> applied(const std::shared_ptr<const Dataset> &mine) const;
    /// Rows of its successive sub-batches, from batches of `batch_size`, until they begin again; empty where they are
    /// not known.
    std::vector<uint64_t> rows(uint64_t batch_size) const;
    std::string text() const;
};

/// `shared`: that all workers read the same, and each takes its part of it (policy DATA). Throws INVALID_ARGUMENT.
Cutting choose_cutting(const InputLayout &layout, const Dealing &dealing, bool shared,
                       std::optional<uint64_t> batch_size);

} // namespace mdist
