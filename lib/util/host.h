// SPDX-License-Identifier: Apache-2.0
// Which host a process runs on, as far as memory can be shared there.
#pragma once

#include <string>

namespace mdist {

/// The same text for processes that can reach each other by pid on one running kernel: its boot id, the network and the
/// pid namespace. Containers with a network of their own so count as hosts of their own. Empty where the system does
/// not tell. Reads files each time.
std::string host_identity();

} // namespace mdist
