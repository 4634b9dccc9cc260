// SPDX-License-Identifier: Apache-2.0
// One launch, by an address and one parameter. Its error is this launch's alone: the runtime's last one is not looked
// at.
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
