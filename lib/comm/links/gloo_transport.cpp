// SPDX-License-Identifier: Apache-2.0
#include "comm/links/gloo_transport.h"

#include "util/failure.h"
#include "util/text.h"
#include "util/thread.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

namespace mdist {

namespace tcp = gloo::transport::tcp;

bool GlooBuffer::complete() {
    const std::lock_guard lock(m_);
    return recvCompletions_ + sendCompletions_ > 0;
}

GlooPair::GlooPair(tcp::Context *context, tcp::Device *device, int peer, std::chrono::milliseconds timeout,
                   EventCount &events)
    : Pair(context, device, peer, timeout), events_(events) {}

std::string GlooPair::reason() {
    const std::lock_guard lock(m_);
    try {
        throwIfException();
    } catch (const std::exception &error) {
        return gloo_reason(error);
    }
    return "closed";
}

void GlooPair::lose(const std::string &reason) noexcept {
    try {
        signalExceptionExternal(reason);
    } catch (...) { // out of memory
        lost_.store(true, std::memory_order_release);
    }
    events_.advance();
}

void GlooPair::shut() {
    const std::lock_guard lock(m_);
    if (state_ != CLOSED) changeState(CLOSED);
}

void GlooPair::close_on_exec() {
    const std::lock_guard lock(m_);
    if (state_ != CLOSED) fcntl(fd_, F_SETFD, FD_CLOEXEC);
}

void GlooPair::close_listener_on_exec() {
    const sockaddr_storage &wanted = self_.getSockaddr();
    std::error_code ignored; // without /proc the socket stays as Gloo made it
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
        const int file = std::atoi(entry.path().filename().c_str());
        int listens = 0;
        socklen_t bytes = sizeof listens;
        sockaddr_storage address{};
        if (getsockopt(file, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0 || listens == 0) continue;
        bytes = sizeof address;
        if (getsockname(file, reinterpret_cast<sockaddr *>(&address), &bytes) == 0 &&
            std::memcmp(&address, &wanted, bytes) == 0)
            fcntl(file, F_SETFD, FD_CLOEXEC);
    }
}

void GlooPair::handleEvents(int events) {
    try {
        Pair::handleEvents(events);
    } catch (const std::exception &error) {
        end(gloo_reason(error));
    }
}

/// Whoever has the lock may wait for this thread to forget the socket. So this thread must not wait for the lock. If it
/// does not get it, the next event brings it to read().
void GlooPair::end(const std::string &reason) noexcept {
    try {
        broken_ = reason;
        const std::unique_lock lock(m_, std::try_to_lock);
        if (lock) signalException(reason);
    } catch (const std::exception &) { // out of memory
    }
    lost_.store(true, std::memory_order_release);
    events_.advance();
}

bool GlooPair::read() {
    if (!broken_.empty()) return signalException(broken_), false;
    const bool whole = Pair::read();
    if (whole) events_.advance();
    return whole;
}

bool GlooPair::write(tcp::Op &op) {
    const bool whole = Pair::write(op);
    if (whole) events_.advance();
    return whole;
}

void GlooPair::changeState(state next_state) noexcept {
    Pair::changeState(next_state);
    if (next_state != CLOSED) return;
    lost_.store(true, std::memory_order_release);
    events_.advance();
}

std::unique_ptr<gloo::transport::Pair> &GlooContext::createPair(int peer) {
    auto &pair = pairs_.at(static_cast<std::size_t>(peer));
    auto made = std::make_unique<GlooPair>(this, device_.get(), peer, getTimeout(), events_);
    made->close_on_exec(); // its lock also makes sure that the loop thread sees a complete pair
    if (!listener_marked_) made->close_listener_on_exec();
    listener_marked_ = true;
    return pair = std::move(made);
}

void GlooContext::announced(std::vector<GlooAnnouncement> &out) {
    out.clear();
    const std::lock_guard lock(mutex_);
    for (const Tally &tally : pendingOperations_) {
        for (const int peer : tally.getSendList()) out.push_back({static_cast<uint32_t>(peer), tally.slot, true});
        for (const int peer : tally.getRecvList()) out.push_back({static_cast<uint32_t>(peer), tally.slot, false});
    }
}

namespace {

tcp::attr attributes_of(const std::string &address) {
    // No name look-up, which Gloo's own factory would do.
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo *found = nullptr;
    if (getaddrinfo(address.c_str(), nullptr, &hints, &found) != 0)
        throw invalid(text("\"", address, "\" is not a numeric address"));
    tcp::attr attributes;
    attributes.ai_family = found->ai_family;
    attributes.ai_socktype = SOCK_STREAM | SOCK_CLOEXEC;
    attributes.ai_protocol = 0;
    attributes.ai_addr = {};
    attributes.ai_addrlen = static_cast<int>(found->ai_addrlen);
    std::memcpy(&attributes.ai_addr, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return attributes;
}

/// Throws if this host does not have the address. Gloo would report it less clearly, and leak.
void try_to_bind(const std::string &address, const tcp::attr &attributes) {
    const int file = socket(attributes.ai_family, attributes.ai_socktype, attributes.ai_protocol);
    const bool bound = file >= 0 && bind(file, reinterpret_cast<const sockaddr *>(&attributes.ai_addr),
                                         static_cast<socklen_t>(attributes.ai_addrlen)) == 0;
    const int error = bound ? 0 : errno;
    if (file >= 0) ::close(file);
    if (!bound)
        throw Failure(MDIST_ERR_IO,
                      text("cannot bind a socket to ", address, ": ", std::generic_category().message(error)))
            .native(error);
}

} // namespace

std::shared_ptr<tcp::Device> make_gloo_device(const std::string &address) {
    const tcp::attr attributes = attributes_of(address);
    try_to_bind(address, attributes);
    try {
        const SignalsBlocked blocked; // also in the loop thread, SIGPIPE too: it writes without MSG_NOSIGNAL
        return std::make_shared<tcp::Device>(attributes);
    } catch (const std::exception &error) {
        throw Failure(MDIST_ERR_IO, text("Gloo cannot use the address ", address, ": ", gloo_reason(error)));
    }
}

std::string gloo_reason(const std::exception &error) {
    const std::string whole = error.what();
    const std::size_t end = whole.find("] ");
    std::string reason = whole.front() == '[' && end != std::string::npos ? whole.substr(end + 2) : whole;
    while (!reason.empty() && (reason.back() == ' ' || reason.back() == '\n')) reason.pop_back();
    return reason;
}

} // namespace mdist
