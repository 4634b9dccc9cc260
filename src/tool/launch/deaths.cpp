// SPDX-License-Identifier: Apache-2.0
#include "launch/deaths.h"

#include <cerrno>
#include <system_error>

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mdist {

Deaths::Deaths() : ready_(epoll_create1(EPOLL_CLOEXEC)) {
    if (!ready_.is_open()) throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

void Deaths::watch(pid_t child) {
    Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = static_cast<uint64_t>(child);
    if (process.is_open() && epoll_ctl(ready_.get(), EPOLL_CTL_ADD, process.get(), &event) == 0)
        watched_.emplace(child, std::move(process));
}

std::vector<pid_t> Deaths::take() {
    std::vector<pid_t> ended;
    epoll_event event{};
    while (epoll_wait(ready_.get(), &event, 1, 0) == 1) {
        ended.push_back(static_cast<pid_t>(event.data.u64));
        watched_.erase(ended.back());
    }
    return ended;
}

} // namespace mdist
