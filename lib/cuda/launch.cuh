// SPDX-License-Identifier: Apache-2.0
// Launches a kernel, given its address and one parameter, or loads it. Returns the error of this call alone, without
// looking at the runtime's last error.
#pragma once

#include "cuda/launch.h"

namespace mdist::cuda {

template <typename Parameter>
int launch(void (*kernel)(Parameter), const Parameter &parameter, Grid grid) {
    void *arguments[] = {const_cast<Parameter *>(&parameter)};
    return cudaLaunchKernel(reinterpret_cast<const void *>(kernel), dim3(grid.blocks), dim3(kThreads), arguments, 0,
                            grid.stream);
}

/// Loads a kernel into the current context.
template <typename Parameter>
int load(void (*kernel)(Parameter)) {
    cudaFuncAttributes attributes = {};
    return cudaFuncGetAttributes(&attributes, reinterpret_cast<const void *>(kernel));
}

} // namespace mdist::cuda
