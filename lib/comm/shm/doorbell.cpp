// SPDX-License-Identifier: Apache-2.0
#include "comm/shm/doorbell.h"

#include "util/failure.h"
#include "util/text.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mdist {
namespace {

/// Rings once. A pipe that is full has been rung often enough.
void ring_pipe(int file) noexcept {
    const char byte = 0;
    while (::write(file, &byte, sizeof byte) < 0 && errno == EINTR) {
    }
}

} // namespace

OwnDoorbell::OwnDoorbell() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        const int error = errno;
        throw Failure(MDIST_ERR_RESOURCE, text("cannot make a pipe that wakes this worker: ", strerror(error)))
            .native(error);
    }
    read_ = OpenFile(ends[0]);
    write_ = OpenFile(ends[1]);
}

void OwnDoorbell::ring() const noexcept {
    ring_pipe(write_.get());
}

void OwnDoorbell::silence() const noexcept {
    char bytes[256];
    for (;;) {
        const ssize_t got = ::read(read_.get(), bytes, sizeof bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got < static_cast<ssize_t>(sizeof bytes)) return;
    }
}

// Opens it for reading as well, though nobody reads here: writing to a pipe whose last reader has ended raises a
// signal.
MateDoorbell::MateDoorbell(const MateSegment &segment, int number) : file_(segment.open_of_owner(number, O_RDWR)) {
    struct stat status = {};
    if (file_.is_open() && fstat(file_.get(), &status) == 0 && S_ISFIFO(status.st_mode)) return;
    throw Failure(MDIST_ERR_UNSUPPORTED, text("it cannot be woken: descriptor ", number,
                                              " of its process: ", file_.is_open() ? "not a pipe" : strerror(errno)));
}

void MateDoorbell::ring() const noexcept {
    ring_pipe(file_.get());
}

} // namespace mdist
