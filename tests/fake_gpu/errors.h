// SPDX-License-Identifier: Apache-2.0
// Errors of the simulated GPU: CUDA's numbers, and NCCL's for NCCL's table.
#pragma once

#include "device/gpu/module.h"

namespace fake_gpu {

enum Error : int {
    kOk = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kStubDriver = 34,
    kNoDriver = 35,
    kNoDevice = 100,
    kInvalidDevice = 101,
    kInvalidHandle = 400,
    kNotReady = 600,
    kIllegalAddress = 700,
    kCaptureUnsupported = 900,
    kCaptureInvalidated = 901,
    kCaptureUnjoined = 904,
    kCaptureIsolation = 905,
    kCapturedEvent = 907,
    kUnknown = 999,
};

enum NcclError : int {
    kNcclOk = 0,
    kNcclUnhandledCuda = 1,
    kNcclSystem = 2,
    kNcclInternal = 3,
    kNcclInvalidArgument = 4,
    kNcclInvalidUsage = 5,
    kNcclRemote = 6,
    kNcclInProgress = 7,
};

int kind(int error); // mdist_gpu_error_kind
const char *text(int error);
int nccl_kind(int error);
const char *nccl_text(int error);

} // namespace fake_gpu
