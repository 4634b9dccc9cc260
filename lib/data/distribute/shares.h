// SPDX-License-Identifier: Apache-2.0
// Shares: how many rows of a batch go into each of its slices. Numbers alone, the same on every worker.
#pragma once

#include "data/distribute/plan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mdist {

struct Shares {
    enum class Rule {
        kCeiling,  // ceil(rows / slices) each, later ones fewer or none: TensorFlow's, for batches of any size
        kEven,     // they differ by one at most: TensorFlow's, where the size is known
        kEqual,    // as many for each as can be, and what is left over for nobody
        kWeighted, // in proportion; what then is left over to the largest remainders, of equal ones the first
    };
    Rule rule = Rule::kCeiling;
    uint64_t slices = 1;
    uint64_t turn = 0;                // kEven: by how many slices it is turned to the left
    std::vector<double> weights = {}; // kWeighted: one for each slice, not all 0

    std::vector<uint64_t> of(uint64_t rows) const;
    /// "ceil(rows / 4) each"
    std::string text() const;
};

/// Rows of the successive sub-batches of `layout.worker`, again and again: the first `layout.replicas` are its first
/// step's. They add up to `batch_size`, as do those of all workers in each step; any two differ by one at most.
std::vector<uint64_t> batch_sizes_for_worker(uint64_t batch_size, const InputLayout &layout);

/// Rows of the elements of `dataset`, but maybe the last, if that can be told from how it is made.
std::optional<uint64_t> batch_size_of(const Dataset &dataset);

} // namespace mdist
