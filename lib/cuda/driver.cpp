// SPDX-License-Identifier: Apache-2.0
#include "cuda/driver.h"

#include "cuda/errors.h"

#include <atomic>

namespace mdist::cuda {
namespace {

constexpr int32_t kDevices = 256;
std::atomic<CUcontext> contexts[kDevices];
std::atomic<CUcontext> any_context;

template <typename Function>
void find(Driver &driver, Function &function, const char *name, unsigned version) {
    if (driver.error != 0) return;
    void *address = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    driver.error = settled(cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &found));
    if (driver.error == 0 && (found != cudaDriverEntryPointSuccess || address == nullptr))
        driver.error = cudaErrorInsufficientDriver;
    function = reinterpret_cast<Function>(address);
}

Driver find_all() {
    Driver all;
#define MDIST_FIND(name, symbol, version) find(all, all.name, #symbol, version);
    MDIST_DRIVER_FUNCTIONS(MDIST_FIND)
#undef MDIST_FIND
    if (all.error == 0) all.error = all.init(0);
    return all;
}

/// The primary context of a device. It is retained once, for ever.
int context_of(const Driver &driver, int32_t device, CUcontext &context) {
    if (device < 0 || device >= kDevices) return cudaErrorInvalidDevice;
    context = contexts[device].load(std::memory_order_acquire);
    if (context != nullptr) return 0;
    CUdevice handle = 0;
    int error = driver.device_get(&handle, device);
    if (error == 0) error = driver.primary_context_retain(&context, handle);
    if (error != 0) return error;
    contexts[device].store(context, std::memory_order_release);
    any_context.store(context, std::memory_order_release);
    return 0;
}

} // namespace

const Driver &driver() {
    static const Driver all = find_all();
    return all;
}

OnDevice::OnDevice(int32_t device) : error_(driver().error) {
    const Driver &functions = driver();
    if (error_ != 0) return;
    functions.exchange_capture_mode(&mode_); // the runtime's function might make a context on device 0
    CUcontext current = nullptr;
    error_ = functions.context_get(&current);
    if (error_ != 0) return;
    CUcontext wanted = nullptr;
    if (device >= 0) {
        error_ = context_of(functions, device, wanted);
        if (error_ != 0) return;
    } else {
        const CUcontext own = any_context.load(std::memory_order_acquire);
        wanted = current != nullptr && (device != kOwn || own == nullptr) ? current : own;
    }
    if (wanted == current) return;
    error_ = functions.context_push(wanted);
    pushed_ = error_ == 0;
}

OnDevice::~OnDevice() {
    CUcontext popped = nullptr;
    if (pushed_) driver().context_pop(&popped);
    if (driver().error == 0) driver().exchange_capture_mode(&mode_);
}

int settled(int error) {
    if (error != 0 && kind_of(error) != MDIST_GPU_FATAL) static_cast<void>(cudaGetLastError());
    return error;
}

} // namespace mdist::cuda
