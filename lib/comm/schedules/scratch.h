// SPDX-License-Identifier: Apache-2.0
// Scratch: memory that schedules work in. It is kept from one schedule to the next, because touching fresh pages costs
// more than the work done in them. One schedule at a time.
#pragma once

#include <cstddef>
#include <memory>

namespace mdist {

class Scratch {
  public:
    /// Returns at least `bytes` bytes with any content. They are valid until the next call.
    char *take(std::size_t bytes) {
        if (bytes > bytes_) {
            memory_.reset();
            bytes_ = 0;
            memory_.reset(new char[bytes]);
            bytes_ = bytes;
        }
        return memory_.get();
    }

  private:
    std::unique_ptr<char[]> memory_;
    std::size_t bytes_ = 0;
};

} // namespace mdist
