// SPDX-License-Identifier: Apache-2.0
// GlooLink: the link inside the module. The i-th message from one worker to another has the number i. It goes by a slot
// made of that number and a hash of its tag and length. So messages meet in order, and a peer that announces another
// slot with the same number disagrees about the message. The two directions use separate slots.
#pragma once

#include "comm/links/gloo_transport.h"
#include "comm/links/link.h"

#include <list>
#include <mutex>
#include <vector>

namespace mdist {

class GlooLink final : public Link {
  public:
    /// Makes a pair for each of `peers`, which listens.
    GlooLink(uint32_t self, uint32_t parties, const std::string &address, const std::vector<uint32_t> &peers,
             uint64_t connect_timeout_ns);
    ~GlooLink() override;

    /// The pair with a peer; nullptr if there is none.
    GlooPair *pair(uint32_t peer) const { return parties_.at(peer).pair; }

    uint32_t self() const override { return self_; }
    uint32_t parties() const override { return static_cast<uint32_t>(parties_.size()); }
    void send(uint32_t peer, uint64_t tag, const void *data, std::size_t bytes, Pending &pending) override;
    void receive(uint32_t peer, uint64_t tag, void *data, std::size_t bytes, Pending &pending) override;
    void progress() override;
    void wait(uint64_t timeout_ns) override;
    void interrupt() noexcept override;
    void close() noexcept override;

  private:
    struct Party {
        GlooPair *pair = nullptr; // owned by the context
        uint32_t sent = 0;        // numbers of the next messages; they may wrap around
        uint32_t received = 0;
    };
    struct Operation {
        bool is_send;
        uint32_t peer;
        uint64_t slot;
        uint64_t tag;
        std::unique_ptr<GlooBuffer> buffer;
        Pending *pending;
    };

    void post(bool is_send, uint32_t peer, uint64_t tag, void *data, std::size_t bytes, Pending &pending);
    void check_agreement();

    const uint32_t self_;
    EventCount events_;
    uint32_t seen_ = 0; // value of events_ before progress() last looked
    std::shared_ptr<GlooContext> context_;
    std::vector<Party> parties_;

    std::mutex mutex_; // for close(): guards everything below, and the posting of operations
    std::list<Operation> operations_;
    std::vector<GlooAnnouncement> announced_; // a member so that its memory is reused
    bool closed_ = false;
};

} // namespace mdist
