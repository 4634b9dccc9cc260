// SPDX-License-Identifier: Apache-2.0
// Identifies the host of a process, to know which processes can share memory.
#pragma once

#include <string>

namespace mdist {

/// Returns the same text for processes that can reach each other by pid on one running kernel. The text holds the boot
/// id, the network namespace and the pid namespace. So a container with its own network counts as its own host. Returns
/// "" if the system does not tell. Reads files each time.
std::string host_identity();

} // namespace mdist
