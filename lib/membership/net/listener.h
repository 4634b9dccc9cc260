// SPDX-License-Identifier: Apache-2.0
// Listener: the socket at which a reactor accepts connections. It pauses when the process has no descriptors left. Call
// it with the reactor's lock held.
#pragma once

#include <cstdint>
#include <string>

#include "membership/net/descriptors.h"
#include "membership/net/world.h"

namespace mdist {

class Listener {
  public:
    /// `epoll` watches the socket as `id`.
    Listener(int epoll, uint64_t id) : epoll_(epoll), id_(id) {}

    /// Listens there, and no longer at the address before. Returns the true endpoint. Throws RESOURCE
    /// (`address_in_use`), CONFIG (`address_not_local`).
    Endpoint listen_at(const Endpoint &at);
    /// Listens no longer, so that the port is free.
    void close() noexcept;
    /// Accepts the next connection and sets `host` to where it comes from. Returns none if nobody is waiting, or if a
    /// pause begins.
    Descriptor accept(uint64_t now_ns, std::string &host);
    /// When the pause ends; UINT64_MAX if there is no pause.
    uint64_t resumes_at_ns() const { return resumes_at_ns_; }
    void resume_if_due(uint64_t now_ns);

  private:
    bool watch() noexcept;
    void pause(uint64_t now_ns, int error);

    const int epoll_;
    const uint64_t id_;
    Descriptor descriptor_;
    uint64_t resumes_at_ns_ = UINT64_MAX;
    uint64_t tells_at_ns_ = 0; // no pause is logged before; a stranger could cause one each time a descriptor is free
};

} // namespace mdist
