// SPDX-License-Identifier: Apache-2.0
// Layout: which stretch of an arena belongs to whom. First fit into gaps, else at the end. Numbers only, no memory; not
// thread-safe: its owner locks.
#pragma once

#include <cstddef>
#include <map>

namespace mdist {

class Layout {
  public:
    /// Offset of `bytes`, a multiple of kAlignment.
    std::size_t allocate(std::size_t bytes);
    /// Gives back what allocate(bytes) gave at `offset`.
    void release(std::size_t offset, std::size_t bytes) noexcept;
    /// Up to the end of the last stretch in use.
    std::size_t used() const { return used_; }

    static constexpr std::size_t kAlignment = 64;
    /// What an allocation takes up: at least one unit, so that each has an address of its own.
    static std::size_t extent(std::size_t bytes);

  private:
    std::size_t used_ = 0;
    std::map<std::size_t, std::size_t> gaps_; // offset -> bytes; apart from each other, all below used_
};

} // namespace mdist
