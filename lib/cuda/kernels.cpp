// SPDX-License-Identifier: Apache-2.0
#include "cuda/tables.h"

namespace mdist::cuda {

void fill_kernels(mdist_gpu_api &) {}

} // namespace mdist::cuda
