// SPDX-License-Identifier: Apache-2.0
#include "nccl_shared.h"

#include "errors.h"
#include "faults.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

namespace fake_gpu {
namespace {

constexpr const char *kName = "mdist-fake-nccl";

const char *folder() {
    return access("/dev/shm", W_OK) == 0      ? "/dev/shm"
           : std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR")
                                              : "/tmp";
}

std::string path_of(const unsigned char id[MDIST_GPU_ID_BYTES]) {
    const auto *text = reinterpret_cast<const char *>(id);
    const std::string path(text, strnlen(text, MDIST_GPU_ID_BYTES));
    return path.find(kName) == std::string::npos ? "" : path;
}

Shared *map_file(const std::string &path) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return nullptr;
    void *data = MAP_FAILED;
    if (ftruncate(file, sizeof(Shared)) == 0)
        data = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return data == MAP_FAILED ? nullptr : static_cast<Shared *>(data);
}

uint64_t gpu_of(int32_t device) {
    return (static_cast<uint64_t>(getpid()) << 32) | static_cast<uint32_t>(device + 1);
}

} // namespace

int make_id(unsigned char id[MDIST_GPU_ID_BYTES]) {
    static std::atomic<uint64_t> made = 0;
    std::random_device chance;
    std::memset(id, 0, MDIST_GPU_ID_BYTES);
    const int length = std::snprintf(reinterpret_cast<char *>(id), MDIST_GPU_ID_BYTES, "%s/%s.%d.%llu.%08x", folder(),
                                     kName, getpid(), static_cast<unsigned long long>(++made), chance());
    return length < MDIST_GPU_ID_BYTES ? kNcclOk : kNcclSystem;
}

Membership::Membership(const unsigned char id[MDIST_GPU_ID_BYTES], int32_t ranks, int32_t rank, int32_t device,
                       int &error)
    : path_(path_of(id)), ranks_(ranks) {
    error = kNcclInvalidArgument;
    if (path_.empty() || ranks < 1 || ranks > kMostRanks || rank < 0 || rank >= ranks) {
        note_problem("a communicator was asked for with an id or a rank that is none");
        return;
    }
    error = kNcclSystem;
    shared_ = map_file(path_);
    if (shared_ == nullptr) return;
    uint32_t said = 0;
    const auto wanted = static_cast<uint32_t>(ranks);
    const bool agreed = shared_->ranks.compare_exchange_strong(said, wanted) || said == wanted;
    shared_->slots[rank].gpu = gpu_of(device);
    const uint32_t bit = 1u << rank;
    const bool twice = (shared_->joined.fetch_or(bit) & bit) != 0;
    error = agreed && !twice ? kNcclOk : kNcclInvalidUsage;
    if (error != kNcclOk) note_problem("a rank was taken twice, or ranks were counted differently");
}

Membership::~Membership() {
    if (shared_ == nullptr) return;
    if (!complete_) unlink(path_.c_str());
    munmap(shared_, sizeof(Shared));
}

bool Membership::complete() {
    if (complete_) return true;
    if (shared_->joined.load() != (1u << ranks_) - 1) return false;
    unlink(path_.c_str()); // the first rank to come here removes it
    return complete_ = true;
}

bool Membership::has_duplicates() const {
    const auto same = [&](int32_t a, int32_t b) { return shared_->slots[a].gpu == shared_->slots[b].gpu; };
    for (int32_t a = 0; a < ranks_; ++a)
        for (int32_t b = 0; b < a; ++b)
            if (same(a, b)) return true;
    return false;
}

} // namespace fake_gpu
