// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/direct_agreement.h"

#include "comm/call/bad_message.h"
#include "util/text.h"

#include <algorithm>

namespace mdist {
namespace {

OperationHeader with_payload(OperationHeader header, std::size_t bytes) {
    header.payload_bytes = static_cast<uint32_t>(bytes);
    return header;
}

} // namespace

DirectAgreement::DirectAgreement(Link &link, const OperationHeader &mine, const Link::Message &payload,
                                 const std::vector<uint32_t> &peers)
    : link_(link), mine_(with_payload(mine, payload.bytes)), own_(payload) {
    // They must not grow: the link points into them.
    peers_.reserve(peers.empty() ? link.parties() : peers.size());
    for (const uint32_t worker : peers) peers_.push_back({worker});
    for (uint32_t i = 1; peers.empty() && i < link.parties(); ++i)
        peers_.push_back({(link.self() + i) % link.parties()});
    for (Peer &peer : peers_) {
        send_headed(link_, peer.worker, mine_, own_.data, pending_);
        peer.message.begin(link_, peer.worker);
    }
}

bool DirectAgreement::advance() {
    bool all = false;
    for (bool posted = true; posted;) {
        link_.progress();
        posted = false;
        all = true;
        for (Peer &peer : peers_) {
            if (!peer.message.taken() && peer.message.has_come()) posted |= accept(peer);
            all &= peer.message.taken();
        }
    }
    return all && pending_.done();
}

/// Checks a worker's header. Returns whether a payload follows.
bool DirectAgreement::accept(Peer &peer) {
    peer.message.check(mine_);
    const uint64_t bytes = peer.message.payload_bytes();
    if (bytes > kPayloadLimit)
        throw bad_message(link_.rank(peer.worker),
                          text("an operation with a payload of ", bytes, " bytes; the maximum is ", kPayloadLimit));
    if (bytes != 0) peer.payload.reset(new char[bytes]);
    return peer.message.take_payload(link_, peer.payload.get(), pending_);
}

/// The peer; nullptr for this worker, and for those that are no peers.
const DirectAgreement::Peer *DirectAgreement::find(uint32_t worker) const {
    const auto distance = [this](uint32_t other) { return (other + link_.parties() - link_.self()) % link_.parties(); };
    const auto found =
        std::lower_bound(peers_.begin(), peers_.end(), distance(worker),
                         [&](const Peer &peer, uint32_t wanted) { return distance(peer.worker) < wanted; });
    return found != peers_.end() && found->worker == worker ? &*found : nullptr;
}

const OperationHeader *DirectAgreement::header_of(uint32_t worker) const {
    const Peer *const peer = find(worker);
    return worker == link_.self() ? &mine_ : peer != nullptr ? peer->message.header() : nullptr;
}

Link::Message DirectAgreement::payload(uint32_t worker) const {
    if (worker == link_.self()) return own_;
    const Peer *const peer = find(worker);
    return peer != nullptr ? Link::Message{peer->payload.get(), peer->message.payload_bytes()} : Link::Message();
}

} // namespace mdist
