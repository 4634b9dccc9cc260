// SPDX-License-Identifier: Apache-2.0
// A world in which nothing happens by itself: tests look at what a machine has sent, and tell it what comes.
#pragma once

#include "membership/net/descriptors.h"
#include "membership/protocol/frame.h"
#include "membership/protocol/generation.h"
#include "membership/protocol/handshake.h"
#include "membership/protocol/secret.h"
#include "membership/net/world.h"
#include "util/failure.h"
#include "util/payload.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}
#undef fail

namespace mdist::test {

class FakeWorld final : public World {
  public:
    uint64_t now_ns() const override { return now; }
    void random(void *bytes, std::size_t count) override {
        for (std::size_t i = 0; i < count; ++i) static_cast<unsigned char *>(bytes)[i] = next_byte++;
    }
    ConnectionId connect(const Endpoint &to) override {
        connects.push_back(to);
        return ++last_id;
    }
    Endpoint listen(ConnectionId) override { return {"10.0.0.1", 5000, true}; }
    void send_datagram(const Endpoint &to, std::string_view bytes) override {
        datagrams.emplace_back(to, std::string(bytes));
    }
    void send(ConnectionId connection, std::string_view bytes) override { sent[connection] += bytes; }
    void close(ConnectionId connection) override { closed.insert(connection); }
    void watch(ConnectionId, uint64_t) override {}
    int release(ConnectionId connection) override {
        released.push_back(connection);
        return list_descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
    }

    uint64_t now = 1'000'000'000;
    unsigned char next_byte = 0;
    ConnectionId last_id = 1000;
    std::vector<Endpoint> connects;
    std::vector<std::pair<Endpoint, std::string>> datagrams;
    std::map<ConnectionId, std::string> sent;
    std::set<ConnectionId> closed;
    std::vector<ConnectionId> released;
};

/// Gives bytes in pieces of what is wanted; returns how many were taken.
template <class Reader>
std::size_t feed_all(Reader &reader, std::string_view bytes, std::vector<ControlFrame> *frames) {
    std::size_t taken = 0;
    while (taken < bytes.size() && reader.wanted() != 0) {
        const std::size_t count = std::min(reader.wanted(), bytes.size() - taken);
        reader.feed(bytes.substr(taken, count));
        taken += count;
        while (auto frame = reader.next()) frames->push_back(std::move(*frame));
    }
    return taken;
}

/// What comes with the proof of a worker that joins, and is called where the store sees it.
inline std::string join_body(const std::string &agreement, const std::string &run = "", uint32_t pid = 70) {
    return encode(Joining{1, 0, {"", 5000, true, pid}, agreement, run});
}

/// The other side of a connection with a machine: reads what it sent, writes what it is to get.
struct Visitor {
    FakeWorld &world;
    Machine &machine;
    ConnectionId id;
    Channel channel{1 << 20};
    std::vector<ControlFrame> heard = {};

    void say(std::string_view bytes) {
        while (!bytes.empty()) {
            const std::size_t wanted = machine.wanted(id);
            if (wanted == 0) return;
            const std::string_view piece = bytes.substr(0, std::min(wanted, bytes.size()));
            bytes.remove_prefix(piece.size());
            machine.received(id, piece);
        }
    }
    void listen() {
        const std::string bytes = std::exchange(world.sent[id], {});
        feed_all(channel.reader, bytes, &heard);
    }
    /// The kind of the last frame heard.
    FrameKind last() {
        listen();
        return heard.empty() ? FrameKind::kHello : heard.back().kind;
    }
};

} // namespace mdist::test
