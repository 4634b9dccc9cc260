// SPDX-License-Identifier: Apache-2.0
#include "strategy/values/results.h"

#include <algorithm>

namespace mdist {

Tensor Results::allocate(int32_t dtype, const Shape &shape, std::size_t bytes) {
    const std::size_t share = padded(bytes);
    if (!shares(bytes) || share == 0) return Tensor::allocate(device_, dtype, shape);
    if (share > left_) {
        left_ = std::max(std::min(expected_, kPiece), share);
        piece_ = device_.allocate(left_);
        next_ = static_cast<char *>(piece_.get());
    }
    Tensor tensor = Tensor::view(next_, dtype, shape, piece_, device_.place());
    next_ += share;
    left_ -= share;
    expected_ -= std::min(expected_, share);
    return tensor;
}

} // namespace mdist
