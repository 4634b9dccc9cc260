// SPDX-License-Identifier: Apache-2.0
// Results: memory for many tensors that come into being together, on one device.
//
// A thousand small results would cost more to allocate than to compute, so they lie side by side in pieces of memory
// that they share; a piece goes with the last of its tensors. Large ones have memory of their own. One thread.
#pragma once

#include "device/tensor.h"

#include <cstddef>

namespace mdist {

class Results {
  public:
    explicit Results(Device &device) : device_(device) {}

    /// Says that a tensor of so many bytes will be asked for; all of them before the first is.
    void expect(std::size_t bytes) { expected_ += shares(bytes) ? padded(bytes) : 0; }
    /// Content undefined. Throws OUT_OF_MEMORY.
    Tensor allocate(int32_t dtype, const Shape &shape, std::size_t bytes);

  private:
    static constexpr std::size_t kLargestShare = 262144;
    static constexpr std::size_t kPiece = std::size_t{4} << 20; // what one small result can keep alive at most
    static constexpr std::size_t kLine = 64;

    static bool shares(std::size_t bytes) { return bytes <= kLargestShare; }
    static std::size_t padded(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

    Device &device_;
    std::size_t expected_ = 0; // bytes still to come in pieces
    Memory piece_;
    std::size_t left_ = 0; // of the piece
    char *next_ = nullptr;
};

} // namespace mdist
