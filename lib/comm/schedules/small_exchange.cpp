// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/small_exchange.h"

#include "comm/call/bad_message.h"

namespace mdist {

SmallExchange::SmallExchange(Link &link, const OperationHeader &mine, const void *payload)
    : link_(link), mine_(mine), own_{payload, mine.payload_bytes}, peers_(link.parties()) {
    for (uint32_t worker = 0; worker < link.parties(); ++worker)
        if (worker != link.self()) begin(worker, own_);
}

SmallExchange::SmallExchange(Link &link, const OperationHeader &mine, const std::vector<Package> &packages,
                             uint64_t tag, Pending &behind)
    : link_(link), mine_(mine), own_(packages[link.self()].payload), peers_(link.parties()) {
    // Each worker begins with its neighbour, so that not all send to worker 0 first.
    for (uint32_t i = 1; i < link.parties(); ++i) {
        const uint32_t worker = (link.self() + i) % link.parties();
        begin(worker, packages[worker].payload);
        for (const Bytes &message : packages[worker].behind)
            link.send(worker, tag, message.data, message.bytes, behind);
    }
}

void SmallExchange::begin(uint32_t worker, const Bytes &payload) {
    Peer &peer = peers_[worker];
    peer.mine = mine_;
    peer.mine.payload_bytes = static_cast<uint32_t>(payload.bytes);
    send_headed(link_, worker, peer.mine, payload.data, pending_);
    peer.message.begin(link_, worker);
}

bool SmallExchange::advance() {
    bool all = false;
    for (bool posted = true; posted;) {
        link_.progress();
        posted = false;
        all = true;
        for (uint32_t worker = 0; worker < peers_.size(); ++worker) {
            if (worker == link_.self()) continue;
            const HeadedArrival &message = peers_[worker].message;
            if (!message.taken() && message.has_come()) posted |= accept(worker);
            all &= message.taken();
        }
    }
    return all && pending_.done();
}

/// Checks a worker's header. Returns whether a payload follows.
bool SmallExchange::accept(uint32_t worker) {
    Peer &peer = peers_[worker];
    peer.message.check(mine_);
    const uint64_t bytes = peer.message.payload_bytes();
    if (bytes > kPayloadLimit)
        throw bad_message(link_.rank(worker),
                          text("an operation with a payload of ", bytes, " bytes; the maximum is ", kPayloadLimit));
    if (bytes != 0) peer.payload.reset(new char[bytes]);
    return peer.message.take_payload(link_, peer.payload.get(), pending_);
}

const void *SmallExchange::payload(uint32_t worker) const {
    return worker == link_.self() ? own_.data : peers_[worker].payload.get();
}

std::size_t SmallExchange::payload_bytes(uint32_t worker) const {
    return worker == link_.self() ? own_.bytes : peers_[worker].message.payload_bytes();
}

} // namespace mdist
