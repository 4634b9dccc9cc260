// SPDX-License-Identifier: Apache-2.0
// Layout: allocates stretches of an arena, first fit into gaps, else at the end. It keeps numbers only, no memory. Not
// thread-safe: its owner locks.
#pragma once

#include <cstddef>
#include <map>

namespace mdist {

class Layout {
  public:
    /// Returns the offset of `bytes` free bytes. It is a multiple of kAlignment.
    std::size_t allocate(std::size_t bytes);
    /// Frees what allocate(bytes) returned as `offset`.
    void release(std::size_t offset, std::size_t bytes) noexcept;
    /// The end of the last stretch in use.
    std::size_t used() const { return used_; }

    static constexpr std::size_t kAlignment = 64;
    /// The space that an allocation takes: at least one unit, so that each has its own address.
    static std::size_t extent(std::size_t bytes);

  private:
    std::size_t used_ = 0;
    std::map<std::size_t, std::size_t> gaps_; // offset -> bytes; no two are adjacent, all lie below used_
};

} // namespace mdist
