// SPDX-License-Identifier: Apache-2.0
// How a member comes into generations: it asks, connects with its neighbors, and goes.
#include "membership/worker/member.h"

#include <algorithm>
#include <new>
#include <utility>

#include "membership/protocol/neighbors.h"
#include "util/payload.h"
#include "util/text.h"

namespace mdist {

void Member::ask(Holdings held, uint64_t limit_ns, bool leaves) {
    if (ended_) return;
    ask_ = {std::move(held), limit_ns, missed(), leaves};
    drop_peers();
    leave_generation();
    failure_.reset();
    asking_ = true;
    wait_anew();
    send_ask();
}

/// The member that a wait in its generation was in vain for, or 0.
WorkerId Member::missed() const {
    const auto cause = failure();
    const bool names = cause && cause->status() == MDIST_ERR_TIMEOUT && cause->worker() < generation_.members.size();
    return names ? generation_.members[cause->worker()].id : 0;
}

void Member::wait_anew() {
    const uint64_t now = world_.now_ns();
    deadline_ns_ = now + std::min(ask_.limit_ns, UINT64_MAX - now);
}

void Member::withdraw() {
    if (!asking_) return;
    asking_ = false;
    deadline_ns_ = UINT64_MAX;
    leave_generation();
    store_.retry("this worker is a newcomer"); // the store forgets the question with the connection
}

void Member::drop_peers() {
    sockets_.reset();
    if (peers_) peers_->leave();
    peers_.reset();
}

/// Closes the connections of the generation that was being connected.
void Member::leave_generation() {
    if (mesh_) mesh_->give_up();
    mesh_.reset();
    lobby_.shut();
    reported_ = false;
    stuck_ns_ = UINT64_MAX;
}

void Member::generation_came(const std::string &payload) {
    auto next = decode_generation(payload);
    const auto rank = next ? next->rank_of(id()) : std::nullopt;
    const bool fits = rank && (is_elastic() || (*rank == options_.rank && next->members.size() == options_.size));
    if (!asking_ || !fits || next->number <= generation_.number)
        return lose_store("the store sent a generation that this worker is not waiting for");
    std::vector<Endpoint> all;
    for (const Generation::Member &member : next->members) all.push_back(member.listens);
    connect(std::move(*next), *rank, all);
}

void Member::excerpt_came(const std::string &payload) {
    auto excerpt = decode_excerpt(payload);
    const bool is_for_this = !is_elastic() && options_.rank != 0 && !connects_all(options_.size);
    if (!asking_ || !is_for_this || !excerpt || excerpt->size != options_.size || generation_.number != 0)
        return lose_store("the store sent a generation that this worker is not waiting for");
    Roster roster(excerpt->size, std::move(excerpt->some));
    std::vector<uint32_t> needed = neighbors_of(options_.rank, options_.size);
    needed.push_back(options_.rank);
    if (!std::all_of(needed.begin(), needed.end(), [&](uint32_t rank) { return roster.knows(rank); }))
        return lose_store("the store sent a generation without all neighbors of this worker");
    Generation next;
    next.number = 1;
    next.session = excerpt->session;
    next.pulse = excerpt->pulse;
    connect(std::move(next), options_.rank, std::move(roster));
}

/// Connects with the neighbors in the next generation.
void Member::connect(Generation next, uint32_t rank, Roster roster) {
    if (mesh_) leave_generation(); // else others may have called already, and wait in the lobby
    next_ = std::move(next);
    options_.rank = rank;
    options_.size = roster.size();
    mesh_ = std::make_unique<Mesh>(world_, options_, Formed{next_.session, next_.pulse, std::move(roster), {}});
    if (is_elastic()) {
        stuck_ns_ = world_.now_ns() + options_.heartbeat_timeout_ns;
        wait_anew();
    }
    lobby_.answer_as(text("worker ", rank), rank);
    lobby_.expect(options_.size);
    lobby_.open_for(peer_key(options_, next_.session), next_.session);
    report_if_meshed();
}

void Member::report_if_meshed() {
    if (!mesh_ || reported_ || !mesh_->complete()) return;
    reported_ = true;
    send_to_store(FrameKind::kMeshed, {});
}

void Member::report_if_stuck() {
    if (!mesh_ || world_.now_ns() < stuck_ns_) return;
    stuck_ns_ = UINT64_MAX;
    PayloadWriter ranks;
    for (const uint32_t rank : mesh_->missing()) ranks.number(rank);
    if (!mesh_->complete()) send_to_store(FrameKind::kUnreachable, ranks.take());
}

/// All were connected when they said so. A connection that has ended since then is a loss like any other.
void Member::go() {
    std::unique_ptr<Peers> peers;
    std::unique_ptr<DataSockets> sockets;
    const auto lost = mesh_->unconnected();
    try {
        if (!lost) {
            peers = std::make_unique<Peers>(world_, options_, mesh_->take());
            sockets = std::make_unique<DataSockets>(world_, options_, *peers);
        }
    } catch (const std::bad_alloc &) {
        mesh_.reset();                           // it has given its connections away
        if (peers) peers->fail(out_of_memory()); // tells the others at once
        return end(out_of_memory());
    }
    generation_ = next_;
    asking_ = false;
    newcomers_ = 0; // some have just entered; the store will say who waits now
    any_leaves_ = false;
    deadline_ns_ = stuck_ns_ = UINT64_MAX;
    if (lost) {
        failure_ =
            Failure(MDIST_ERR_PEER_LOST, text(name_of(*lost), " is lost: its connection has ended")).worker(*lost);
        return leave_generation();
    }
    peers_ = std::move(peers);
    sockets_ = std::move(sockets);
    mesh_.reset();
}

} // namespace mdist
