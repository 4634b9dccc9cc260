// SPDX-License-Identifier: Apache-2.0
// ShmMates: this worker's segment, and the segments of the other workers on the same host, by rank.
//
// Forming takes two exchanges among all workers of the job: first every worker's offer(), then every worker's open().
// After settle(), two workers of a block (blocks.h) share memory if each could open the other's segment, and both know
// it. Not thread-safe until settle() returns; nothing changes after that.
#pragma once

#include "comm/shm/blocks.h"
#include "comm/shm/doorbell.h"
#include "comm/shm/layout.h"
#include "comm/shm/segment.h"
#include "util/cpus.h"
#include "util/event_count.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mdist {

class ShmMates {
  public:
    /// `threads` is the number of threads of this worker that wait for each other and for those of its mates. If the
    /// limits of this process are tight, the arena is smaller than asked for. If there is no shared memory at all, no
    /// mates are found.
    /// `job_ranks` are the workers' ranks in the job, if these are only some of its workers.
    ShmMates(uint32_t rank, uint32_t workers, const ShmSizes &sizes, uint32_t threads,
             std::vector<uint32_t> job_ranks = {});

    std::string offer() const;
    std::string open(const std::vector<std::string> &offers);
    void settle(const std::vector<std::string> &opened);

    uint32_t rank() const { return rank_; }
    uint32_t workers() const { return static_cast<uint32_t>(mates_.size()); }
    /// The rank in the job of one of these workers, for messages.
    uint32_t job_rank(uint32_t rank) const { return job_ranks_.empty() ? rank : job_ranks_[rank]; }
    bool shares(uint32_t rank) const { return mates_[rank].segment != nullptr; }
    /// Whether every worker of the job shares memory with every other.
    bool all_share() const { return per_host_ == workers(); }
    /// The number of workers on each host, if every host has the same number, with consecutive ranks; otherwise 1.
    /// Workers that share memory count as one host. The same on all workers.
    uint32_t per_host() const { return per_host_; }
    /// Why a worker does not share memory, as a sentence about it.
    const std::string &reason(uint32_t rank) const { return mates_[rank].reason; }
    /// Whether a worker shares no memory only because its host has too many workers.
    bool is_beyond(uint32_t rank) const { return mates_[rank].is_beyond; }
    /// Where a worker of this block has its lane and ring in a segment.
    uint32_t place(uint32_t rank) const { return blocks_->index(rank); }

    const ShmLayout &layout() const { return *layout_; }
    const std::shared_ptr<OwnSegment> &segment() const { return own_; }

    /// The memory that this worker writes. Valid only if it shares memory with some mate.
    ShmControl &own() const { return *reinterpret_cast<ShmControl *>(own_->data()); }
    char *own(std::size_t offset) const { return own_->data() + offset; }
    /// The memory that a mate writes. `offset` must be within bytes(rank).
    const ShmControl &of(uint32_t rank) const { return *reinterpret_cast<const ShmControl *>(data(rank)); }
    const char *of(uint32_t rank, std::size_t offset) const { return data(rank) + offset; }
    std::size_t bytes(uint32_t rank) const { return mates_[rank].segment->bytes(); }
    const OwnDoorbell &doorbell() const { return *doorbell_; }
    const MateDoorbell &doorbell(uint32_t rank) const { return *mates_[rank].doorbell; }
    bool gone(uint32_t rank) const noexcept { return mates_[rank].segment->owner_gone(); }

    /// The offset in this worker's segment, if this memory lies in its arena.
    std::optional<uint64_t> arena_offset(const void *data, std::size_t bytes) const;
    /// The address in this process of a piece of a worker's arena. nullptr unless all of it lies in the arena.
    const char *arena_address(uint32_t rank, uint64_t offset, std::size_t bytes) const;

    /// The patience that suits all threads of this worker and its mates, on the CPUs that they have together.
    Patience patience() const;
    /// Whether the CPUs that they have together share a cache.
    bool share_cache() const { return share_last_cache(cpus()); }

  private:
    struct Mate {
        std::unique_ptr<MateSegment> segment;
        std::unique_ptr<MateDoorbell> doorbell;
        std::string reason;
        bool is_beyond = false;
    };

    const char *data(uint32_t rank) const { return mates_[rank].segment->data(); }
    cpu_set_t cpus() const;
    void make_own(ShmSizes sizes);
    void open(uint32_t rank, const std::string &offer);

    uint32_t rank_;
    const std::vector<uint32_t> job_ranks_;
    std::optional<ShmLayout> layout_;
    std::shared_ptr<OwnSegment> own_; // shared with the memory given out from its arena
    std::optional<OwnDoorbell> doorbell_;
    std::string own_reason_;
    std::optional<ShmBlocks> blocks_; // once the offers are known
    std::vector<Mate> mates_;
    uint32_t per_host_ = 1;
};

} // namespace mdist
