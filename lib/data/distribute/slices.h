// SPDX-License-Identifier: Apache-2.0
// Cuts batches into slices. A slice never joins rows of two batches.
#pragma once

#include "data/distribute/shares.h"

#include <memory>
#include <vector>

namespace mdist {

/// How each batch is cut, and which of its slices come out, in which order.
struct Slicing {
    Shares shares = {};
    std::vector<uint64_t> own = {};
    /// The replica id that each slice is for, if a batch makes a step of the whole job. The slices of `own` then come
    /// with the rows of every replica (Element::step_rows). Empty otherwise.
    std::vector<uint64_t> replicas = {};
};

/// Makes a dataset of slices of the batches of `source`. The slices are views. If no slice of a batch would have a row,
/// kEqual leaves the batch out; the other rules give slices of no rows. Iterating throws INVALID_ARGUMENT for a batch
/// whose components differ in rows.
std::shared_ptr<Dataset> make_slices(std::shared_ptr<const Dataset> source, Slicing slicing);

} // namespace mdist
