// SPDX-License-Identifier: Apache-2.0
// Batches cut into slices, which never join rows of two batches.
#pragma once

#include "data/distribute/shares.h"

#include <memory>
#include <vector>

namespace mdist {

/// How each batch is cut, and which of its slices come out, in which order.
struct Slicing {
    Shares shares = {};
    std::vector<uint64_t> own = {};
    /// Of batches that make a step of the whole job: whom each slice is for, by id. The slices of `own` then come with
    /// everybody's rows (Element::step_rows).
    std::vector<uint64_t> replicas = {};
};

/// Slices of each batch of `source`, which are views of it. A batch of which no slice would have a row comes out of
/// kEqual as nothing, and else as slices of no rows. While iterated, a batch whose components differ in rows is
/// INVALID_ARGUMENT.
std::shared_ptr<Dataset> make_slices(std::shared_ptr<const Dataset> source, Slicing slicing);

} // namespace mdist
