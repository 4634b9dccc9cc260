// SPDX-License-Identifier: Apache-2.0
// Results: memory for many tensors that are created together, on one device.
//
// A thousand small results would cost more to allocate than to compute. They therefore share pieces of memory; a piece
// is freed with the last of its tensors, but not before this object. A large result has its own memory. One thread.
#pragma once

#include "device/tensor.h"
#include "util/round_up.h"

#include <cstddef>
#include <vector>

namespace mdist {

class Results {
  public:
    explicit Results(Device &device) : device_(device), place_(device.place()) {}

    /// Announces a tensor of `bytes` bytes. Announce all tensors before allocating the first.
    void expect(std::size_t bytes) { expected_ += shares(bytes) ? round_up(bytes, kLine) : 0; }
    /// Allocates a tensor with undefined content. Throws OUT_OF_MEMORY.
    Tensor allocate(int32_t dtype, const Shape &shape, std::size_t bytes);
    /// The same, of the type and shape of `like`, which has `bytes` bytes.
    Tensor allocate_like(const Tensor &like, std::size_t bytes) {
        if (!shares(bytes) || bytes == 0) return Tensor::allocate(device_, like.dtype(), like.shape());
        void *const data = share_of(bytes);
        return Tensor::view_like(like, data, pieces_.back(), place_);
    }
    /// Whether a tensor of so many bytes shares its memory with others.
    static bool shares(std::size_t bytes) { return bytes <= kLargestShare; }

  private:
    static constexpr std::size_t kLargestShare = 262144;
    static constexpr std::size_t kPiece = std::size_t{4} << 20; // most memory that one small result can keep alive
    static constexpr std::size_t kLine = 64;

    void *share_of(std::size_t bytes);

    Device &device_;
    const Place place_;
    std::size_t expected_ = 0; // bytes still to come in pieces
    std::vector<Memory> pieces_;
    std::size_t left_ = 0; // bytes left in the last piece
    char *next_ = nullptr;
};

} // namespace mdist
