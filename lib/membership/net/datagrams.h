// SPDX-License-Identifier: Apache-2.0
// Datagrams: the UDP socket of a reactor. A datagram that cannot be sent is lost, as any datagram may be. Call it with
// the reactor's lock held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "membership/net/descriptors.h"
#include "membership/net/world.h"

namespace mdist {

class Datagrams {
  public:
    /// `epoll` watches the socket as `id`.
    Datagrams(int epoll, uint64_t id) : epoll_(epoll), id_(id) {}

    /// Opens a socket there, and closes the one before. Returns false, with nothing open, if the system refuses.
    bool open_at(const Endpoint &at);
    void send(const Endpoint &to, std::string_view bytes) noexcept;
    /// Passes some of the datagrams that have come to `take`. Cuts off what is longer than kMostBytes.
    template <class Take>
    void read_some(Take take) {
        char buffer[kMostBytes];
        for (int count = 0; count < kMostReads; ++count) {
            const auto datagram = receive(buffer);
            if (!datagram) return;
            take(*datagram);
        }
    }

  private:
    static constexpr std::size_t kMostBytes = 256;
    static constexpr int kMostReads = 16; // in a row, before the connections get their turn
    std::optional<std::string_view> receive(char (&buffer)[kMostBytes]);

    const int epoll_;
    const uint64_t id_;
    Descriptor descriptor_;
};

} // namespace mdist
