// SPDX-License-Identifier: Apache-2.0
#include "comm/shm/segment.h"

#include "util/failure.h"
#include "util/round_up.h"
#include "util/text.h"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mdist {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHead = kPage; // in front of data(): tells this segment from any other file
constexpr std::size_t kCookie = 16;
constexpr char kSegmentMagic[16] = "mdist segment 1";

struct Head {
    char magic[sizeof kSegmentMagic];
    char cookie[2 * kCookie + 1]; // in hexadecimal
};

std::string make_cookie() {
    unsigned char random[kCookie];
    if (getrandom(random, sizeof random, 0) != static_cast<ssize_t>(sizeof random))
        throw Failure(MDIST_ERR_RESOURCE, "cannot get random numbers from the system for shared memory").native(errno);
    std::string cookie;
    for (const unsigned char byte : random)
        for (const int digit : {byte >> 4, byte & 15}) cookie += "0123456789abcdef"[digit];
    return cookie;
}

/// Maps a file without taking memory for it, even in programs that lock everything they map (mlockall).
char *map_shared(int fd, std::size_t length, int protection) {
    void *map = mmap(nullptr, length, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (map == MAP_FAILED) return nullptr;
    munlock(map, length);
    if (mprotect(map, length, protection) != 0) {
        munmap(map, length);
        return nullptr;
    }
    return static_cast<char *>(map);
}

/// Whether a file may have that length. Exceeding the limit would raise a signal.
bool within_file_limit(std::size_t length) {
    rlimit limit = {};
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || length <= limit.rlim_cur;
}

Failure no_segment(std::size_t bytes, const char *step) {
    const int error = errno;
    return Failure(MDIST_ERR_RESOURCE, text("no shared memory of ", bytes, " bytes: ", step, ": ", strerror(error)))
        .native(error);
}

/// Gives memory to pages, with their page tables if the kernel can do that (5.14).
int back_pages(int fd, char *map, std::size_t begin, std::size_t bytes) noexcept {
    const std::size_t end = begin + bytes;
    begin = begin / kPage * kPage;
    int result = 0;
    do {
        result = madvise(map + begin, end - begin, MADV_POPULATE_WRITE);
    } while (result != 0 && errno == EINTR);
    if (result != 0 && errno == EINVAL)
        result = fallocate(fd, 0, static_cast<off_t>(begin), static_cast<off_t>(end - begin));
    return result == 0 ? 0 : errno == EFAULT ? ENOSPC : errno; // EFAULT: an access would raise SIGBUS
}

Failure no_mate(std::string why) {
    return {MDIST_ERR_UNSUPPORTED, std::move(why)};
}

} // namespace

OwnSegment::OwnSegment(std::size_t bytes) {
    const std::string cookie = make_cookie();
    const std::size_t length = kHead + round_up(bytes, kHead);
    if (!within_file_limit(length)) throw(errno = EFBIG, no_segment(bytes, "ulimit -f"));
    file_ = OpenFile(memfd_create("mdist", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!file_.is_open()) throw no_segment(bytes, "memfd_create");
    if (ftruncate(fd(), static_cast<off_t>(length)) != 0) throw no_segment(bytes, "ftruncate");
    if (fcntl(fd(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        throw no_segment(bytes, "sealing"); // without the seals, a mate that reads could get SIGBUS
    map_ = map_shared(fd(), length, PROT_READ | PROT_WRITE);
    if (map_ == nullptr) throw no_segment(bytes, "mmap");
    length_ = length;
    if (const int error = back_pages(fd(), map_, 0, kHead); error != 0) {
        munmap(map_, length_);
        throw(errno = error, no_segment(bytes, "its first page"));
    }
    Head *const head = reinterpret_cast<Head *>(map_);
    std::memcpy(head->magic, kSegmentMagic, sizeof kSegmentMagic);
    std::memcpy(head->cookie, cookie.c_str(), sizeof head->cookie);
    offer_ = text("shm1 ", getpid(), " ", fd(), " ", length_, " ", cookie);
}

OwnSegment::~OwnSegment() {
    munmap(map_, length_);
}

char *OwnSegment::data() const {
    return map_ + kHead;
}

std::size_t OwnSegment::bytes() const {
    return length_ - kHead;
}

std::size_t OwnSegment::file_offset(std::size_t offset) const {
    return kHead + offset;
}

int OwnSegment::back(std::size_t offset, std::size_t bytes) const noexcept {
    return back_pages(fd(), map_, file_offset(offset), bytes);
}

void OwnSegment::require(std::size_t offset, std::size_t bytes, const char *purpose) const {
    const int error = back(offset, bytes);
    if (error == 0) return;
    throw Failure(MDIST_ERR_RESOURCE, text("no shared memory for ", purpose, " (", bytes, " bytes): ", strerror(error),
                                           ". Free memory on this host, or set communication.implementation to tcp"))
        .native(error);
}

MateSegment::MateSegment(const std::string &offer) {
    int fd = -1;
    char cookie[2 * kCookie + 1] = "";
    if (std::sscanf(offer.c_str(), "shm1 %d %d %zu %32[0-9a-f]", &pid_, &fd, &length_, cookie) != 4 ||
        length_ <= kHead || std::strlen(cookie) != 2 * kCookie)
        throw no_mate(text("it offers shared memory in a form that this version does not know: \"", offer, "\""));
    try {
        open(fd, cookie);
    } catch (...) {
        if (map_ != nullptr) munmap(const_cast<char *>(map_), length_);
        throw;
    }
}

int MateSegment::open_of_owner(int fd, int flags) const noexcept {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/fd/%d", pid_, fd);
    return ::open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

void MateSegment::open(int fd, const std::string &cookie) {
    // Open the pidfd first, so that all later checks apply to this very process.
    process_ = OpenFile(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0))); // CLOEXEC
    const std::string path = text("/proc/", pid_, "/fd/", fd);
    const OpenFile opened(open_of_owner(fd, O_RDONLY));
    const int file = opened.get();
    if (file < 0) throw no_mate(text("its shared memory cannot be opened: ", path, ": ", strerror(errno)));
    struct stat status = {};
    const int seals = fcntl(file, F_GET_SEALS);
    const bool sound = fstat(file, &status) == 0 && static_cast<std::size_t>(status.st_size) == length_ && seals >= 0 &&
                       (seals & F_SEAL_SHRINK) != 0;
    if (sound) map_ = map_shared(file, length_, PROT_READ);
    const int error = errno;
    if (!sound) throw no_mate(text(path, " is not the shared memory that it offered"));
    if (map_ == nullptr)
        throw no_mate(text("its shared memory of ", length_, " bytes cannot be mapped: ", strerror(error)));
    const Head *const head = reinterpret_cast<const Head *>(map_);
    if (std::memcmp(head->magic, kSegmentMagic, sizeof kSegmentMagic) != 0 ||
        std::memcmp(head->cookie, cookie.c_str(), sizeof head->cookie) != 0 || owner_gone())
        throw no_mate(text(path, " is not the shared memory that it offered"));
    madvise(const_cast<char *>(map_), length_, MADV_DONTDUMP); // the owner's core dump has it
}

MateSegment::~MateSegment() {
    munmap(const_cast<char *>(map_), length_);
}

const char *MateSegment::data() const {
    return map_ + kHead;
}

std::size_t MateSegment::bytes() const {
    return length_ - kHead;
}

bool MateSegment::owner_gone() const noexcept {
    pollfd ended = {process_.get(), POLLIN, 0};
    return process_.is_open() && poll(&ended, 1, 0) == 1;
}

} // namespace mdist
