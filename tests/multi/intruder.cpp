// SPDX-License-Identifier: Apache-2.0
#include "intruder.h"

#include "membership/net/address.h"
#include "random.h"
#include "util/payload.h"
#include "util/text.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace mdist::test {
namespace {

constexpr int kPatienceMs = 1;         // for answers, per round
constexpr std::size_t kMostOpen = 150; // connections that stay open for a late answer
constexpr uint32_t kNumbers = 2;

/// Another one each time. None is that of a real worker, which draws its own from the system's entropy.
SessionId new_session() {
    static uint64_t state = test_seed(7);
    SessionId session;
    for (auto &byte : session) byte = static_cast<std::remove_reference_t<decltype(byte)>>(draw_from(&state, 256));
    return session;
}

Hello hello_of(const Prey &prey, Role role, uint32_t rank, uint32_t called) {
    Hello hello;
    hello.role = role;
    hello.rank = rank;
    hello.called = called;
    hello.size = static_cast<uint32_t>(prey.pids.size());
    hello.job = prey.job;
    return hello;
}

/// Makes HELLO, PROOF and what a member would say next, all at once. Without a secret this needs no answer.
std::string handshake(const Hello &hello, const SessionId &session, const std::string &body) {
    Seal none;
    const std::string proof = PayloadWriter().bytes(Digest{}).text(body).take();
    return encode(ControlFrame{FrameKind::kHello, session, encode(hello)}, none) +
           encode(ControlFrame{FrameKind::kProof, session, proof}, none) + std::string(4096, 'x');
}

std::set<std::string> sockets_of(int pid) {
    std::set<std::string> inodes;
    std::error_code ignored;
    for (const auto &entry : std::filesystem::directory_iterator(text("/proc/", pid, "/fd"), ignored)) {
        const std::string name = std::filesystem::read_symlink(entry.path(), ignored).string();
        if (name.starts_with("socket:[")) inodes.insert(name.substr(8, name.size() - 9));
    }
    return inodes;
}

/// Returns the port on which that process listens; 0 if it does not. (It looks only at the process's sockets, so that
/// no other job on this host is attacked. A stranger would try all listening ports.)
uint16_t port_of(int pid) {
    const std::set<std::string> inodes = sockets_of(pid);
    std::ifstream table("/proc/net/tcp");
    std::string line;
    while (std::getline(table, line)) {
        std::istringstream words(line);
        std::string slot, local, remote, state, queues, timer, retries, user, timeout, inode;
        words >> slot >> local >> remote >> state >> queues >> timer >> retries >> user >> timeout >> inode;
        if (state != "0A" || inodes.count(inode) == 0) continue;
        return static_cast<uint16_t>(std::stoul(local.substr(local.find(':') + 1), nullptr, 16));
    }
    return 0;
}

int connect_to(const Endpoint &to) {
    const SocketAddress address = socket_address(to);
    const int descriptor = socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    const linger at_once = {1, 0}; // resets the connection, which leaves no TIME_WAIT
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    if (connect(descriptor, address.get(), address.length) == 0) return descriptor;
    close(descriptor);
    return -1;
}

/// Appends what has arrived to `bytes`. Returns false at the end.
bool take_from(int descriptor, std::string &bytes) {
    char some[4096];
    const ssize_t got = read(descriptor, some, sizeof some);
    if (got > 0) bytes.append(some, static_cast<std::size_t>(got));
    return got > 0;
}

bool send_all(int descriptor, std::string_view bytes) {
    return send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

} // namespace

Intruder::Intruder(Prey prey) : prey_(std::move(prey)), ports_(prey_.pids.size(), 0) {}

void Intruder::learn(const Overheard &overheard) {
    sessions_.insert(overheard.session);
    replays_.push_back(overheard.said);
}

void Intruder::find_ports() {
    for (std::size_t rank = 0; rank < ports_.size(); ++rank)
        if (ports_[rank] == 0) ports_[rank] = port_of(prey_.pids[rank]);
}

void Intruder::attack() {
    if (number_++ % 8 == 0) find_ports();
    attack_store();
    for (uint32_t rank = 0; rank < ports_.size(); ++rank)
        if (ports_[rank] != 0) attack_worker(rank, ports_[rank]);
    hear();
}

void Intruder::say(const Endpoint &to, const std::string &words) {
    const int descriptor = connect_to(to);
    if (descriptor < 0) return;
    ++attempts_;
    static_cast<void>(send(descriptor, words.data(), words.size(), MSG_NOSIGNAL));
    open_.push_back({descriptor});
}

void Intruder::attack_store() {
    const std::string body = PayloadWriter().number(uint16_t{9}).number(uint8_t{1}).text("nothing").take();
    const uint32_t size = static_cast<uint32_t>(prey_.pids.size());
    Hello hello = hello_of(prey_, Role::kJoin, number_ % size, kStoreRank);
    if (prey_.may_join) say(prey_.store, handshake(hello, {}, body));
    hello.job = "another";
    say(prey_.store, handshake(hello, {}, body));
    say(prey_.store, handshake(hello, new_session(), body));
    for (const std::string &words : replays_) say(prey_.store, words);
}

void Intruder::attack_worker(uint32_t rank, uint16_t port) {
    const Endpoint worker{prey_.store.host, port};
    std::vector<SessionId> sessions(sessions_.begin(), sessions_.end());
    sessions.push_back(new_session());
    sessions.push_back({}); // a wrong one, so that the answer may tell another
    const std::string body = PayloadWriter().bytes(Digest{}).take();
    for (const SessionId &session : sessions) {
        for (uint32_t other = 0; other < ports_.size(); ++other) {
            Hello hello = hello_of(prey_, Role::kData, other, rank);
            for (hello.number = 0; hello.number < kNumbers; ++hello.number)
                say(worker, handshake(hello, session, body));
            hello.role = Role::kControl;
            if (prey_.may_join) say(worker, handshake(hello, session, {}));
        }
    }
    for (const std::string &words : replays_) say(worker, words);
}

/// Reads the answers to the attempts so far.
void Intruder::hear() {
    std::vector<pollfd> waits;
    for (const Attempt &attempt : open_) waits.push_back({attempt.descriptor, POLLIN, 0});
    while (!waits.empty() && poll(waits.data(), waits.size(), kPatienceMs) > 0)
        for (std::size_t i = 0; i < waits.size(); ++i)
            if (waits[i].revents != 0 && !listen_to(open_[i])) waits[i].fd = -1;
    std::vector<Attempt> waiting;
    for (std::size_t i = 0; i < waits.size(); ++i) {
        const bool is_late = waits.size() - i > kMostOpen;
        if (waits[i].fd < 0 || is_late)
            close(open_[i].descriptor);
        else
            waiting.push_back(std::move(open_[i]));
    }
    open_ = std::move(waiting);
}

/// Reads the answer to an attempt. Returns false once nothing more comes.
bool Intruder::listen_to(Attempt &attempt) {
    char bytes[4096];
    const ssize_t got = read(attempt.descriptor, bytes, std::min(sizeof bytes, attempt.reader.wanted()));
    if (got <= 0) return false;
    attempt.reader.feed({bytes, static_cast<std::size_t>(got)});
    if (const auto frame = attempt.reader.next()) {
        const bool inside = frame->kind == FrameKind::kWelcome || frame->kind == FrameKind::kProgress ||
                            frame->kind == FrameKind::kGeneration || frame->kind == FrameKind::kGo;
        entered_ += inside ? 1 : 0;
        if (frame->kind == FrameKind::kRefused && frame->session != SessionId{} &&
            sessions_.insert(frame->session).second)
            ++told_;
    }
    return attempt.reader.wanted() != 0;
}

Relay::Relay(const Endpoint &store, int release) : store_(store), release_(release) {
    SocketAddress address = socket_address({"127.0.0.1", 0});
    listener_ = socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener_, address.get(), address.length) != 0 || listen(listener_, 4) != 0) throw std::bad_alloc();
    port_ = local_endpoint(listener_).port;
}

