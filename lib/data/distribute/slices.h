// SPDX-License-Identifier: Apache-2.0
// Batches cut into slices, which never join rows of two batches.
#pragma once

#include "data/distribute/shares.h"

#include <memory>
#include <vector>

namespace mdist {

/// Each batch of `source` cut by `shares`; its slices `own` come out, in that order, as views of the batch. A batch of
/// which no slice would have a row comes out of kEqual as nothing, and else as slices of no rows. While iterated, a
/// batch whose components differ in rows is INVALID_ARGUMENT.
/// With `everybodys` slices, one for each replica of the job by id, each slice comes with all rows of its step
/// (Element::step_rows).
std::shared_ptr<Dataset> make_slices(std::shared_ptr<const Dataset> source, Shares shares, std::vector<uint64_t> own,
                                     std::vector<uint64_t> everybodys = {});

} // namespace mdist
