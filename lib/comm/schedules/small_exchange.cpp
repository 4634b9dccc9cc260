// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/small_exchange.h"

#include "util/failure.h"
#include "util/text.h"

namespace mdist {
namespace {

// Alike in all operations: a peer that is in another one is to be told by its header, in words.
constexpr uint64_t kHeaderTag = 1;
constexpr uint64_t kPayloadTag = 2;

} // namespace

SmallExchange::SmallExchange(Link &link, const OperationHeader &mine, const void *payload)
    : link_(link), own_payload_(payload), peers_(link.parties()) {
    Peer &self = peers_[link.self()];
    self.header = mine;
    self.accepted = true;
    for (uint32_t worker = 0; worker < link.parties(); ++worker) {
        if (worker == link.self()) continue;
        link.send(worker, kHeaderTag, &self.header, sizeof self.header, pending_);
        if (mine.payload_bytes != 0) link.send(worker, kPayloadTag, payload, mine.payload_bytes, pending_);
        link.receive(worker, kHeaderTag, &peers_[worker].header, sizeof self.header, peers_[worker].arrival);
    }
}

bool SmallExchange::advance() {
    bool all = false;
    for (bool posted = true; posted;) {
        link_.progress();
        posted = false;
        all = true;
        for (uint32_t worker = 0; worker < peers_.size(); ++worker) {
            Peer &peer = peers_[worker];
            if (!peer.accepted && peer.arrival.done()) posted |= accept(worker);
            all &= peer.accepted;
        }
    }
    return all && pending_.done();
}

/// Whether there is a payload to come.
bool SmallExchange::accept(uint32_t worker) {
    Peer &peer = peers_[worker];
    check_same(peers_[link_.self()].header, link_.self(), peer.header, worker);
    const uint64_t bytes = peer.header.payload_bytes;
    if (bytes > kPayloadLimit)
        throw Failure(MDIST_ERR_INTERNAL, text("worker ", worker, " announces a payload of ", bytes,
                                               " bytes with an operation; ", kPayloadLimit, " is the most"))
            .worker(static_cast<int32_t>(worker));
    peer.accepted = true;
    if (bytes == 0) return false;
    peer.payload = std::make_unique_for_overwrite<char[]>(bytes);
    link_.receive(worker, kPayloadTag, peer.payload.get(), bytes, pending_);
    return true;
}

const void *SmallExchange::payload(uint32_t worker) const {
    return worker == link_.self() ? own_payload_ : peers_[worker].payload.get();
}

std::size_t SmallExchange::payload_bytes(uint32_t worker) const {
    return peers_[worker].header.payload_bytes;
}

} // namespace mdist
