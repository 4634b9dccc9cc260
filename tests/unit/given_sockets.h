// SPDX-License-Identifier: Apache-2.0
// Sockets for the TCP link that are connected already, or that a test gives it later.
#pragma once

#include "comm/links/tcp.h"

#include <utility>
#include <vector>

#include <unistd.h>

namespace mdist::test {

class GivenSockets final : public SocketSource {
  public:
    /// By peer; the caller's own entry is not used.
    explicit GivenSockets(std::vector<int> sockets) : sockets_(std::move(sockets)) {}
    ~GivenSockets() override {
        for (const int socket : sockets_)
            if (socket >= 0) close(socket);
    }
    void when_news(std::function<void()> call) override { news_ = std::move(call); }
    void ask(uint32_t peer) override { asked_.push_back(peer); }
    int take(uint32_t peer) override { return std::exchange(sockets_[peer], kNotYet); }

    /// Gives the socket, or kGone, to a link that has asked for it.
    void give(uint32_t peer, int socket) {
        sockets_[peer] = socket;
        news_();
    }
    const std::vector<uint32_t> &asked() const { return asked_; }

  private:
    std::vector<int> sockets_;
    std::vector<uint32_t> asked_;
    std::function<void()> news_;
};

inline std::unique_ptr<Link> tcp_link(uint32_t self, const std::vector<int> &sockets, uint64_t awake_ns, bool checksums,
                                      bool drops = false) {
    return make_tcp_link(self, static_cast<uint32_t>(sockets.size()), std::make_unique<GivenSockets>(sockets), awake_ns,
                         checksums, {}, drops);
}

} // namespace mdist::test
