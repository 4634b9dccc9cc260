// SPDX-License-Identifier: Apache-2.0
// Listener: the socket at which a reactor accepts connections, and its pauses when there are no descriptors left. With
// the reactor's lock held.
#pragma once

#include <cstdint>
#include <string>

#include "comm/membership/descriptors.h"
#include "comm/membership/world.h"

namespace mdist {

class Listener {
  public:
    /// To be watched by `epoll`, as `id`.
    Listener(int epoll, uint64_t id) : epoll_(epoll), id_(id) {}

    /// In place of what was listened at before. Throws RESOURCE (`address_in_use`), CONFIG (`address_not_local`). The
    /// true endpoint.
    Endpoint listen_at(const Endpoint &at);
    /// The next one who came, and from where; none: nobody, or a pause begins.
    Descriptor accept(uint64_t now_ns, std::string &host);
    /// When a pause ends; UINT64_MAX: there is none.
    uint64_t resumes_at_ns() const { return resumes_at_ns_; }
    void resume_if_due(uint64_t now_ns);

  private:
    bool watch() noexcept;
    void pause(uint64_t now_ns, int error);

    const int epoll_;
    const uint64_t id_;
    Descriptor descriptor_;
    uint64_t resumes_at_ns_ = UINT64_MAX;
    bool told_ = false; // that there is a pause
};

} // namespace mdist
