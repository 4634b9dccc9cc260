// SPDX-License-Identifier: Apache-2.0
// Calls: the calls that all parties have posted, each in its own place. Borrows them. Any thread may use it while
// nobody posts.
#pragma once

#include "comm/call/call.h"

namespace mdist {

class Calls {
  public:
    /// `first` and the pointers after it are `stride` bytes apart.
    Calls(const Call *const *first, std::size_t stride, uint32_t count)
        : first_(reinterpret_cast<const char *>(first)), stride_(stride), count_(count) {}

    uint32_t count() const { return count_; }
    const Call &operator[](uint32_t party) const {
        return **reinterpret_cast<const Call *const *>(first_ + party * stride_);
    }

  private:
    const char *first_;
    std::size_t stride_;
    uint32_t count_;
};

} // namespace mdist
