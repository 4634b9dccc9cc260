// SPDX-License-Identifier: Apache-2.0
#include "membership/worker/pulse.h"

#include "membership/protocol/credentials.h"
#include "util/payload.h"

namespace mdist {
namespace {

constexpr uint32_t kPulseMagic = 0x736c5064; // "dPls"

} // namespace

Pulse::Pulse(World &world, const MembershipOptions &options, const SessionId &session, const Digest &id,
             const Roster &roster)
    : world_(world), self_(options.rank), id_(id), key_(peer_key(options, session)), roster_(roster) {}

Digest Pulse::proof(std::string_view said) const {
    return key_.empty() ? id_ : keyed_digest(key_, PayloadWriter().text("pulse").text(said).take());
}

void Pulse::send(uint32_t rank, bool asks, uint64_t asked_at_ns) {
    std::string bytes = PayloadWriter()(kPulseMagic, asks, self_, rank, asked_at_ns).take();
    bytes += view_of(proof(bytes));
    if (const auto at = roster_.find(rank)) world_.send_datagram(*at, bytes);
}

bool Pulse::reaches(uint32_t rank) const {
    const auto self = roster_.find(self_), other = roster_.find(rank);
    return self && other && other->takes_datagrams && other->host != self->host;
}

std::optional<Pulse::SignOfLife> Pulse::heard(std::string_view datagram) {
    PayloadReader reader(datagram);
    uint32_t magic = 0, from = 0, to = 0;
    uint8_t asks = 0;
    uint64_t asked_at_ns = 0;
    Digest shown = {};
    reader(magic, asks, from, to, asked_at_ns, shown);
    if (!reader.complete() || magic != kPulseMagic || asks > 1 || to != self_ || !roster_.knows(from) ||
        from == self_ || !same_digest(shown, proof(datagram.substr(0, kPulseBytes - sizeof shown))))
        return std::nullopt;
    if (asks == 0) {
        if (asked_at_ns > world_.now_ns()) return std::nullopt; // a time in the future: this worker never asked that
        return SignOfLife{from, asked_at_ns};
    }
    if (asked_at_ns > answered_[from]) {
        answered_[from] = asked_at_ns;
        send(from, false, asked_at_ns);
    }
    return std::nullopt;
}

} // namespace mdist
