// SPDX-License-Identifier: Apache-2.0
// Elements brought to the GPUs of the replicas that get them.
#pragma once

#include "data/dataset.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace mdist {

/// The same elements: number n is copied to GPU `gpus[n % gpus.size()]`, on a stream of the iterator's own, and is
/// there when it comes out. -1: it stays on the host.
std::shared_ptr<const Dataset> make_placed(std::shared_ptr<const Dataset> source, std::vector<int32_t> gpus);

/// Zeros on a GPU; -1: on the host.
Tensor zeros_on(int32_t gpu, int32_t dtype, const Shape &shape);

} // namespace mdist
