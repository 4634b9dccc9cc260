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
    peers_.reserve(link.parties()); // must not grow: the link points into it
    for (uint32_t i = 1; i < link.parties(); ++i) {
        const uint32_t worker = (link.self() + i) % link.parties();
        if (peers.empty() || std::binary_search(peers.begin(), peers.end(), worker)) peers_.push_back({worker});
    }
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
    const uint32_t distance = (worker + link_.parties() - link_.self()) % link_.parties();
    if (hears_all()) return distance != 0 ? &peers_[distance - 1] : nullptr;
    const auto found =
        std::find_if(peers_.begin(), peers_.end(), [&](const Peer &peer) { return peer.worker == worker; });
    return found != peers_.end() ? &*found : nullptr;
}

bool DirectAgreement::has_come(uint32_t worker) const {
    const Peer *const peer = find(worker);
    return worker == link_.self() || (peer != nullptr && peer->message.has_come());
}

Link::Message DirectAgreement::payload(uint32_t worker) const {
    if (worker == link_.self()) return own_;
    const Peer *const peer = find(worker);
    return peer != nullptr ? Link::Message{peer->payload.get(), peer->message.payload_bytes()} : Link::Message();
}

} // namespace mdist
