// SPDX-License-Identifier: Apache-2.0
// Region: host memory that grows and never moves, for one device's share of something. (A GPU will bring its own kind.)
//
// Address space for as much as the host could ever hold is reserved at the start and given memory as it is needed, so
// what lies in it keeps its address. New memory is zero. Not thread-safe: its owner locks.
#pragma once

#include <cstddef>

namespace mdist {

class Region {
  public:
    /// Throws OUT_OF_MEMORY.
    Region();
    ~Region();
    Region(const Region &) = delete;
    Region &operator=(const Region &) = delete;

    char *base() const { return base_; }
    /// Makes the first `bytes` usable, if they are not yet; throws OUT_OF_MEMORY and changes nothing.
    void commit(std::size_t bytes);

  private:
    char *base_ = nullptr;
    std::size_t reserved_ = 0;
    std::size_t committed_ = 0;
};

} // namespace mdist
