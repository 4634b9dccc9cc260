// SPDX-License-Identifier: Apache-2.0
#include "membership/net/wakener.h"

#include <cerrno>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace mdist {

Wakener::Wakener(int epoll, uint64_t id)
    : descriptor_(list_descriptor(checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "make an event descriptor"))) {
    checked(watch_events(epoll, EPOLL_CTL_ADD, descriptor_.get(), EPOLLIN, id), "watch a descriptor");
}

void Wakener::wake() const noexcept {
    const uint64_t one = 1;
    while (write(descriptor_.get(), &one, sizeof one) < 0 && errno == EINTR) {
    }
}

void Wakener::woken() const noexcept {
    uint64_t times = 0;
    while (read(descriptor_.get(), &times, sizeof times) < 0 && errno == EINTR) {
    }
}

} // namespace mdist
