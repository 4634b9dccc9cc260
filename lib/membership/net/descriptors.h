// SPDX-License-Identifier: Apache-2.0
// Descriptors: lists every descriptor that membership has opened, so that a forked child closes its copies.
//
// With its copies a child would keep the connections of a dead parent alive. Peers would then notice the parent's death
// only at the heartbeat timeout. The child only closes: shutting down would end the parent's connections too. The child
// skips a number whose file has changed, since the program closed that descriptor itself. Any thread.
#pragma once

#include <cstdint>
#include <utility>

namespace mdist {

/// Lists a descriptor and returns it. Returns a negative number as it is. Throws bad_alloc, after closing it.
int list_descriptor(int descriptor);
/// Closes a descriptor and takes it off the list. Does nothing for a negative number.
void close_descriptor(int descriptor) noexcept;

/// Owns a listed descriptor.
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

/// Has epoll report these events of a descriptor under `id`. `operation`: EPOLL_CTL_ADD or EPOLL_CTL_MOD. Returns -1,
/// with errno, if the kernel has no room for that.
int watch_events(int epoll, int operation, int descriptor, uint32_t events, uint64_t id) noexcept;

/// Returns the result of a system call. Throws RESOURCE, "cannot <what>: ...", if it is negative.
int checked(int result, const char *what);

} // namespace mdist
