// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/devices.h"

#include "cluster/config.h"
#include "cluster/names.h"
#include "device/gpu/gpu.h"
#include "device/gpu/loader.h"
#include "util/text.h"

#include <algorithm>

namespace mdist {
namespace {

/// The configuration key that names the devices.
const char *key_of(const Config &config) {
    for (const char *key : {"num_gpus", "num_gpus_per_worker"})
        if (config.is_set(key)) return key;
    return "devices";
}

/// All visible GPUs, else one CPU.
std::vector<DeviceName> names_of(const Config &config) {
    std::vector<DeviceName> names = config.devices();
    return lower_case(config.text(key_of(config))) == "auto" ? first_gpus(static_cast<std::size_t>(gpu_support().count))
                                                             : names;
}

Failure wrong(const Config &config, const std::string &what) {
    const char *key = key_of(config);
    return Failure(MDIST_ERR_CONFIG, text(key, " is ", config.text(key), " (", config.origin(key), "): ", what))
        .reason("bad_value");
}

void require_gpu(const Config &config, const DeviceName &name) {
    const GpuSupport &support = gpu_support();
    const char *key = key_of(config);
    if (support.count == 0)
        throw Failure(MDIST_ERR_UNSUPPORTED, text(key, " names ", device_text(name), " (", config.origin(key),
                                                  "), but this process has no GPU: ", support.reason))
            .reason("no_gpu");
    if (name.index >= support.count)
        throw wrong(config, text("there is no gpu:", name.index, "; this process has ",
                                 support.count == 1 ? "gpu:0 alone" : text("gpu:0 to gpu:", support.count - 1)));
}

} // namespace

GpuSettings gpu_settings(const Config &config) {
    const std::string_view blocking = config.text("gpu.blocking");
    return {blocking == "true" || blocking == "1", config.duration_ns("communication.timeout")};
}

bool names_devices(const Config &config) {
    return config.is_set(key_of(config));
}

std::vector<DeviceName> device_names(const Config &config) {
    const std::vector<DeviceName> names = names_of(config);
    const auto is_gpu = [](const DeviceName &name) { return name.kind == DeviceKind::kGpu; };
    const auto gpus = std::count_if(names.begin(), names.end(), is_gpu);
    if (gpus != 0 && gpus != static_cast<std::ptrdiff_t>(names.size()))
        throw wrong(config, "a strategy cannot mix CPU and GPU replicas; name only CPU devices or only GPUs");
    for (const DeviceName &name : names)
        if (is_gpu(name)) require_gpu(config, name);
    return names;
}

std::shared_ptr<Device> open_gpu(const DeviceName &name, const GpuSettings &settings) {
    auto gpu = std::make_shared<Gpu>(name.index, name.logical);
    gpu->set_blocking(settings.blocking);
    gpu->set_timeout(settings.timeout_ns);
    gpu->physical().be_patient(settings.timeout_ns);
    return gpu;
}

std::vector<std::shared_ptr<Device>> open_devices(const Config &config) {
    const GpuSettings settings = gpu_settings(config);
    std::vector<std::shared_ptr<Device>> devices;
    for (const DeviceName &name : device_names(config))
        devices.push_back(name.kind == DeviceKind::kGpu ? open_gpu(name, settings) : make_cpu_device(name.index));
    return devices;
}

} // namespace mdist
