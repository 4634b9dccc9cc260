// SPDX-License-Identifier: Apache-2.0
// Shares: computes how many rows of a batch go into each of its slices. Only numbers go in, so every worker computes
// the same.
#pragma once

#include "data/distribute/dealing.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mdist {

struct Shares {
    enum class Rule {
        kCeiling,  // ceil(rows / slices) each, the last ones fewer or none: TensorFlow's rule for batches of any size
        kEven,     // they differ by one at most: TensorFlow's rule if the size is known
        kEqual,    // floor(rows / slices) each; the rows that are left are dropped
        kWeighted, // in proportion; the rows that are left go to the largest remainders, of equal ones to the first
    };
    Rule rule = Rule::kCeiling;
    uint64_t slices = 1;
    uint64_t turn = 0;                // kEven: by how many slices the shares are rotated to the left
    std::vector<double> weights = {}; // kWeighted: one for each slice, not all 0

    std::vector<uint64_t> of(uint64_t rows) const;
    /// "ceil(rows / 4) each"
    std::string text() const;
};

/// Returns the rows of the successive sub-batches of `layout.worker`: first those of its replicas in the first step,
/// then those of the next steps. At the end the sizes repeat. In each step the sizes on all workers add up to
/// `batch_size`. Any two sizes differ by one at most, and the sub-batches take turns at being the larger ones.
std::vector<uint64_t> batch_sizes_for_worker(uint64_t batch_size, const InputLayout &layout);

/// Returns the number of rows of each element of `dataset`, except perhaps the last, if the way it is made tells.
std::optional<uint64_t> batch_size_of(const Dataset &dataset);

} // namespace mdist
