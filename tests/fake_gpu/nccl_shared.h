// SPDX-License-Identifier: Apache-2.0
// The memory that the ranks of a simulated NCCL communicator share: a file that all of them map, in one process or in
// several.
//
// Collectives go in phases. Each rank posts its data in its slot. When all have posted, each reads what it needs from
// the others' slots. Messages go through mailboxes, one for each pair and direction. Counters only grow.
#pragma once

#include "device/gpu/module.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace fake_gpu {

constexpr int32_t kMostRanks = 16;
constexpr std::size_t kSlotBytes = std::size_t{256} << 10;
constexpr std::size_t kMailBytes = std::size_t{32} << 10;

enum class Collective : int32_t { kAllReduce = 1, kReduce, kBroadcast, kAllGather, kReduceScatter, kSend, kReceive };

/// What must be the same on all ranks.
struct CallHeader {
    Collective what = Collective::kAllReduce;
    int32_t dtype = 0;
    int32_t op = 0;
    int32_t root = 0;
    uint64_t elements = 0;

    bool operator==(const CallHeader &) const = default;
};

struct alignas(64) Slot {
    std::atomic<uint64_t> posted;
    std::atomic<uint64_t> taken;
    std::atomic<uint64_t> gpu; // process and GPU; two ranks may not have the same
    CallHeader call;
    char data[kSlotBytes];
};

struct alignas(64) Mailbox {
    std::atomic<uint64_t> sent;
    std::atomic<uint64_t> received;
    CallHeader call;
    char data[kMailBytes];
};

struct Shared {
    std::atomic<uint32_t> ranks;  // set by the first rank
    std::atomic<uint32_t> joined; // a bit for each rank
    Slot slots[kMostRanks];
    Mailbox mail[kMostRanks][kMostRanks]; // [from][to]
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

/// Makes a file in shared memory, and an id that names it. Returns 0 or an error of NCCL.
int make_id(unsigned char id[MDIST_GPU_ID_BYTES]);

/// One rank's mapping of the file. The file is removed when all ranks have mapped it, or when one gives up.
class Membership {
  public:
    /// `error` receives 0 or an error of NCCL.
    Membership(const unsigned char id[MDIST_GPU_ID_BYTES], int32_t ranks, int32_t rank, int32_t device, int &error);
    ~Membership();
    Membership(const Membership &) = delete;
    Membership &operator=(const Membership &) = delete;

    Shared &shared() const { return *shared_; }
    bool complete();
    /// Returns whether two ranks of this process have the same GPU. Call it only when all ranks have joined.
    bool has_duplicates() const;

  private:
    const std::string path_;
    const int32_t ranks_;
    Shared *shared_ = nullptr;
    bool complete_ = false;
};

} // namespace fake_gpu
