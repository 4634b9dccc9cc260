// SPDX-License-Identifier: Apache-2.0
#include "comm/links/routed.h"

#include "comm/links/pollable.h"
#include "util/alertness.h"
#include "util/clock.h"

#include <algorithm>
#include <utility>

#include <poll.h>

namespace mdist {
namespace {

class Routed final : public Link {
  public:
    Routed(std::vector<std::unique_ptr<Link>> links, std::vector<Link *> routes, uint64_t awake_ns)
        : links_(std::move(links)), routes_(std::move(routes)), alertness_(awake_ns) {
        for (const auto &link : links_) pollables_.push_back(link->pollable());
    }

    uint32_t self() const override { return links_[0]->self(); }
    uint32_t parties() const override { return links_[0]->parties(); }
    uint32_t rank(uint32_t party) const override { return links_[0]->rank(party); }

    void send(uint32_t peer, uint64_t tag, const void *data, std::size_t bytes, Pending &pending) override {
        routes_[peer]->send(peer, tag, data, bytes, pending);
    }
    void receive(uint32_t peer, uint64_t tag, void *data, std::size_t bytes, Pending &pending) override {
        routes_[peer]->receive(peer, tag, data, bytes, pending);
    }
    bool send_now(uint32_t peer, uint64_t tag, const Message &first, const Message &second) override {
        return routes_[peer]->send_now(peer, tag, first, second);
    }
    bool receive_now(uint32_t peer, uint64_t tag, void *data, std::size_t bytes) override {
        return routes_[peer]->receive_now(peer, tag, data, bytes);
    }

    uint64_t moved(uint32_t peer) const override { return routes_[peer]->moved(peer); }
    uint64_t moved() const override {
        uint64_t all = 0;
        for (const auto &link : links_) all += link->moved();
        return all;
    }

    void progress() override {
        for (const auto &link : links_) link->progress();
    }

    void wait(uint64_t timeout_ns) override {
        if (links_.size() == 1) return links_[0]->wait(timeout_ns);
        if (!alertness_.look(timeout_ns, [this] { return stirs(); })) poll_all(timeout_ns);
    }
    void interrupt() noexcept override {
        for (const auto &link : links_) link->interrupt();
    }
    void close() noexcept override {
        for (const auto &link : links_) link->close();
    }

  private:
    bool stirs();
    void poll_all(uint64_t timeout_ns);

    std::vector<std::unique_ptr<Link>> links_;
    std::vector<Link *> routes_;
    Alertness alertness_;
    std::vector<Pollable *> pollables_;
    std::vector<pollfd> descriptors_;
    std::vector<std::size_t> begins_; // of each link's descriptors
};

/// Whether something is to be done.
bool Routed::stirs() {
    return std::any_of(pollables_.begin(), pollables_.end(), [](Pollable *link) { return link->stirs(); });
}

void Routed::poll_all(uint64_t timeout_ns) {
    descriptors_.clear();
    begins_.clear();
    for (Pollable *const link : pollables_) {
        begins_.push_back(descriptors_.size());
        timeout_ns = std::min(timeout_ns, link->begin_wait(descriptors_));
    }
    const timespec timeout = timespec_of(timeout_ns);
    if (ppoll(descriptors_.data(), descriptors_.size(), &timeout, nullptr) < 0)
        for (pollfd &descriptor : descriptors_) descriptor.revents = 0; // poll() failed and found nothing
    for (std::size_t i = 0; i < pollables_.size(); ++i) pollables_[i]->end_wait(descriptors_.data() + begins_[i]);
}

} // namespace

std::unique_ptr<Link> make_routed_link(std::vector<std::unique_ptr<Link>> links, std::vector<Link *> routes,
                                       uint64_t awake_ns) {
    return std::make_unique<Routed>(std::move(links), std::move(routes), awake_ns);
}

} // namespace mdist
