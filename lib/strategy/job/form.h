// SPDX-License-Identifier: Apache-2.0
// Forms a job from the configuration and the environment: opens its devices and joins its workers.
#pragma once

#include "cluster/devices.h"
#include "cluster/resolve.h"
#include "device/device.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace mdist {

class ElasticMembership;
class Job;
class Workers;
struct ElasticSettings;
struct LinkSettings;

/// What applies to all GPUs of a strategy.
struct GpuSettings {
    bool blocking;
    uint64_t timeout_ns;
};
GpuSettings gpu_settings(const Config &config);
/// Whether the configuration names devices, if only by "auto".
bool names_devices(const Config &config);
/// The devices that it names: all CPUs, or all GPUs that this process has. "auto" is all visible GPUs, else one CPU.
/// Throws as open_devices() does.
std::vector<DeviceName> device_names(const Config &config);
/// Opens a GPU that device_names() may return.
std::shared_ptr<Device> open_gpu(const DeviceName &name, const GpuSettings &settings);

/// Opens one device for each local replica, all on the CPU or all on GPUs. Throws CONFIG if the two are mixed or a
/// device does not exist, and UNSUPPORTED (reason no_gpu) if GPUs are named and there are none.
std::vector<std::shared_ptr<Device>> open_devices(const Config &config);

/// Joins the other workers of a job with more than one. Returns when all workers have joined. All must have devices of
/// the same kind and the same number of replicas; only a test may ask for different numbers. Throws what Membership
/// throws.
std::unique_ptr<Workers> join_workers(const Config &config, Resolved resolved, uint32_t local_replicas,
                                      mdist_device_kind_t kind, const LinkSettings &settings);

/// Joins an elastic job as far as the store: it may be a newcomer. Throws CONFIG (`elastic_store`) if a worker would
/// serve the store, and what ElasticMembership throws.
std::unique_ptr<ElasticMembership> join_elastic_job(const Config &config, Resolved resolved,
                                                    const ElasticSettings &settings, mdist_device_kind_t kind);

/// Logs who takes part, on which devices, and how workers communicate.
void log_job(const Job &job, const Workers *workers);

} // namespace mdist
