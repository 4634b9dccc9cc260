// SPDX-License-Identifier: Apache-2.0
// Cutting: how the elements that a worker reads are cut into the sub-batches of its replicas.
#pragma once

#include "data/distribute/slices.h"

#include <memory>
#include <string>
#include <vector>

namespace mdist {

struct Cutting {
    enum class Kind {
        kNone,      // elements are sub-batches already
        kStream,    // consecutive rows, `sizes` in turn, across the borders of batches (TensorFlow: rebatch)
        kSlices,    // each batch in slices, as `slicing` says (TensorFlow: legacy rebatch, then shard)
        kSelection, // whole elements: of each `slicing.shares.slices` in a row, those numbered `slicing.own`
    };
    Kind kind = Kind::kNone;
    std::vector<uint64_t> sizes = {};
    Slicing slicing = {};

    std::shared_ptr<const Dataset> applied(const std::shared_ptr<const Dataset> &mine) const;
    /// Returns the rows of this worker's successive sub-batches, up to where the pattern repeats, for batches of
    /// `batch_size`. Empty if they are not known.
    std::vector<uint64_t> rows(uint64_t batch_size) const;
    std::string text() const;
};

/// `shared`: whether all workers read the same and each takes its part (policy DATA). Throws INVALID_ARGUMENT.
Cutting choose_cutting(const InputLayout &layout, const Dealing &dealing, bool shared,
                       std::optional<uint64_t> batch_size);

} // namespace mdist
