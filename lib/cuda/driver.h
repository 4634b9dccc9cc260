// SPDX-License-Identifier: Apache-2.0
// The functions of CUDA's driver that its runtime does not offer. libcuda is never linked: the runtime says where the
// functions are. Any thread.
#pragma once

#include "device/gpu/module.h"

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace mdist::cuda {

// The name here, the driver's name, and the version that its type belongs to.
// clang-format off
#define MDIST_DRIVER_FUNCTIONS(f)                                      \
    f(init, cuInit, 2000)                                              \
    f(device_get, cuDeviceGet, 2000)                                   \
    f(primary_context_retain, cuDevicePrimaryCtxRetain, 7000)          \
    f(context_get, cuCtxGetCurrent, 4000)                              \
    f(context_push, cuCtxPushCurrent, 4000)                            \
    f(context_pop, cuCtxPopCurrent, 4000)                              \
    f(exchange_capture_mode, cuThreadExchangeStreamCaptureMode, 10010) \
    f(pointer_attributes, cuPointerGetAttributes, 7000)                \
    f(granularity, cuMemGetAllocationGranularity, 10020)               \
    f(address_reserve, cuMemAddressReserve, 10020)                     \
    f(address_free, cuMemAddressFree, 10020)                           \
    f(create, cuMemCreate, 10020)                                      \
    f(release, cuMemRelease, 10020)                                    \
    f(map, cuMemMap, 10020)                                            \
    f(unmap, cuMemUnmap, 10020)                                        \
    f(set_access, cuMemSetAccess, 10020)
// clang-format on

struct Driver {
    int error = 0; // why the functions are missing; 0 if they are there
#define MDIST_DECLARE(name, symbol, version) PFN_##symbol##_v##version name = nullptr;
    MDIST_DRIVER_FUNCTIONS(MDIST_DECLARE)
#undef MDIST_DECLARE
};

/// The functions, looked up at the first call.
const Driver &driver();

/// OnDevice: while it exists, the primary context of a device is the thread's current one. Afterwards the previous
/// context is current again, or none if there was none. It switches contexts instead of calling cudaSetDevice(),
/// because setting device 0 again would create a context there that nobody wanted.
///
/// The thread's calls also take no part in what others record. If the program records a stream of its own in CUDA's
/// default mode, calls such as cudaMalloc and cudaEventQuery would otherwise fail on all threads, and spoil that
/// recording. The library's threads make such calls at any time.
class OnDevice {
  public:
    /// `device` -1 keeps the current context; if there is none, it takes some context of this module. kOwn takes one of
    /// this module if there is one, whatever the program has made current.
    static constexpr int32_t kOwn = -2;
    explicit OnDevice(int32_t device);
    ~OnDevice();
    OnDevice(const OnDevice &) = delete;
    OnDevice &operator=(const OnDevice &) = delete;

    int error() const { return error_; }

  private:
    int error_ = 0;
    bool pushed_ = false;
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED; // after the exchange: the thread's previous mode
};

/// Returns the number of an error. If the error is one that can be forgotten, also clears it from the runtime's last
/// error. The driver uses the runtime's numbers.
int settled(int error);

/// The table's streams and events are the runtime's.
inline cudaStream_t of(mdist_gpu_stream *stream) {
    return reinterpret_cast<cudaStream_t>(stream);
}
inline cudaEvent_t of(mdist_gpu_event *event) {
    return reinterpret_cast<cudaEvent_t>(event);
}

/// Calls f() with a device current.
template <typename Function>
int on_device(int32_t device, Function f) {
    const OnDevice on(device);
    return on.error() != 0 ? on.error() : settled(static_cast<int>(f()));
}

} // namespace mdist::cuda
