// SPDX-License-Identifier: Apache-2.0
// Launches a kernel, given its address and one parameter. Returns the error of this launch alone, without looking at
// the runtime's last error.
#pragma once

#include "cuda/launch.h"

namespace mdist::cuda {

template <typename Parameter>
int launch(void (*kernel)(Parameter), const Parameter &parameter, Grid grid) {
    void *arguments[] = {const_cast<Parameter *>(&parameter)};
    return cudaLaunchKernel(reinterpret_cast<const void *>(kernel), dim3(grid.blocks), dim3(kThreads), arguments, 0,
                            grid.stream);
}

} // namespace mdist::cuda
