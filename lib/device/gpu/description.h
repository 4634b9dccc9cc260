// SPDX-License-Identifier: Apache-2.0
// Describes the GPUs of this host, for people who want to know why something does not run where they expected. Any
// thread.
#pragma once

#include <string>

namespace mdist {

/// One line for each GPU and one about NCCL; or why there are no GPUs. Loads the module for this, and NCCL.
std::string describe_gpus();

} // namespace mdist
