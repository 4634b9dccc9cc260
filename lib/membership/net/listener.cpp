// SPDX-License-Identifier: Apache-2.0
#include "membership/net/listener.h"

#include <cerrno>
#include <cstring>

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "membership/net/address.h"
#include "membership/net/log_limit.h"
#include "util/failure.h"
#include "util/log.h"
#include "util/text.h"

namespace mdist {
namespace {

constexpr uint64_t kPauseNs = 100'000'000;

/// Opens a new socket that listens there.
Descriptor listening_socket(const Endpoint &at) {
    const SocketAddress address = socket_address(at);
    Descriptor descriptor(list_descriptor(
        checked(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "open a socket")));
    const int on = 1;
    setsockopt(descriptor.get(), SOL_SOCKET, SO_REUSEADDR, &on,
               sizeof on); // connections of an earlier store may linger
    if (address.family() == AF_INET6) setsockopt(descriptor.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(descriptor.get(), address.get(), address.length) == 0 && listen(descriptor.get(), SOMAXCONN) == 0)
        return descriptor;
    const int error = errno;
    if (error == EADDRNOTAVAIL)
        throw Failure(MDIST_ERR_CONFIG,
                      text("cannot listen at ", text_of(at), ": this host does not have that address"))
            .reason("address_not_local")
            .native(error);
    throw Failure(
        MDIST_ERR_RESOURCE,
        text("cannot listen at ", text_of(at), ": ", std::strerror(error),
             error == EADDRINUSE ? ". Another process listens there; choose another port for one of the two" : ""))
        .reason(error == EADDRINUSE ? "address_in_use" : "")
        .native(error);
}

bool out_of_descriptors(int error) {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

} // namespace

Endpoint Listener::listen_at(const Endpoint &at) {
    Descriptor fresh = listening_socket(at);
    close();
    descriptor_ = std::move(fresh);
    if (!watch()) checked(-1, "watch a descriptor");
    return local_endpoint(descriptor_.get());
}

void Listener::close() noexcept {
    if (descriptor_.get() >= 0) epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor_.get(), nullptr);
    descriptor_ = Descriptor();
    resumes_at_ns_ = UINT64_MAX;
}

/// Returns false, with errno, if the kernel has no room to watch it.
bool Listener::watch() noexcept {
    if (watch_events(epoll_, EPOLL_CTL_ADD, descriptor_.get(), EPOLLIN, id_) != 0) return false;
    resumes_at_ns_ = UINT64_MAX;
    return true;
}

Descriptor Listener::accept(uint64_t now_ns, std::string &host) {
    SocketAddress address;
    address.length = sizeof address.storage;
    const int accepted = accept4(descriptor_.get(), address.get(), &address.length, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (accepted < 0) { // nobody is there, or the caller has gone again; epoll reports any other that waits
        if (out_of_descriptors(errno)) pause(now_ns, errno);
        return Descriptor();
    }
    Descriptor descriptor(list_descriptor(accepted));
    host = endpoint_of(address).host;
    return descriptor;
}

void Listener::pause(uint64_t now_ns, int error) {
    if (now_ns >= tells_at_ns_) {
        log_warn("cannot accept connections for now: ", std::strerror(error));
        tells_at_ns_ = now_ns + kLogPauseNs;
    }
    epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor_.get(), nullptr);
    resumes_at_ns_ = now_ns + kPauseNs;
}

void Listener::resume_if_due(uint64_t now_ns) {
    if (now_ns >= resumes_at_ns_ && !watch()) resumes_at_ns_ = now_ns + kPauseNs;
}

} // namespace mdist
