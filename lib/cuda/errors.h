// SPDX-License-Identifier: Apache-2.0
// The meaning of CUDA's error numbers.
#pragma once

#include "device/gpu/module.h"

namespace mdist::cuda {

/// Returns a mdist_gpu_error_kind.
int kind_of(int error);
/// Returns static text: "cudaErrorIllegalAddress: an illegal memory access was encountered".
const char *text_of(int error);

} // namespace mdist::cuda
