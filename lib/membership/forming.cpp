// SPDX-License-Identifier: Apache-2.0
#include "membership/forming.h"

#include <algorithm>

#include "membership/credentials.h"
#include "util/payload.h"
#include "util/text.h"

namespace mdist {
namespace {

constexpr std::size_t kMostMissing = 64;
/// An entry of the roster takes some 20 to 50 bytes.
constexpr std::size_t kMostFromStore = 1024 * 1024;

Dial dial_store(World &world, const MembershipOptions &options, std::vector<Endpoint> store) {
    Dial dial;
    dial.to = std::move(store);
    dial.who = text("the store at ", options.store);
    dial.hello = hello_of(options, Role::kJoin, kStoreRank);
    dial.key = store_key(options.secret);
    dial.most_payload = kMostFromStore;
    dial.make_body = [&world, &options](ConnectionId connection) {
        Endpoint at = world.listen(connection);
        at.pid = options.pid;
        at.started_as = options.started_as;
        PayloadWriter body;
        write_endpoint(body, at);
        return body.text(options.agreement).text(options.run).take();
    };
    return dial;
}

} // namespace

Forming::Forming(World &world, const MembershipOptions &options, Lobby &lobby, std::vector<Endpoint> store,
                 uint64_t deadline_ns)
    : world_(world),
      options_(options),
      lobby_(lobby),
      deadline_ns_(deadline_ns),
      store_(world, dial_store(world, options, std::move(store))) {}

bool Forming::has(ConnectionId connection) const {
    return connection == store_.connection() || (mesh_ && mesh_->has(connection));
}

std::size_t Forming::wanted(ConnectionId connection) const {
    if (connection == store_.connection()) return store_.channel().reader.wanted();
    return mesh_ ? mesh_->wanted(connection) : 0;
}

void Forming::connected(ConnectionId connection) {
    if (connection == store_.connection()) {
        store_.connected();
        reached_store_ = true;
    } else if (mesh_) {
        mesh_->connected(connection);
    }
}

void Forming::received(ConnectionId connection, std::string_view bytes) {
    if (connection == store_.connection()) return receive_from_store(bytes);
    if (!mesh_) return;
    mesh_->received(connection, bytes);
    look_at_mesh();
}

void Forming::receive_from_store(std::string_view bytes) {
    if (!store_.done()) {
        try {
            if (const auto frame = store_.received(bytes)) heard_store(*frame);
        } catch (const Failure &failure) {
            failure_ = failure;
        }
        return;
    }
    FrameReader &reader = store_.channel().reader;
    reader.feed(bytes);
    if (const auto frame = reader.next())
        heard_store(*frame);
    else if (reader.fault() != FrameReader::Fault::kNone)
        start_over("the store sent bytes that do not follow this protocol");
}

void Forming::heard_store(const ControlFrame &frame) {
    PayloadReader payload(frame.payload);
    switch (frame.kind) {
        case FrameKind::kRefused:
            failure_ = decode_failure(frame.payload);
            if (!failure_)
                failure_ = Failure(MDIST_ERR_UNAUTHENTICATED, text("the store at ", options_.store, " refused"));
            break;
        case FrameKind::kTryAgain:
            start_over("it waits for the workers of an earlier start of the job");
            break;
        case FrameKind::kProgress: {
            joined_ = true;
            missing_.resize(std::min<std::size_t>(payload.number<uint32_t>(), kMostMissing));
            for (uint32_t &rank : missing_) rank = payload.number<uint32_t>();
            progress_ = payload.text();
            break;
        }
        case FrameKind::kRoster:
            roster_came(frame);
            break;
        case FrameKind::kGo:
            complete_ = reported_ && frame.session == mesh_->session();
            break;
        case FrameKind::kOver:
            start_over(payload.text());
            break;
        default:
            start_over("the store sent an unexpected message");
    }
}

void Forming::roster_came(const ControlFrame &frame) {
    PayloadReader payload(frame.payload);
    Formed session{frame.session, {}, {}, {}};
    for (uint32_t rank = 0; rank < options_.size && !payload.bad(); ++rank)
        session.roster.push_back(read_endpoint(payload));
    session.pulse = payload.bytes<sizeof(Digest)>();
    if (!payload.complete()) return start_over("the store's roster cannot be read");
    joined_ = true;
    if (mesh_) mesh_->give_up();
    mesh_ = std::make_unique<Mesh>(world_, options_, std::move(session));
    lobby_.open_for(peer_key(options_, frame.session), frame.session);
    look_at_mesh();
}

void Forming::arrived(Guest guest) {
    if (!mesh_) return world_.close(guest.connection);
    mesh_->arrived(std::move(guest));
    look_at_mesh();
}

/// Reports to the store that the mesh is complete. If a connection ends after that, it starts over, since other workers
/// may rely on the report.
void Forming::look_at_mesh() {
    if (mesh_->complete() == reported_ || complete_) return;
    if (reported_)
        return start_over(
            text("lost the connection with ", worker_name(options_, mesh_->roster(), *mesh_->unconnected())));
    reported_ = true;
    world_.send(store_.connection(), store_.channel().pack(FrameKind::kMeshed, mesh_->session(), {}));
}

void Forming::closed(ConnectionId connection, int error) {
    if (connection == store_.connection()) {
        if (!store_.done()) return store_.closed(error);
        start_over("the store has closed the connection");
    } else if (mesh_) {
        mesh_->closed(connection, error);
        look_at_mesh();
    }
}

void Forming::give_up() {
    if (mesh_) mesh_->give_up();
    mesh_.reset();
}

void Forming::start_over(const std::string &problem) {
    if (complete_) return; // the store no longer matters
    if (const auto rank = mesh_ ? mesh_->unconnected() : std::nullopt)
        missed_ = text("; before, all workers had reached the store, but there was no connection with ",
                       worker_name(options_, mesh_->roster(), *rank), ": ", mesh_->obstacle(*rank),
                       firewall_advice(options_.listen_at));
    give_up();
    lobby_.shut();
    joined_ = reported_ = complete_ = false;
    store_.retry(problem);
}

void Forming::leave_store(bool well) {
    if (store_.done() && well)
        world_.send(store_.connection(),
                    store_.channel().pack(FrameKind::kGoodbye, mesh_ ? mesh_->session() : SessionId{}, {}));
    store_.give_up();
}

void Forming::tick() {
    store_.tick();
    if (mesh_) mesh_->tick();
    if (!complete_ && !failure_ && world_.now_ns() >= deadline_ns_) failure_ = timed_out();
}

uint64_t Forming::next_tick_ns() const {
    return std::min({deadline_ns_, store_.next_tick_ns(), mesh_ ? mesh_->next_tick_ns() : UINT64_MAX});
}

std::string Forming::missing_names() const {
    std::string names;
    for (const uint32_t rank : missing_)
        if (rank < options_.names.size()) names += text(names.empty() ? "" : ", ", options_.names[rank]);
    return names;
}

std::string Forming::awaited() const {
    if (mesh_) {
        const auto rank = mesh_->unconnected();
        if (!rank) return "other workers, which are being connected with each other";
        const std::string why = mesh_->obstacle(*rank);
        return text(worker_name(options_, mesh_->roster(), *rank), ", with which there is no connection yet",
                    why.empty() ? "" : ": ", why);
    }
    if (!joined_) {
        const std::string &why = store_.problem();
        return text("the store at ", options_.store, ", which has not answered", why.empty() ? "" : ": ", why);
    }
    const std::string names = missing_names();
    return text(names.empty() ? "the others" : names, "; ", progress_);
}

Failure Forming::timed_out() const {
    const std::string limit = seconds_text(options_.join_timeout_ns);
    if (mesh_) {
        if (const auto rank = mesh_->unconnected())
            return Failure(MDIST_ERR_TIMEOUT,
                           text("all workers have reached the store, but there is no connection with ",
                                worker_name(options_, mesh_->roster(), *rank), " after ", limit, ": ",
                                mesh_->obstacle(*rank), firewall_advice(options_.listen_at)))
                .worker(*rank);
        return Failure(MDIST_ERR_TIMEOUT, text("other workers could not be connected with each other within ", limit));
    }
    if (!joined_) {
        const std::string &why = store_.problem();
        return Failure(MDIST_ERR_TIMEOUT,
                       text("the store at ", options_.store, options_.serves_store ? ", which this worker serves," : "",
                            reached_store_ ? " did not let this worker join" : " could not be reached",
                            missed_.empty() ? " within " : " again within ", limit,
                            why.empty() ? "; no answer yet" : "; ", why, missed_));
    }
    const std::string names = missing_names();
    Failure failure(MDIST_ERR_TIMEOUT, text("not all workers joined within ", limit, ": ", progress_,
                                            names.empty() ? "" : "; still waiting for: ", names, missed_));
    return missing_.empty() ? failure : Failure(failure).worker(missing_.front());
}

} // namespace mdist
