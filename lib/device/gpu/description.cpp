// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/description.h"

#include "device/gpu/loader.h"
#include "util/text.h"

namespace mdist {
namespace {

/// CUDA's way of numbering: 13010 is 13.1.
std::string cuda_version(int32_t version) {
    return text(version / 1000, '.', version % 1000 / 10);
}

/// NCCL's way of numbering since 2.9: 22809 is 2.28.9.
std::string nccl_version(int32_t version) {
    return text(version / 10000, '.', version / 100 % 100, '.', version % 100);
}

std::string describe_gpu(const mdist_gpu_api &api, int32_t index) {
    mdist_gpu_info info = {};
    if (const int error = api.device_info(index, &info)) return text("gpu:", index, ": ", api.text(error));
    return text("gpu:", index, ": ", info.name, ", ", info.memory_bytes >> 20, " MiB, at ", info.bus_id,
                ", compute capability ", info.compute_major, '.', info.compute_minor, ", driver for CUDA ",
                cuda_version(info.driver_version), ", runtime ", cuda_version(info.runtime_version));
}

std::string describe_nccl() {
    std::string reason;
    const mdist_nccl_api *api = nccl_api(reason);
    return api != nullptr ? text("NCCL ", nccl_version(api->version)) : text("no NCCL: ", reason);
}

} // namespace

std::string describe_gpus() {
    const GpuSupport &support = gpu_support();
    if (support.count == 0) return support.reason;
    std::string lines;
    for (int32_t i = 0; i < support.count; ++i) lines += describe_gpu(*support.module->gpu, i) + '\n';
    return lines + describe_nccl();
}

} // namespace mdist
