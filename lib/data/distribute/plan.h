// SPDX-License-Identifier: Apache-2.0
// Plans how a dataset is dealt out to the workers of a job and their replicas. This is decided once, and every worker
// decides the same.
//
// The decisions are TensorFlow's (auto-shard and rebatch). The plan rewrites the description of the dataset so that it
// yields this worker's sub-batches, replica after replica, step after step, ready for make_dealt (deal.h).
#pragma once

#include "data/distribute/dealing.h"

#include <memory>

namespace mdist {

/// Throws the same on every worker:
/// - INVALID_ARGUMENT for a source that cannot be split (no batch, scalars);
/// - NOT_FOUND for policy FILE without files;
/// - FAILED_PRECONDITION, reason "too_few_files" or, where whole elements are shared out, "too_few_elements".
InputPlan make_plan(std::shared_ptr<const Dataset> source, const InputLayout &layout, const Dealing &dealing);

} // namespace mdist
