// SPDX-License-Identifier: Apache-2.0
// What GPUs there are, in words, for people who look why something does not run where they thought. Any thread.
#pragma once

#include <string>

namespace mdist {

/// A line for each GPU, and one about NCCL; or why there are no GPUs. Asks the module for everything, NCCL too.
std::string describe_gpus();

} // namespace mdist
