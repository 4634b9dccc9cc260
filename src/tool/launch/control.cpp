// SPDX-License-Identifier: Apache-2.0
#include "launch/control.h"

#include "launch/options.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iostream>
#include <system_error>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace mdist {
namespace {

constexpr int kLauncherWaits_ms = 2'000; // for the text of a request
constexpr int kAskerWaits_ms = 10'000;   // for the answer

[[noreturn]] void fail(const std::string &what) {
    throw std::system_error(errno, std::generic_category(), what);
}

struct Address {
    sockaddr_un address{};
    socklen_t length = 0;
};

/// An address without a file. Throws UsageError if the name is too long for one.
Address address_of(const std::string &job) {
    const std::string name = "mdist-" + std::to_string(getuid()) + "-" + job;
    Address where;
    if (name.size() + 1 > sizeof where.address.sun_path)
        throw UsageError("--resize: the name of the job is too long; with --resize it has at most 80 bytes");
    where.address.sun_family = AF_UNIX;
    std::memcpy(where.address.sun_path + 1, name.data(), name.size());
    where.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    return where;
}

Descriptor open_socket() {
    Descriptor made(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (!made.is_open()) fail("cannot open a socket for --resize");
    return made;
}

void limit_waits(int fd, int ms) {
    const timeval limit = {ms / 1000, ms % 1000 * 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

bool is_from_this_user(int fd) {
    ucred peer{};
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == getuid() || peer.uid == 0);
}

} // namespace

Control::Control(const std::string &job) : socket_(open_socket()) {
    const Address where = address_of(job);
    if (bind(fd(), reinterpret_cast<const sockaddr *>(&where.address), where.length) != 0 || listen(fd(), 4) != 0)
        fail("--resize cannot reach this job" +
             (errno == EADDRINUSE ? ": it reaches another one named \"" + job + "\"" : std::string()));
}

void Control::answer(const std::function<std::string(uint32_t workers)> &resize) {
    const Descriptor from(accept4(fd(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!from.is_open() || !is_from_this_user(from.get())) return;
    limit_waits(from.get(), kLauncherWaits_ms);
    uint32_t workers = 0;
    if (recv(from.get(), &workers, sizeof workers, 0) != sizeof workers) return;
    const std::string said = resize(workers);
    send(from.get(), said.data(), said.size(), MSG_NOSIGNAL); // the asker may have gone
}

int ask_to_resize(const std::string &job, uint32_t workers) {
    const Address where = address_of(job);
    const Descriptor to = open_socket();
    if (connect(to.get(), reinterpret_cast<const sockaddr *>(&where.address), where.length) != 0) {
        if (errno != ECONNREFUSED) fail("cannot reach the launcher of the job \"" + job + "\"");
        std::cerr << "mdist launch: no elastic job named \"" << job
                  << "\" was started by this user on this host. Name jobs with --job\n";
        return 1;
    }
    limit_waits(to.get(), kAskerWaits_ms);
    char said[512];
    ssize_t length = -1;
    errno = EPERM; // it runs as another user
    if (is_from_this_user(to.get()) && send(to.get(), &workers, sizeof workers, MSG_NOSIGNAL) == sizeof workers)
        length = recv(to.get(), said, sizeof said, 0);
    if (length == 0) errno = ECONNRESET;
    if (length < 0 && errno == EAGAIN) errno = ETIMEDOUT;
    if (length <= 0) fail("the launcher of the job \"" + job + "\" has not answered");
    const std::string words(said, static_cast<std::size_t>(length));
    const bool granted = words.rfind(kGranted, 0) == 0;
    (granted ? std::cout : std::cerr) << "mdist: " << (granted ? words.substr(std::strlen(kGranted)) : words) << "\n";
    return granted ? 0 : 1;
}

} // namespace mdist
