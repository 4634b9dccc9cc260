// SPDX-License-Identifier: Apache-2.0
// OpenFile: owns the descriptor of a file, socket, pipe or timer, and closes it. One thread at a time.
#pragma once

#include <utility>

#include <unistd.h>

namespace mdist {

class OpenFile {
  public:
    /// -1: none.
    explicit OpenFile(int descriptor = -1) noexcept : descriptor_(descriptor) {}
    OpenFile(OpenFile &&other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    OpenFile &operator=(OpenFile &&other) noexcept { return std::swap(descriptor_, other.descriptor_), *this; }
    ~OpenFile() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }

    bool is_open() const { return descriptor_ >= 0; }
    int get() const { return descriptor_; }

  private:
    int descriptor_;
};

} // namespace mdist
