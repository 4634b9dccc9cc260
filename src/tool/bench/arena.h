// SPDX-License-Identifier: Apache-2.0
// Arena: the memory that all cases use, with one region per replica. It is allocated and touched once, before any clock
// runs. It uses huge pages if the system has some. They help both sides equally, and keep page faults out of the
// figures.
#pragma once

#include <cstddef>
#include <vector>

namespace mdist {

class Arena {
  public:
    /// Throws std::runtime_error if there is not enough memory.
    Arena(std::size_t regions, std::size_t bytes);
    ~Arena();
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;

    std::size_t region_bytes() const { return bytes_; }
    char *region(std::size_t i) const { return regions_[i]; }
    /// Writes ones to all regions. Repeated in-place sums end in infinity, which takes no longer than other numbers.
    /// Denormals, and zeros on some processors, would take a different time.
    void fill();

  private:
    std::size_t bytes_;
    void *mapping_;
    std::size_t mapping_bytes_;
    std::vector<char *> regions_;
};

} // namespace mdist
