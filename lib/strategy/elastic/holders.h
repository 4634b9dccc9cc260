// SPDX-License-Identifier: Apache-2.0
// Holders: the workers that keep the parts of another worker's replicas. A pure function; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mdist {

/// Returns the holders of `worker`: `copies` other workers, or all others if there are fewer. Workers on other hosts
/// come first. hosts[rank]: the host's identity; "": not known, and no other worker counts as being there. Workers of
/// one host choose different holders where there are enough. All workers choose the same.
std::vector<uint32_t> choose_holders(const std::vector<std::string> &hosts, uint32_t worker, uint32_t copies);

} // namespace mdist
