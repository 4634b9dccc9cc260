// SPDX-License-Identifier: Apache-2.0
// Joining a job: from what the configuration and the environment say to the workers one can call.
#pragma once

#include "cluster/resolve.h"

#include <mdist/tensor.h>

#include <cstdint>
#include <memory>

namespace mdist {

class Workers;

/// For a worker that is not alone. Returns when all workers have joined, each with as many replicas, on devices of the
/// same kind; throws what Membership throws.
std::unique_ptr<Workers> join_job(const Config &config, Resolved resolved, uint32_t local_replicas,
                                  mdist_device_kind_t kind);

} // namespace mdist
