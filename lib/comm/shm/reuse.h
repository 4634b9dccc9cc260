// SPDX-License-Identifier: Apache-2.0
// Reuse: how many bytes of results a worker writes until it writes to the same memory again. A program that reduces its
// gradients bucket by bucket needs as much of the caches as one that reduces them at once. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace mdist {

class Reuse {
  public:
    /// Notes results of that many bytes, which begin at `output`. Returns their size and that of all results since the
    /// last ones that began there, or of the last kKept ones if none of those did.
    uint64_t note(const void *output, uint64_t bytes) noexcept {
        uint64_t written = bytes;
        for (std::size_t age = 1; age <= kKept; ++age) {
            const Results &earlier = kept_[(next_ - age) % kKept];
            if (earlier.output == output) break;
            written += earlier.bytes;
        }
        kept_[next_++ % kKept] = {output, bytes};
        return written;
    }

  private:
    static constexpr std::size_t kKept = 32; // a power of two, so that the index may wrap

    struct Results {
        const void *output = nullptr;
        uint64_t bytes = 0;
    };
    std::array<Results, kKept> kept_{};
    std::size_t next_ = 0;
};

} // namespace mdist
