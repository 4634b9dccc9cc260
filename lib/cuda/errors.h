// SPDX-License-Identifier: Apache-2.0
// What CUDA's error numbers mean.
#pragma once

#include "device/gpu/module.h"

namespace mdist::cuda {

/// A mdist_gpu_error_kind.
int kind_of(int error);
/// "cudaErrorIllegalAddress: an illegal memory access was encountered". Static.
const char *text_of(int error);

} // namespace mdist::cuda
