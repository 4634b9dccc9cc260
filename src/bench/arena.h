// SPDX-License-Identifier: Apache-2.0
// Arena: the memory that all cases work on, one region per replica; allocated and touched once, before any clock runs.
// Huge pages where the system has some: they help both sides alike, and keep page faults out of the figures.
#pragma once

#include <cstddef>
#include <vector>

namespace mdist {

class Arena {
  public:
    /// Throws std::runtime_error without the memory.
    Arena(std::size_t regions, std::size_t bytes);
    ~Arena();
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;

    std::size_t region_bytes() const { return bytes_; }
    char *region(std::size_t i) const { return regions_[i]; }
    /// Ones in all regions: sums taken in place over and over end in infinity, which takes no longer than any number,
    /// while denormals, and zeros on some processors, take another time.
    void fill();

  private:
    std::size_t bytes_;
    void *mapping_;
    std::size_t mapping_bytes_;
    std::vector<char *> regions_;
};

} // namespace mdist
