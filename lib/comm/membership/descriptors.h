// SPDX-License-Identifier: Apache-2.0
// Descriptors: every descriptor that membership has opened, so that a forked child closes its copies: with them it
// would keep the connections of a dead parent alive, and peers would wait for the heartbeat limit to learn of that.
// (It closes only; shutting down would end the parent's connections too.) A descriptor that somebody closed by himself
// is told by its file having changed. Any thread.
#pragma once

#include <utility>

namespace mdist {

/// Lists it and returns it; a negative one is passed through. Throws bad_alloc, having closed it.
int list_descriptor(int descriptor);
/// Closes it and forgets it. A negative one: nothing.
void close_descriptor(int descriptor) noexcept;

/// Owns a listed one.
class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int listed) : number_(listed) {}
    Descriptor(Descriptor &&other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor &operator=(Descriptor &&other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() { close_descriptor(number_); }
    int get() const { return number_; } // -1: none
    int release() { return std::exchange(number_, -1); }

  private:
    int number_ = -1;
};

/// The result of a system call. Throws RESOURCE, "cannot <what>: ...", if it is negative.
int checked(int result, const char *what);

} // namespace mdist
