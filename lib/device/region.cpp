// SPDX-License-Identifier: Apache-2.0
#include "device/region.h"

#include "util/failure.h"
#include "util/round_up.h"
#include "util/text.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace mdist {
namespace {

constexpr std::size_t kCommitStep = std::size_t{2} << 20; // a huge page
constexpr std::size_t kLeastReserve = std::size_t{64} << 20;

std::size_t whole_steps(std::size_t bytes) {
    return round_up(bytes, kCommitStep);
}

/// The host's physical memory: no region can hold more.
std::size_t physical_bytes() {
    return static_cast<std::size_t>(std::max(1L, sysconf(_SC_PHYS_PAGES))) *
           static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

} // namespace

Region::Region(std::shared_ptr<MemorySource> source) : source_(std::move(source)) {
    if (!reserve_from_source()) reserve();
}

bool Region::reserve_from_source() {
    if (!source_) return false;
    if (!source_->place().on_host()) {
        reserved_ = whole_steps(source_->fair_reservation());
        reservation_ = source_->reserve(reserved_);
        base_ = static_cast<char *>(reservation_.get());
        return true;
    }
    reserved_ = std::min(whole_steps(physical_bytes()), source_->fair_reservation() / kCommitStep * kCommitStep);
    if (reserved_ < kLeastReserve) return false;
    try {
        reservation_ = source_->reserve(reserved_);
    } catch (const Failure &) {
        return false; // full: other memory will do
    }
    base_ = static_cast<char *>(reservation_.get());
    return true;
}

void Region::reserve() {
    // Inaccessible pages cost only address space. If that is limited too (ulimit -v), take less.
    for (reserved_ = whole_steps(physical_bytes()); reserved_ >= kLeastReserve;
         reserved_ = whole_steps(reserved_ / 2)) {
        void *data = mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (data == MAP_FAILED) continue;
        base_ = static_cast<char *>(data);
        return;
    }
    throw Failure(MDIST_ERR_OUT_OF_MEMORY, "cannot reserve address space for variables; raise the limit (ulimit -v)")
        .native(errno);
}

Region::~Region() {
    if (!reservation_) munmap(base_, reserved_);
}

void Region::commit(std::size_t bytes) {
    if (bytes <= committed_) return;
    const std::size_t wanted = bytes > reserved_ ? bytes : whole_steps(bytes);
    int error = 0;
    if (wanted > reserved_ || !make_usable(wanted, error))
        throw Failure(MDIST_ERR_OUT_OF_MEMORY,
                      text("cannot allocate ", bytes, " bytes for the variables of one replica"))
            .native(error);
    committed_ = wanted;
}

void Region::clear() noexcept {
    if (reservation_)
        std::memset(base_, 0, committed_); // other processes may share it
    else
        clear_pages(base_, committed_);
}

/// Makes the range usable from the end of the usable part up to `bytes`.
bool Region::make_usable(std::size_t bytes, int &error) {
    char *const begin = base_ + committed_;
    if (reservation_) {
        try {
            source_->commit(begin, bytes - committed_);
        } catch (const Failure &failure) {
            if (failure.status() != MDIST_ERR_OUT_OF_MEMORY) throw;
            error = static_cast<int>(failure.native());
            return false;
        }
        return true;
    }
    if (mprotect(begin, bytes - committed_, PROT_READ | PROT_WRITE) != 0) {
        error = errno;
        return false;
    }
    madvise(begin, bytes - committed_, MADV_HUGEPAGE); // only a hint
    return true;
}

void clear_pages(void *data, std::size_t bytes) noexcept {
    char *const begin = static_cast<char *>(data), *const end = begin + bytes;
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const std::size_t before = (page - reinterpret_cast<std::uintptr_t>(begin) % page) % page;
    const std::size_t after = reinterpret_cast<std::uintptr_t>(end) % page;
    // Fails for locked pages (mlockall).
    if (before + after >= bytes || madvise(begin + before, bytes - before - after, MADV_DONTNEED) != 0) {
        std::memset(begin, 0, bytes);
        return;
    }
    std::memset(begin, 0, before);
    std::memset(end - after, 0, after);
}

} // namespace mdist
