// SPDX-License-Identifier: Apache-2.0
// Scratch: memory that schedules work in, kept from one to the next, because fresh pages cost more than what is done in
// them. One schedule at a time.
#pragma once

#include <cstddef>
#include <memory>

namespace mdist {

class Scratch {
  public:
    /// At least so many bytes of any content, until the next call.
    char *take(std::size_t bytes) {
        if (bytes > bytes_) {
            memory_.reset();
            bytes_ = 0;
            memory_ = std::make_unique_for_overwrite<char[]>(bytes);
            bytes_ = bytes;
        }
        return memory_.get();
    }

  private:
    std::unique_ptr<char[]> memory_;
    std::size_t bytes_ = 0;
};

} // namespace mdist
