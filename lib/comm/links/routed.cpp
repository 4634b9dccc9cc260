// SPDX-License-Identifier: Apache-2.0
#include "comm/links/routed.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

class Routed final : public Link {
  public:
    Routed(std::vector<std::unique_ptr<Link>> links, std::vector<Route> routes)
        : links_(std::move(links)), routes_(std::move(routes)) {}

    uint32_t self() const override { return links_[0]->self(); }
    uint32_t parties() const override { return links_[0]->parties(); }

    void send(uint32_t peer, uint64_t tag, const void *data, std::size_t bytes, Pending &pending) override {
        link(peer, bytes).send(peer, tag, data, bytes, pending);
    }
    void receive(uint32_t peer, uint64_t tag, void *data, std::size_t bytes, Pending &pending) override {
        link(peer, bytes).receive(peer, tag, data, bytes, pending);
    }

    void progress() override {
        for (const auto &link : links_) link->progress();
    }

    /// No two links can be waited for at once: each in its turn for a while, so that none is forgotten for long.
    void wait(uint64_t timeout_ns) override {
        if (links_.size() == 1) return links_[0]->wait(timeout_ns);
        constexpr uint64_t kTurnNs = 100'000;
        links_[turn_++ % links_.size()]->wait(std::min(timeout_ns, kTurnNs));
    }
    void interrupt() noexcept override {
        for (const auto &link : links_) link->interrupt();
    }
    void close() noexcept override {
        for (const auto &link : links_) link->close();
    }

  private:
    Link &link(uint32_t peer, std::size_t bytes) const {
        const Route &route = routes_[peer];
        return bytes >= route.large_from ? *route.large : *route.small;
    }

    std::vector<std::unique_ptr<Link>> links_;
    std::vector<Route> routes_;
    std::size_t turn_ = 0;
};

} // namespace

std::unique_ptr<Link> make_routed_link(std::vector<std::unique_ptr<Link>> links, std::vector<Route> routes) {
    return std::make_unique<Routed>(std::move(links), std::move(routes));
}

} // namespace mdist
