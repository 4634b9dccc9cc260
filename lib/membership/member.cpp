// SPDX-License-Identifier: Apache-2.0
#include "membership/member.h"

#include <algorithm>

#include "util/text.h"

namespace mdist {

Member::Member(World &world, const MembershipOptions &options, std::vector<Endpoint> store, uint64_t deadline_ns)
    : world_(world),
      options_(options),
      lobby_(world, text("worker ", options.rank), options.rank, 64),
      forming_(world, options_, lobby_, std::move(store), deadline_ns) {
    lobby_.expect(options.size);
}

void Member::accepted(ConnectionId connection, const std::string &host) {
    lobby_.accepted(connection, host);
}

void Member::connected(ConnectionId connection) {
    if (forming_.has(connection))
        forming_.connected(connection);
    else if (sockets_ && sockets_->has(connection))
        sockets_->connected(connection);
}

std::size_t Member::wanted(ConnectionId connection) const {
    if (lobby_.has(connection)) return lobby_.wanted(connection);
    if (peers_ && peers_->has(connection)) return peers_->wanted(connection);
    if (sockets_ && sockets_->has(connection)) return sockets_->wanted(connection);
    return forming_.wanted(connection);
}

void Member::received(ConnectionId connection, std::string_view bytes) {
    if (lobby_.has(connection)) {
        if (auto guest = lobby_.received(connection, bytes)) arrived(std::move(*guest));
    } else if (peers_ && peers_->has(connection)) {
        peers_->received(connection, bytes);
    } else if (sockets_ && sockets_->has(connection)) {
        sockets_->received(connection, bytes);
    } else if (forming_.has(connection)) {
        forming_.received(connection, bytes);
        go_on();
    }
}

void Member::closed(ConnectionId connection, int error) {
    if (lobby_.has(connection))
        lobby_.closed(connection);
    else if (peers_ && peers_->has(connection))
        peers_->closed(connection, error);
    else if (sockets_ && sockets_->has(connection))
        sockets_->closed(connection, error);
    else if (forming_.has(connection))
        forming_.closed(connection, error);
}

void Member::datagram(std::string_view bytes) {
    if (peers_ && !closed_) peers_->heard_datagram(bytes);
}

void Member::arrived(Guest guest) {
    const Hello &hello = guest.hello;
    const bool is_of_this_job = hello.job == options_.job && hello.size == options_.size &&
                                hello.restart == options_.restart && hello.rank != options_.rank &&
                                hello.rank < options_.size;
    if (!is_of_this_job)
        world_.close(guest.connection);
    else if (hello.role == Role::kData && sockets_)
        sockets_->arrived(std::move(guest));
    else if (hello.role == Role::kControl && !peers_ && hello.rank > options_.rank)
        forming_.arrived(std::move(guest));
    else
        world_.close(guest.connection);
    go_on();
}

/// Moves from forming to work, once forming is complete.
void Member::go_on() {
    if (peers_ || !forming_.complete()) return;
    peers_ = std::make_unique<Peers>(world_, options_, forming_.take());
    sockets_ = std::make_unique<DataSockets>(world_, options_, *peers_);
}

void Member::tick() {
    lobby_.tick();
    if (closed_) return;
    if (!peers_) {
        if (!forming_.failure()) forming_.tick();
        return;
    }
    peers_->tick();
    sockets_->tick();
}

uint64_t Member::next_tick_ns() const {
    uint64_t next = lobby_.next_tick_ns();
    if (closed_) return next;
    if (!peers_) return forming_.failure() ? next : std::min(next, forming_.next_tick_ns());
    return std::min({next, peers_->next_tick_ns(), sockets_->next_tick_ns()});
}

Member::State Member::state() const {
    if (closed_) return State::kClosed;
    if (failure()) return State::kFailed;
    return peers_ ? State::kReady : State::kForming;
}

std::optional<Failure> Member::failure() const {
    return peers_ ? peers_->failure() : forming_.failure();
}

void Member::leave() {
    if (closed_) return;
    closed_ = true;
    lobby_.shut();
    if (sockets_) sockets_->give_up();
    // The store must hear it before the other workers do: they end because of it, and the store records who left first.
    forming_.leave_store(!failure());
    if (peers_)
        peers_->leave();
    else
        forming_.give_up();
}

} // namespace mdist
