// SPDX-License-Identifier: Apache-2.0
#include "cuda/errors.h"

#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <string>

namespace mdist::cuda {
namespace {

// As numbers: the headers of CUDA 12 lack them, and the driver may be newer than the headers.
constexpr int kContained = 226;        // cudaErrorContained
constexpr int kTensorMemoryLeak = 721; // cudaErrorTensorMemoryLeak

} // namespace

int kind_of(int error) {
    switch (error) {
        case cudaSuccess:
            return MDIST_GPU_OK;
        case cudaErrorNotReady:
            return MDIST_GPU_NOT_READY;
        case cudaErrorMemoryAllocation:
            return MDIST_GPU_OUT_OF_MEMORY;
        case cudaErrorInsufficientDriver:
        case cudaErrorNoDevice:
        case cudaErrorStubLibrary:
        case cudaErrorInitializationError:
        case cudaErrorSystemNotReady:
        case cudaErrorSystemDriverMismatch:
        case cudaErrorCompatNotSupportedOnDevice:
        case cudaErrorUnknown:
            return MDIST_GPU_NO_DEVICE;
        case cudaErrorInvalidValue:
        case cudaErrorInvalidDevice:
        case cudaErrorInvalidDevicePointer:
        case cudaErrorInvalidHostPointer:
        case cudaErrorInvalidMemcpyDirection:
        case cudaErrorInvalidPitchValue:
        case cudaErrorInvalidResourceHandle:
        case cudaErrorNotSupported:
            return MDIST_GPU_INVALID;
        // These errors stay with the context until the process ends.
        case cudaErrorECCUncorrectable:
        case cudaErrorNvlinkUncorrectable:
        case cudaErrorHardwareStackError:
        case cudaErrorIllegalAddress:
        case cudaErrorIllegalInstruction:
        case cudaErrorInvalidAddressSpace:
        case cudaErrorInvalidPc:
        case cudaErrorMisalignedAddress:
        case cudaErrorLaunchFailure:
        case cudaErrorLaunchTimeout:
        case cudaErrorAssert:
        case cudaErrorContextIsDestroyed:
        case cudaErrorExternalDevice:
        case cudaErrorMpsClientTerminated:
        case cudaErrorCudartUnloading:
        case kContained:
        case kTensorMemoryLeak:
            return MDIST_GPU_FATAL;
        default:
            return MDIST_GPU_FAILED;
    }
}

const char *text_of(int error) {
    const auto number = static_cast<cudaError_t>(error);
    try {
        // Never destroyed: a text may be asked for at the very end.
        static auto &texts = *new std::map<int, std::string>;
        static auto &mutex = *new std::mutex;
        const std::lock_guard lock(mutex);
        std::string &text = texts[error];
        if (text.empty()) text = std::string(cudaGetErrorName(number)) + ": " + cudaGetErrorString(number);
        return text.c_str();
    } catch (...) {
        return cudaGetErrorName(number);
    }
}

} // namespace mdist::cuda
