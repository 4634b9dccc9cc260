// SPDX-License-Identifier: Apache-2.0
// Single worker: this version trains within one process. Whatever names several workers is refused, since training that
// quietly runs as many separate worlds of one would look right and be wrong. Reads the environment; any thread.
#pragma once

#include "cluster/config.h"

namespace mdist {

/// Throws UNSUPPORTED, reason "several_workers", where the config, or for a config from the environment MDIST_SIZE or
/// TF_CONFIG, names several workers. `strategy: mirrored`, said outright, passes over the environment's.
void refuse_unbuilt(const Config &config);

} // namespace mdist
