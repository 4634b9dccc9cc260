// SPDX-License-Identifier: Apache-2.0
#include "workers.h"

#include "util/clock.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mdist::test {
namespace {

constexpr uint64_t kPatience = 2 * kLongEnough;

void say_line(int pipe, std::string line) {
    line += '\n';
    if (write(pipe, line.data(), line.size()) < 0) _exit(3);
}

[[noreturn]] void be_worker(uint32_t rank, const Work &work, int pipe) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const Say say = [&](const std::string &line) { say_line(pipe, line); };
    try {
        work(rank, say);
    } catch (const Failure &failure) {
        say(told(failure));
    } catch (const std::exception &exception) {
        say(exception.what());
        _exit(2);
    }
    _exit(0);
}

} // namespace

std::string told(const Failure &failure) {
    return text(std::string(mdist_status_name(failure.status())).substr(strlen("MDIST_ERR_")), ' ',
                failure.reason().empty() ? "-" : failure.reason(), " worker ",
                failure.worker() == MDIST_NONE ? "none" : text(failure.worker()), ": ",
                failure.message());
}

WorkerTeam::~WorkerTeam() {
    for (Child &child : children_) {
        if (child.joined) continue;
        kill(child.pid, SIGKILL);
        waitpid(child.pid, nullptr, 0);
    }
    for (const Child &child : children_) close(child.pipe);
}

void WorkerTeam::start(uint32_t rank, const Work &work) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::bad_alloc();
    const int pid = fork();
    if (pid == 0) {
        for (const Child &other : children_) close(other.pipe);
        be_worker(rank, work, ends[1]);
    }
    close(ends[1]);
    children_.push_back({rank, pid, ends[0], "", false});
}

WorkerTeam::Child *WorkerTeam::child(uint32_t rank) {
    for (auto it = children_.rbegin(); it != children_.rend(); ++it)
        if (it->rank == rank) return &*it;
    return nullptr;
}

void WorkerTeam::signal(uint32_t rank, int number) const {
    kill(const_cast<WorkerTeam *>(this)->child(rank)->pid, number);
}

std::string WorkerTeam::next_line(uint32_t rank) {
    Child &from = *child(rank);
    const uint64_t deadline = monotonic_clock().now_ns() + kPatience;
    for (;;) {
        if (const std::size_t end = from.unread.find('\n'); end != std::string::npos) {
            const std::string line = from.unread.substr(0, end);
            from.unread.erase(0, end + 1);
            return line;
        }
        const uint64_t now = monotonic_clock().now_ns();
        pollfd wait = {from.pipe, POLLIN, 0};
        if (now >= deadline || poll(&wait, 1, static_cast<int>((deadline - now) / 1'000'000 + 1)) == 0) return "";
        char bytes[4096];
        const ssize_t got = read(from.pipe, bytes, sizeof bytes);
        if (got == 0) return "";
        if (got > 0) from.unread.append(bytes, static_cast<std::size_t>(got));
    }
}

bool WorkerTeam::join(uint32_t rank) {
    Child &whom = *child(rank);
    while (!next_line(rank).empty()) {
    }
    // Either the pipe has ended, so that the process is ending, or the limit has passed.
    pollfd ended = {whom.pipe, POLLIN, 0};
    if (poll(&ended, 1, 0) == 0) kill(whom.pid, SIGKILL);
    int status = 0;
    waitpid(whom.pid, &status, 0);
    whom.joined = true;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string own_host() {
    const unsigned id = static_cast<unsigned>(getpid());
    return text("127.", 2 + (id >> 16) % 250, '.', (id >> 8) & 0xff, '.', 1 + (id & 0xff) % 254);
}

MembershipOptions options_for(uint32_t rank, uint32_t size, const std::string &store) {
    MembershipOptions options;
    options.rank = rank;
    options.size = size;
    options.store = store;
    options.job = "test";
    options.agreement = "timeout = 600 s\n";
    options.join_timeout_ns = kLongEnough;
    options.heartbeat_timeout_ns = kLongEnough;
    return options;
}

} // namespace mdist::test
