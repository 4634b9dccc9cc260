// SPDX-License-Identifier: Apache-2.0
// Explains an InputPlan in words.
#pragma once

#include "data/distribute/auto_shard.h"

#include <string>

namespace mdist {

/// "FILE"
const char *policy_name(int32_t policy);

/// Returns lines for people: the policy and its reason, who reads what, how batches are cut, the rows in the first
/// steps, the pipeline.
std::string explain(const InputPlan &plan, const Sharing &sharing, const InputLayout &layout, const Dealing &dealing);

/// Returns the lines that must be the same on all workers.
std::string alike_lines(const InputPlan &plan, const Sharing &sharing, const InputLayout &layout,
                        const Dealing &dealing);

} // namespace mdist
