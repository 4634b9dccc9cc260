// SPDX-License-Identifier: Apache-2.0
#include "strategy/values/results.h"

#include <algorithm>

namespace mdist {

Tensor Results::allocate(int32_t dtype, const Shape &shape, std::size_t bytes) {
    if (!shares(bytes) || bytes == 0) return Tensor::allocate(device_, dtype, shape);
    void *const data = share_of(bytes);
    return Tensor::view(data, dtype, shape, pieces_.back(), place_);
}

/// Memory in the last piece, which is a new one if the bytes do not fit any more.
void *Results::share_of(std::size_t bytes) {
    const std::size_t share = round_up(bytes, kLine);
    if (share > left_) {
        const std::size_t bytes_of_piece = std::max(std::min(expected_, kPiece), share);
        next_ = static_cast<char *>(pieces_.emplace_back(device_.allocate(bytes_of_piece)).get());
        left_ = bytes_of_piece;
    }
    void *const data = next_;
    next_ += share;
    left_ -= share;
    expected_ -= std::min(expected_, share);
    return data;
}

} // namespace mdist
