// SPDX-License-Identifier: Apache-2.0
#include "cluster/pmi_client.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "util/clock.h"
#include "util/failure.h"
#include "util/long_wait.h"
#include "util/text.h"
#include "util/utf8.h"

namespace mdist {

namespace {

constexpr std::size_t kMostLineBytes = 4096;

[[noreturn]] void refuse_errno(std::string_view what, int code) {
    throw Failure(MDIST_ERR_IO, text("cannot ", what, " PMI_FD: ", std::generic_category().message(code)))
        .reason("pmi")
        .native(code);
}

Failure unexpected(std::string_view line) {
    return Failure(MDIST_ERR_IO, text("PMI_FD answered ", in_quotes(line))).reason("pmi");
}

/// Returns the value of a key in a line, or "" if the line has no such key. A value ends at a space.
std::string value_of(std::string_view line, std::string_view key) {
    for (std::string_view rest = line; !rest.empty();) {
        std::string_view word = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(word.size() + 1, rest.size()));
        if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=')
            return std::string(word.substr(key.size() + 1));
    }
    return "";
}

} // namespace

PmiClient::PmiClient(int fd, std::uint64_t timeout_ns)
    : fd_(fd), deadline_ns_(monotonic_clock().now_ns() + timeout_ns) {}

void PmiClient::wait_for(short events) {
    LongWait long_wait(monotonic_clock().now_ns());
    for (;;) {
        std::uint64_t now = monotonic_clock().now_ns();
        if (now >= deadline_ns_)
            throw Failure(MDIST_ERR_TIMEOUT, "not all workers reached PMI in time to exchange the address of the store")
                .reason("pmi");
        long_wait.look([]() -> WaitText {
            return {"this worker", "mdist_strategy_create", "other workers, which have not reached PMI"};
        });
        std::uint64_t left_ms = std::min(deadline_ns_ - now, long_wait.slice_ns()) / 1'000'000 + 1;
        pollfd entry{fd_, events, 0};
        int ready = ::poll(&entry, 1, static_cast<int>(std::min<std::uint64_t>(left_ms, 60'000)));
        if (ready > 0) return;
        if (ready < 0 && errno != EINTR) refuse_errno("wait for", errno);
    }
}

void PmiClient::send_line(std::string line) {
    line += '\n';
    for (std::string_view rest = line; !rest.empty();) {
        ssize_t sent = ::send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0)
            rest.remove_prefix(static_cast<std::size_t>(sent));
        else if (errno == EAGAIN)
            wait_for(POLLOUT);
        else if (errno != EINTR)
            refuse_errno("write to", errno);
    }
}

std::string PmiClient::receive_line() {
    std::string line;
    while (line.empty() || line.back() != '\n') {
        char part[512];
        ssize_t got = ::recv(fd_, part, sizeof part, MSG_DONTWAIT);
        if (got > 0)
            line.append(part, static_cast<std::size_t>(got));
        else if (got == 0)
            throw Failure(MDIST_ERR_PEER_LOST, "PMI_FD was closed by the launcher").reason("pmi");
        else if (errno == EAGAIN)
            wait_for(POLLIN);
        else if (errno != EINTR)
            refuse_errno("read from", errno);
        // Each request waits for the answer to the one before, so at most one line can come.
        if (line.size() > kMostLineBytes || line.find('\n') < line.size() - 1) throw unexpected(line);
    }
    line.pop_back();
    return line;
}

std::string PmiClient::ask(std::string_view request, std::string_view reply) {
    send_line(text("cmd=", request));
    std::string line = receive_line();
    std::string code = value_of(line, "rc");
    if (value_of(line, "cmd") != reply || (!code.empty() && code != "0")) throw unexpected(line);
    return line;
}

void PmiClient::init() {
    ask("init pmi_version=1 pmi_subversion=1", "response_to_init");
}

void PmiClient::finalize() {
    ask("finalize", "finalize_ack");
}

std::string PmiClient::share(std::uint32_t rank, std::string_view key, std::string_view value) {
    std::string line = ask("get_my_kvsname", "my_kvsname");
    std::string space = value_of(line, "kvsname");
    if (space.empty()) throw unexpected(line);
    if (rank == 0) ask(text("put kvsname=", space, " key=", key, " value=", value), "put_result");
    ask("barrier_in", "barrier_out");
    line = ask(text("get kvsname=", space, " key=", key), "get_result");
    std::string shared = value_of(line, "value");
    if (shared.empty()) throw unexpected(line);
    return shared;
}

} // namespace mdist
