// SPDX-License-Identifier: Apache-2.0
// A network in virtual time. A random engine decides how long each message takes. Messages between two parties arrive
// in order; others arrive in any order. Parties die, stop or leave at any moment. It uses one thread, and each seed is
// one run.
//
// The network reads a message from the sender's memory either when it is sent (as a socket does) or when it arrives (as
// shared memory does). The choice is random, since a schedule must work with both.
#pragma once

#include "comm/links/link.h"
#include "util/failure.h"
#include "util/text.h"

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace mdist::sim {

using Random = std::mt19937_64;

class Network {
  public:
    Network(Random &random, uint32_t parties, uint64_t longest_delay)
        : random_(random), parties_(parties), longest_delay_(longest_delay), pairs_(parties * parties), ends_(parties) {
        for (uint32_t party = 0; party < parties; ++party) links_.push_back(std::make_unique<End>(*this, party));
    }

    Link &link(uint32_t party) { return *links_[party]; }
    uint64_t now() const { return now_; }
    void at(uint64_t time, std::function<void()> happen) { events_.emplace(time, std::move(happen)); }

    /// Runs the next event. Returns false if there is none.
    bool go_on() {
        if (events_.empty()) return false;
        const auto first = events_.begin();
        now_ = first->first;
        const auto happen = std::move(first->second);
        events_.erase(first);
        happen();
        return true;
    }
    /// Tells whether a party's progress() has something to do. Only that ends its wait.
    bool has_news(uint32_t party) {
        if (!ends_[party].complete.empty()) return true;
        for (uint32_t peer = 0; peer < parties_; ++peer) {
            const Pair &in = pair(peer, party);
            if ((!in.arrived.empty() && !in.receives.empty()) || waits_in_vain(party, peer)) return true;
        }
        return false;
    }

    /// Ends the party's process. Messages that it had not given to the network are lost, and so are some that it had.
    void kill(uint32_t party) { leave(party, true); }

  private:
    struct Message {
        uint64_t tag;
        const char *source; // nullptr after it was read
        std::vector<char> bytes;
        std::size_t size;
        uint64_t number;
        Pending *pending; // nullptr after it is complete
    };
    struct Receive {
        uint64_t tag;
        void *to;
        std::size_t size;
        Pending *pending;
    };
    /// The messages from one party to another.
    struct Pair {
        std::deque<Message> flying;
        std::deque<Message> arrived;
        std::deque<Receive> receives;
        uint64_t last_arrival = 0;
        uint64_t sent = 0;
        uint32_t incomplete = 0; // sends whose completion the sender does not know yet
        bool closed = false;     // for the receiver
    };
    struct EndState {
        bool left = false;
        std::vector<std::pair<Pair *, Pending *>> complete; // sends whose completion it learns next
    };

    class End final : public Link {
      public:
        End(Network &network, uint32_t self) : network_(network), self_(self) {}
        uint32_t self() const override { return self_; }
        uint32_t parties() const override { return network_.parties_; }
        void send(uint32_t peer, uint64_t tag, const void *data, std::size_t bytes, Pending &pending) override {
            network_.send(self_, peer, tag, static_cast<const char *>(data), bytes, pending);
        }
        void receive(uint32_t peer, uint64_t tag, void *data, std::size_t bytes, Pending &pending) override {
            ++pending.count;
            network_.pair(peer, self_).receives.push_back({tag, data, bytes, &pending});
        }
        void progress() override { network_.progress(self_); }
        void wait(uint64_t) override {}
        void interrupt() noexcept override {}
        void close() noexcept override { network_.leave(self_, false); }

      private:
        Network &network_;
        const uint32_t self_;
    };

    Pair &pair(uint32_t from, uint32_t to) { return pairs_[from * parties_ + to]; }
    uint64_t delay() { return random_() % longest_delay_; }

    void send(uint32_t from, uint32_t to, uint64_t tag, const char *data, std::size_t bytes, Pending &pending) {
        Pair &way = pair(from, to);
        ++pending.count;
        ++way.incomplete;
        Message message = {tag, data, {}, bytes, way.sent++, &pending};
        if (random_() % 2 == 0) read(message);
        if (message.source == nullptr && random_() % 2 == 0) complete(from, way, message);
        way.flying.push_back(std::move(message));
        way.last_arrival = std::max(way.last_arrival, now_ + delay());
        at(way.last_arrival, [this, from, to, number = way.sent - 1] { arrive(from, to, number); });
    }

    static void read(Message &message) {
        if (message.source == nullptr) return;
        message.bytes.assign(message.source, message.source + message.size);
        message.source = nullptr;
    }

    void complete(uint32_t from, Pair &way, Message &message) {
        if (message.pending != nullptr) ends_[from].complete.emplace_back(&way, message.pending);
        message.pending = nullptr;
    }

    void arrive(uint32_t from, uint32_t to, uint64_t number) {
        Pair &way = pair(from, to);
        if (way.flying.empty() || way.flying.front().number != number) return; // the message was dropped
        Message message = std::move(way.flying.front());
        way.flying.pop_front();
        read(message);
        complete(from, way, message);
        way.arrived.push_back(std::move(message));
    }

    void progress(uint32_t self) {
        for (uint32_t peer = 0; peer < parties_; ++peer) take(pair(peer, self));
        for (const auto &[way, pending] : std::exchange(ends_[self].complete, {})) --way->incomplete, --pending->count;
        for (uint32_t peer = 0; peer < parties_; ++peer)
            if (waits_in_vain(self, peer))
                throw Failure(MDIST_ERR_PEER_LOST, text("party ", peer, " is gone")).worker(peer);
    }

    bool waits_in_vain(uint32_t self, uint32_t peer) {
        const Pair &in = pair(peer, self);
        return in.closed && (!in.receives.empty() || pair(self, peer).incomplete != 0);
    }

    static void take(Pair &way) {
        for (; !way.arrived.empty() && !way.receives.empty(); way.arrived.pop_front(), way.receives.pop_front()) {
            const Message &message = way.arrived.front();
            const Receive &receive = way.receives.front();
            if (message.tag != receive.tag || message.size != receive.size)
                throw Failure(MDIST_ERR_INTERNAL, "a receive met another send");
            if (message.size != 0) std::memcpy(receive.to, message.bytes.data(), message.size);
            --receive.pending->count;
        }
    }

    void leave(uint32_t party, bool killed) {
        if (std::exchange(ends_[party].left, true)) return;
        for (uint32_t peer = 0; peer < parties_; ++peer) {
            Pair &way = pair(party, peer);
            std::size_t kept = 0;
            while (kept < way.flying.size() && way.flying[kept].source == nullptr) ++kept;
            if (killed && kept != 0) kept = random_() % (kept + 1);
            way.flying.resize(kept);
            at(std::max(way.last_arrival, now_ + delay()), [&way] { way.closed = true; });
            pair(peer, party).receives.clear();
        }
    }

    Random &random_;
    const uint32_t parties_;
    const uint64_t longest_delay_;
    uint64_t now_ = 0;
    std::vector<Pair> pairs_;
    std::vector<EndState> ends_;
    std::vector<std::unique_ptr<End>> links_;
    std::multimap<uint64_t, std::function<void()>> events_;
};

} // namespace mdist::sim
