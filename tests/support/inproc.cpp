// SPDX-License-Identifier: Apache-2.0
#include "inproc.h"

#include "comm/call/bad_message.h"
#include "util/failure.h"
#include "util/text.h"

#include <cstring>
#include <list>
#include <mutex>
#include <thread>

namespace mdist {
namespace {

struct InprocTransfer {
    bool is_send;
    uint32_t from;
    uint32_t to;
    uint64_t tag;
    const void *source;
    void *destination;
    std::size_t bytes;
    Pending *pending;
};

/// All operations of all parties that are posted and not matched yet.
struct InprocExchange {
    std::mutex mutex;
    std::list<InprocTransfer> sends;
    std::list<InprocTransfer> receives;
    std::vector<bool> closed;
    std::vector<std::vector<Pending *>> complete; // by party: what it has not counted off yet
};

class Inproc final : public Link {
  public:
    Inproc(std::shared_ptr<InprocExchange> exchange, uint32_t self) : exchange_(std::move(exchange)), self_(self) {}
    ~Inproc() override { close(); }

    uint32_t self() const override { return self_; }
    uint32_t parties() const override { return static_cast<uint32_t>(exchange_->closed.size()); }

    void send(uint32_t peer, uint64_t tag, const void *data, std::size_t bytes, Pending &pending) override {
        const std::lock_guard lock(exchange_->mutex);
        exchange_->sends.push_back({true, self_, peer, tag, data, nullptr, bytes, &pending});
        ++pending.count;
    }

    void receive(uint32_t peer, uint64_t tag, void *data, std::size_t bytes, Pending &pending) override {
        const std::lock_guard lock(exchange_->mutex);
        exchange_->receives.push_back({false, peer, self_, tag, nullptr, data, bytes, &pending});
        ++pending.count;
    }

    void progress() override {
        const std::lock_guard lock(exchange_->mutex);
        for (auto receive = exchange_->receives.begin(); receive != exchange_->receives.end();)
            receive =
                receive->to == self_ && matched(*receive) ? exchange_->receives.erase(receive) : std::next(receive);
        for (Pending *pending : exchange_->complete[self_]) --pending->count;
        exchange_->complete[self_].clear();
        for (const auto *list : {&exchange_->receives, &exchange_->sends})
            for (const InprocTransfer &transfer : *list) check_peer(transfer);
    }

    void wait(uint64_t) override { std::this_thread::yield(); }
    void interrupt() noexcept override {}

    void close() noexcept override {
        const std::lock_guard lock(exchange_->mutex);
        exchange_->closed[self_] = true;
        exchange_->sends.remove_if([this](const InprocTransfer &transfer) { return transfer.from == self_; });
        exchange_->receives.remove_if([this](const InprocTransfer &transfer) { return transfer.to == self_; });
    }

  private:
    /// Finds the oldest send for a receive, and copies its bytes.
    bool matched(const InprocTransfer &receive) {
        for (auto send = exchange_->sends.begin(); send != exchange_->sends.end(); ++send) {
            if (send->from != receive.from || send->to != self_) continue;
            if (send->bytes != receive.bytes || send->tag != receive.tag)
                throw other_message(send->from, send->bytes, send->tag, receive.bytes, receive.tag);
            if (send->bytes != 0) std::memcpy(receive.destination, send->source, send->bytes);
            exchange_->complete[send->from].push_back(send->pending);
            exchange_->complete[self_].push_back(receive.pending);
            exchange_->sends.erase(send);
            return true;
        }
        return false;
    }

    /// Throws if this end waits for a peer that is gone.
    void check_peer(const InprocTransfer &transfer) const {
        if ((transfer.is_send ? transfer.from : transfer.to) != self_) return;
        const uint32_t peer = transfer.is_send ? transfer.to : transfer.from;
        if (exchange_->closed[peer])
            throw Failure(MDIST_ERR_PEER_LOST, text("party ", peer, " has closed its link")).worker(peer);
    }

    std::shared_ptr<InprocExchange> exchange_;
    uint32_t self_;
};

} // namespace

std::vector<std::unique_ptr<Link>> make_inproc_links(uint32_t parties) {
    const auto exchange = std::make_shared<InprocExchange>();
    exchange->closed.resize(parties, false);
    exchange->complete.resize(parties);
    std::vector<std::unique_ptr<Link>> links;
    for (uint32_t party = 0; party < parties; ++party) links.push_back(std::make_unique<Inproc>(exchange, party));
    return links;
}

} // namespace mdist