void Relay::carry() {
    if (near_ < 0) {
        near_ = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        far_ = connect_to(store_);
        heard_.clear();
        passed_ = 0;
        go_at_ = std::string::npos;
        overheard_ = {};
    }
    pollfd waits[3] = {{near_, POLLIN, 0}, {far_, POLLIN, 0}, {released_ ? -1 : release_, POLLIN, 0}};
    poll(waits, 3, -1);
    if (waits[2].revents != 0) released_ = true;
    const std::size_t said = overheard_.said.size();
    const bool goes_on = (waits[0].revents == 0 || (take_from(near_, overheard_.said) &&
                                                    send_all(far_, std::string_view(overheard_.said).substr(said)))) &&
                         (waits[1].revents == 0 || take_from(far_, heard_));
    look_at_frames();
    const std::size_t end = holds_go() ? go_at_ : heard_.size();
    if (goes_on && send_all(near_, std::string_view(heard_).substr(passed_, end - passed_))) {
        passed_ = end;
        return;
    }
    close(near_); // the worker will connect again
    close(far_);
    near_ = far_ = -1;
}

/// Looks at the headers of the frames. A secret does not hide them.
void Relay::look_at_frames() {
    constexpr std::size_t kKindAt = 5, kSessionAt = 16;
    for (std::size_t at = heard_.find("mDst"); at != std::string::npos; at = heard_.find("mDst", at + 1)) {
        if (at + kFrameHeaderBytes > heard_.size()) return;
        const auto kind = static_cast<FrameKind>(heard_[at + kKindAt]);
        if (kind == FrameKind::kGeneration)
            std::memcpy(overheard_.session.data(), heard_.data() + at + kSessionAt, overheard_.session.size());
        if (kind == FrameKind::kGo) go_at_ = std::min(go_at_, at);
    }
}

} // namespace mdist::test
