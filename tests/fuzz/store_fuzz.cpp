// SPDX-License-Identifier: Apache-2.0
// Fuzz target: what strangers send to a store that has a secret. The input is a list of pieces: {visitor, length,
// bytes}. Whatever the bytes, nobody joins, and no connection may ask for more than a small frame.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string_view>

#include "membership/protocol/secret.h"
#include "membership/store/fixed_store.h"
#include "target.h"
#include "util/log.h"

using namespace mdist;

namespace {

void require(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "store_fuzz: broken promise: %s\n", what);
    std::abort();
}

class Nowhere final : public World {
  public:
    uint64_t now_ns() const override { return now; }
    void random(void *bytes, std::size_t count) override {
        for (std::size_t i = 0; i < count; ++i) static_cast<unsigned char *>(bytes)[i] = next++;
    }
    ConnectionId connect(const Endpoint &) override { return 1; }
    Endpoint listen(ConnectionId) override { return {}; }
    void send_datagram(const Endpoint &, std::string_view) override {}
    void send(ConnectionId, std::string_view) override {}
    void close(ConnectionId connection) override { closed.insert(connection); }
    void watch(ConnectionId, uint64_t) override {}
    int release(ConnectionId) override { return -1; }

    uint64_t now = 1;
    unsigned char next = 0;
    std::set<ConnectionId> closed;
};

/// Passes bytes as the reactor does: never more than wanted, and nothing after a close.
void give(FixedStore &store, const Nowhere &world, ConnectionId visitor, std::string_view bytes) {
    while (!bytes.empty() && world.closed.count(visitor) == 0) {
        const std::size_t wanted = store.wanted(visitor);
        require(wanted > 0, "an open connection wants something");
        require(wanted <= kMostAgreementBytes + 1024, "a connection wants at most a small frame");
        const std::string_view piece = bytes.substr(0, wanted);
        bytes.remove_prefix(piece.size());
        store.received(visitor, piece);
    }
}

} // namespace

FUZZ_TARGET(store) {
    log::set_level(MDIST_LOG_OFF);
    const bool keyed = secrets_are_built();
    Nowhere world;
    FixedStore store(world, FixedStoreOptions{2, 0, "job", keyed ? "secret" : ""});
    std::set<ConnectionId> known;
    for (std::size_t at = 0; at + 2 <= size;) {
        const ConnectionId visitor = data[at] + std::size_t{1};
        const std::size_t length = std::min<std::size_t>(data[at + 1], size - at - 2);
        if (known.insert(visitor).second) store.accepted(visitor, "192.0.2.1");
        give(store, world, visitor, {reinterpret_cast<const char *>(data) + at + 2, length});
        at += 2 + length;
        world.now += 10'000'000;
        store.tick();
        require(!keyed || store.joined() == 0, "nobody joins without the secret");
    }
    return 0;
}
