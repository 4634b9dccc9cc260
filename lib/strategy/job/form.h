// SPDX-License-Identifier: Apache-2.0
// Forms a job from the configuration and the environment: joins its workers.
#pragma once

#include "cluster/resolve.h"
#include "device/device.h"

#include <cstdint>
#include <memory>

namespace mdist {

class ElasticMembership;
class Replicas;
class Workers;
struct ElasticSettings;
struct LinkSettings;

/// Joins the other workers of a job with more than one. Returns when all workers have joined. All must have devices of
/// the same kind and the same number of replicas; only a test may ask for different numbers. Throws what Membership
/// throws.
std::unique_ptr<Workers> join_workers(const Config &config, Resolved resolved, uint32_t local_replicas,
                                      mdist_device_kind_t kind, const LinkSettings &settings);

/// Joins an elastic job as far as the store: it may be a newcomer. Throws CONFIG (`elastic_store`) if a worker would
/// serve the store, and what ElasticMembership throws.
std::unique_ptr<ElasticMembership> join_elastic_job(const Config &config, Resolved resolved,
                                                    const ElasticSettings &settings, mdist_device_kind_t kind);

/// Logs who takes part, on which devices, and how workers communicate. `workers` is nullptr if there are no others.
void log_job(const Replicas &replicas, const Workers *workers);

} // namespace mdist
