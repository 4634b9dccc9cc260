// SPDX-License-Identifier: Apache-2.0
// What a plan says of itself.
#pragma once

#include "data/distribute/auto_shard.h"

#include <string>

namespace mdist {

/// "FILE"
const char *policy_name(int32_t policy);

/// Lines for people: policy and why, who reads what, how batches are cut, rows in the first steps, the pipeline.
std::string explain(const Plan &plan, const Sharing &sharing, const InputLayout &layout, const Dealing &dealing);

/// What of it must be the same on all workers.
std::string alike_lines(const Plan &plan, const Sharing &sharing, const InputLayout &layout, const Dealing &dealing);

} // namespace mdist
