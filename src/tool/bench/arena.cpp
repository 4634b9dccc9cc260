// SPDX-License-Identifier: Apache-2.0
#include "bench/arena.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include <sys/mman.h>

namespace mdist {
namespace {

constexpr std::size_t kHugePage = 2 << 20;

std::size_t rounded(std::size_t bytes) {
    return (bytes + kHugePage - 1) / kHugePage * kHugePage;
}

} // namespace

Arena::Arena(std::size_t regions, std::size_t bytes)
    : bytes_(bytes), mapping_(nullptr), mapping_bytes_(rounded(bytes) * regions + kHugePage) {
    mapping_ = mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping_ == MAP_FAILED)
        throw std::runtime_error("no " + std::to_string(mapping_bytes_ >> 20) +
                                 " MiB of memory: " + std::strerror(errno));
    madvise(mapping_, mapping_bytes_, MADV_HUGEPAGE);
    char *aligned = static_cast<char *>(mapping_) + (kHugePage - reinterpret_cast<uintptr_t>(mapping_) % kHugePage);
    for (std::size_t i = 0; i < regions; ++i) regions_.push_back(aligned + i * rounded(bytes));
    fill();
}

Arena::~Arena() {
    munmap(mapping_, mapping_bytes_);
}

void Arena::fill() {
    for (char *region : regions_) std::fill_n(reinterpret_cast<float *>(region), bytes_ / sizeof(float), 1.0f);
}

} // namespace mdist
