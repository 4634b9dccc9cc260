// SPDX-License-Identifier: Apache-2.0
#include "membership/net/descriptors.h"

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/failure.h"
#include "util/process_wide.h"
#include "util/text.h"

namespace mdist {
namespace {

/// Identifies the file behind a descriptor, so that a later descriptor with the same number is not mistaken for it.
struct File {
    dev_t device;
    ino_t inode;
    bool operator==(const File &) const = default;
};

struct Registry {
    std::mutex lock;
    std::map<int, File> files;
    bool watching = false;
};

Registry &registry() {
    return process_wide<Registry>();
}

bool file_of(int descriptor, File *file) noexcept {
    struct stat status = {};
    if (fstat(descriptor, &status) != 0) return false;
    *file = {status.st_dev, status.st_ino};
    return true;
}

void before_fork() {
    registry().lock.lock();
}
void after_fork_in_parent() {
    registry().lock.unlock();
}
void after_fork_in_child() {
    File file;
    for (const auto &[descriptor, listed] : registry().files)
        if (file_of(descriptor, &file) && file == listed) close(descriptor);
    registry().lock.unlock();
}

} // namespace

int list_descriptor(int descriptor) {
    if (descriptor < 0) return descriptor;
    File file = {};
    if (!file_of(descriptor, &file)) return descriptor;
    const std::lock_guard<std::mutex> hold(registry().lock);
    try {
        if (!registry().watching && pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0)
            throw std::bad_alloc();
        registry().watching = true;
        registry().files[descriptor] = file;
    } catch (...) {
        close(descriptor);
        throw;
    }
    return descriptor;
}

void close_descriptor(int descriptor) noexcept {
    if (descriptor < 0) return;
    {
        const std::lock_guard<std::mutex> hold(registry().lock);
        registry().files.erase(descriptor);
    }
    close(descriptor);
}

int watch_events(int epoll, int operation, int descriptor, uint32_t events, uint64_t id) noexcept {
    epoll_event event = {};
    event.events = events;
    event.data.u64 = id;
    return epoll_ctl(epoll, operation, descriptor, &event);
}

int checked(int result, const char *what) {
    if (result < 0) throw Failure(MDIST_ERR_RESOURCE, text("cannot ", what, ": ", std::strerror(errno))).native(errno);
    return result;
}

} // namespace mdist
