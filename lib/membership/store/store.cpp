// SPDX-License-Identifier: Apache-2.0
#include "membership/store/store.h"

#include <algorithm>
#include <utility>

#include "membership/protocol/credentials.h"
#include "util/log.h"
#include "util/payload.h"
#include "util/text.h"
#include "util/utf8.h"

namespace mdist {

std::string job_text(const std::string &name) {
    return name.empty() ? "a job without a name" : text("the job ", in_quotes(name));
}

Store::Store(World &world, const std::string &secret)
    : world_(world), lobby_(world, "the store", kStoreRank, kMostJoinBytes) {
    lobby_.open_for(store_key(secret), SessionId{});
}

// ---- Connections

void Store::accepted(ConnectionId connection, const std::string &host) {
    lobby_.accepted(connection, host);
}

std::size_t Store::wanted(ConnectionId connection) const {
    const auto found = workers_.find(connection);
    return found != workers_.end() ? found->second.channel.reader.wanted() : lobby_.wanted(connection);
}

void Store::received(ConnectionId connection, std::string_view bytes) {
    if (lobby_.has(connection)) {
        auto guest = lobby_.received(connection, bytes);
        if (!guest) return;
        auto joining = decode_joining(guest->body);
        if (!joining) return world_.close(connection);
        complete_host(joining->listens, guest->host);
        return join(std::move(*guest), std::move(*joining));
    }
    const auto found = workers_.find(connection);
    if (found == workers_.end()) return;
    auto &[id, worker] = *found;
    worker.channel.reader.feed(bytes);
    const auto frame = worker.channel.reader.next();
    if (frame)
        heard(connection, worker, *frame);
    else if (worker.channel.reader.fault() != FrameReader::Fault::kNone)
        drop(connection);
}

void Store::closed(ConnectionId connection, int) {
    if (lobby_.has(connection)) return lobby_.closed(connection);
    if (auto gone = workers_.extract(connection)) lost(gone.mapped());
}

Store::Worker &Store::let_in(Guest guest, Joining joining, std::size_t most_payload) {
    guest.channel.reader.set_most_payload(most_payload);
    Worker worker{guest.hello.rank, std::move(joining), std::move(guest.channel)};
    return workers_.emplace(guest.connection, std::move(worker)).first->second;
}

void Store::drop(ConnectionId connection) {
    world_.close(connection);
    if (auto gone = workers_.extract(connection)) lost(gone.mapped());
}

void Store::refuse(ConnectionId connection, Channel &channel, const Failure &failure) {
    world_.send(connection, channel.pack(FrameKind::kRefused, SessionId{}, encode(failure)));
    world_.close(connection);
}

void Store::send(ConnectionId connection, Worker &worker, FrameKind kind, const std::string &payload) {
    world_.send(connection, worker.channel.pack(kind, generation_.session, payload));
}

void Store::send_to_members(FrameKind kind, const std::string &payload) {
    for (auto &[connection, worker] : workers_)
        if (is_member(worker.said.id)) send(connection, worker, kind, payload);
}

Store::Workers::iterator Store::find(WorkerId id) {
    return std::find_if(workers_.begin(), workers_.end(), [id](const auto &one) { return one.second.said.id == id; });
}

Store::Workers::const_iterator Store::find(WorkerId id) const {
    return const_cast<Store *>(this)->find(id);
}

// ---- A generation begins

Generation Store::next_generation(const std::vector<ConnectionId> &members, uint32_t replicas,
                                  const std::optional<CommitId> &resume) {
    Generation next;
    next.number = generation_.number + 1;
    world_.random(next.session.data(), next.session.size());
    world_.random(next.pulse.data(), next.pulse.size());
    next.resume = resume;
    const auto spans = deal_replicas(replicas, static_cast<uint32_t>(members.size()));
    for (std::size_t rank = 0; rank < members.size(); ++rank) {
        const Joining &said = workers_.at(members[rank]).said;
        next.members.push_back({said.id, said.listens, spans[rank]});
    }
    return next;
}

Generation Store::begin(Generation next) {
    for (auto &[connection, worker] : workers_) {
        worker.meshed = worker.reported = false;
        worker.unreachable.clear();
    }
    state_ = State::kMeshing;
    const Generation former = std::exchange(generation_, std::move(next));
    set_members();
    return former;
}

void Store::set_members() {
    members_.clear();
    for (const Generation::Member &member : generation_.members) members_.insert(member.id);
}

void Store::meshed(Worker &worker, const ControlFrame &frame) {
    if (state_ != State::kMeshing || frame.session != generation_.session) return; // of a generation that was replaced
    worker.unreachable.clear();
    PayloadReader ranks(frame.payload);
    while (frame.kind == FrameKind::kUnreachable && !ranks.complete() && !ranks.bad())
        worker.unreachable.insert(ranks.number<uint32_t>());
    worker.meshed = frame.kind == FrameKind::kMeshed;
    worker.reported = true;
    look();
}

bool Store::all_meshed() const {
    std::size_t meshed = 0;
    for (const auto &[connection, worker] : workers_) {
        if (!is_member(worker.said.id)) continue;
        if (!worker.meshed) return false;
        ++meshed;
    }
    return meshed == members_.size();
}

} // namespace mdist
