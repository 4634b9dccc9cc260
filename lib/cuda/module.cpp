// SPDX-License-Identifier: Apache-2.0
// The only symbol that the module exports.
#include "cuda/errors.h"
#include "cuda/tables.h"

#include <cuda_runtime_api.h>

namespace mdist::cuda {
namespace {

constexpr int kMajor = CUDART_VERSION / 1000;
constexpr int kMinor = CUDART_VERSION % 1000 / 10;
static_assert(kMajor < 100 && kMinor < 10);
constexpr char kName[] = {'C', 'U', 'D', 'A', ' ', '0' + kMajor / 10, '0' + kMajor % 10, '.', '0' + kMinor, '\0'};

mdist_gpu_api make_api() {
    mdist_gpu_api api = {};
    api.kind_size = sizeof api;
    api.kind = kind_of;
    api.text = text_of;
    fill_devices(api);
    fill_memory(api);
    fill_streams(api);
    fill_kernels(api);
    return api;
}

} // namespace
} // namespace mdist::cuda

extern "C" __attribute__((visibility("default"))) const mdist_gpu_module *mdist_gpu_module_get(void) __asm__(
    MDIST_GPU_MODULE_SYMBOL);

// Its exported C name is also the name of a type, so the function has another name here.
const mdist_gpu_module *mdist_gpu_module_get(void) {
    static const mdist_gpu_api api = mdist::cuda::make_api();
    static const mdist_gpu_module module = {
        MDIST_GPU_MODULE_ABI, sizeof(mdist_gpu_module), MDIST_MODULE_VERSION, mdist::cuda::kName, &api,
        mdist::cuda::nccl,
    };
    return &module;
}
