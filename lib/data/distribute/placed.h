// SPDX-License-Identifier: Apache-2.0
// Copies elements to the GPUs of the replicas that get them.
#pragma once

#include "data/dataset.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace mdist {

/// Makes a dataset of the same elements. Element n is copied to GPU `gpus[n % gpus.size()]`, on a stream of the
/// iterator's own. The copy is complete when the element comes out. -1: the element stays on the host.
std::shared_ptr<const Dataset> make_placed(std::shared_ptr<const Dataset> source, std::vector<int32_t> gpus);

/// Allocates zeros on a GPU; -1: on the host.
Tensor zeros_on(int32_t gpu, int32_t dtype, const Shape &shape);

} // namespace mdist
