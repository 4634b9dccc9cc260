// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

#include <cstddef>

namespace fake_gpu {
namespace {

struct Row {
    int error;
    int kind;
    const char *text;
};

constexpr Row kErrors[] = {
    {kOk, MDIST_GPU_OK, "fakeSuccess: no error"},
    {kInvalidValue, MDIST_GPU_INVALID, "fakeErrorInvalidValue: invalid argument"},
    {kOutOfMemory, MDIST_GPU_OUT_OF_MEMORY, "fakeErrorMemoryAllocation: out of memory"},
    {kStubDriver, MDIST_GPU_NO_DEVICE, "fakeErrorStubLibrary: CUDA driver is a stub library"},
    {kNoDriver, MDIST_GPU_NO_DEVICE, "fakeErrorInsufficientDriver: CUDA driver version is insufficient"},
    {kNoDevice, MDIST_GPU_NO_DEVICE, "fakeErrorNoDevice: no CUDA-capable device is detected"},
    {kInvalidDevice, MDIST_GPU_INVALID, "fakeErrorInvalidDevice: invalid device ordinal"},
    {kInvalidHandle, MDIST_GPU_INVALID, "fakeErrorInvalidResourceHandle: invalid resource handle"},
    {kNotReady, MDIST_GPU_NOT_READY, "fakeErrorNotReady: device not ready"},
    {kIllegalAddress, MDIST_GPU_FATAL, "fakeErrorIllegalAddress: an illegal memory access was encountered"},
    {kCaptureUnsupported, MDIST_GPU_INVALID, "fakeErrorStreamCaptureUnsupported: not while a stream is captured"},
    {kCaptureInvalidated, MDIST_GPU_INVALID, "fakeErrorStreamCaptureInvalidated: the capture failed earlier"},
    {kCaptureUnjoined, MDIST_GPU_INVALID, "fakeErrorStreamCaptureUnjoined: a stream was not joined to the first"},
    {kCaptureIsolation, MDIST_GPU_INVALID,
     "fakeErrorStreamCaptureIsolation: would depend on work that is not captured"},
    {kCapturedEvent, MDIST_GPU_INVALID, "fakeErrorCapturedEvent: the event was last recorded in a capture"},
    {kUnknown, MDIST_GPU_FAILED, "fakeErrorUnknown: unknown error"},
};

constexpr Row kNcclErrors[] = {
    {kNcclOk, MDIST_GPU_OK, "no error"},
    {kNcclUnhandledCuda, MDIST_GPU_FAILED, "unhandled cuda error"},
    {kNcclSystem, MDIST_GPU_FAILED, "unhandled system error"},
    {kNcclInternal, MDIST_GPU_FAILED, "internal error"},
    {kNcclInvalidArgument, MDIST_GPU_INVALID, "invalid argument"},
    {kNcclInvalidUsage, MDIST_GPU_FAILED, "invalid usage"},
    {kNcclRemote, MDIST_GPU_FAILED, "remote process exited or there was a network error"},
    {kNcclInProgress, MDIST_GPU_NOT_READY, "NCCL operation in progress"},
};

template <std::size_t count>
const Row &row_of(const Row (&rows)[count], int error) {
    static constexpr Row kStrange = {0, MDIST_GPU_FAILED, "an unknown number"};
    for (const Row &row : rows)
        if (row.error == error) return row;
    return kStrange;
}

} // namespace

int kind(int error) {
    return row_of(kErrors, error).kind;
}
const char *text(int error) {
    return row_of(kErrors, error).text;
}
int nccl_kind(int error) {
    return row_of(kNcclErrors, error).kind;
}
const char *nccl_text(int error) {
    return row_of(kNcclErrors, error).text;
}

} // namespace fake_gpu
