// SPDX-License-Identifier: Apache-2.0
// ShmSteps: how far each worker is with the chunks of large operations. Chunks are counted from the first one of the
// job, the same on all workers. One thread at a time.
#pragma once

#include "comm/shm/bell.h"
#include "comm/shm/mates.h"
#include "util/failure.h"
#include "util/round_up.h"
#include "util/text.h"

#include <memory>

namespace mdist {

class ShmSteps {
  public:
    using Step = std::atomic<uint64_t> ShmProgress::*;

    ShmSteps(std::shared_ptr<ShmMates> mates, std::shared_ptr<ShmBell> bell)
        : mates_(std::move(mates)), bell_(std::move(bell)) {}

    const ShmMates &mates() const { return *mates_; }
    /// Number of chunks in all earlier operations.
    uint64_t before() const { return before_; }
    void add(uint64_t chunks) { before_ += chunks; }

    /// Gives memory to the first bytes of each of this worker's stages.
    void back_stages(std::size_t partials, std::size_t results) {
        grow(backed_partials_, partials, mates_->layout().partials(0));
        grow(backed_results_, results, mates_->layout().results(0));
    }

    /// Says that this worker has done that step of the first `chunks` chunks.
    void publish(Step step, uint64_t chunks) {
        (mates_->own().progress.*step).store(chunks, std::memory_order_release);
        bell_->ring();
    }
    /// How many chunks of the job a worker has done that step of.
    uint64_t reached(uint32_t rank, Step step) const {
        return (mates_->of(rank).progress.*step).load(std::memory_order_seq_cst);
    }
    void await(uint32_t rank, Step step, uint64_t chunks, FunctionRef<void()> keep_going) const {
        bell_->await(
            rank, [&] { return reached(rank, step) >= chunks; }, keep_going);
    }
    void await_all(Step step, uint64_t chunks, FunctionRef<void()> keep_going) const {
        for (uint32_t rank = 0; rank < mates_->workers(); ++rank)
            if (rank != mates_->rank()) await(rank, step, chunks, keep_going);
    }

    /// Throws PEER_LOST if a mate has given up: what was read from its memory may then be anything.
    void require_all_there() const {
        for (uint32_t rank = 0; rank < mates_->workers(); ++rank)
            if (rank != mates_->rank() && bell_->closed(rank))
                throw Failure(MDIST_ERR_PEER_LOST,
                              text("worker ", mates_->job_rank(rank), " has aborted the collective"))
                    .worker(mates_->job_rank(rank));
    }

  private:
    void grow(std::size_t &backed, std::size_t bytes, std::size_t first) {
        const std::size_t stage = mates_->layout().sizes().stage_bytes;
        if (bytes <= backed) return;
        for (std::size_t i = 0; i < ShmLayout::kStages; ++i)
            mates_->segment()->require(first + i * stage, bytes, "large collectives");
        backed = bytes;
    }

    std::shared_ptr<ShmMates> mates_;
    std::shared_ptr<ShmBell> bell_;
    uint64_t before_ = 0;
    std::size_t backed_partials_ = 0; // bytes of each stage that have memory
    std::size_t backed_results_ = 0;
};

/// Data that mates will read is computed in blocks of private memory and copied from there. A store to a cache line
/// that another core has read waits for that core, line by line; a long copy need not. This halves the time between
/// cores that share no cache. Between cores that share one it costs a tenth. In arenas it costs more, so a
/// worker writes there directly if the cores share a cache (DirectWay).
constexpr std::size_t kShmBlockBytes = 32768;

/// A worker's share of some elements, cut at cache lines.
struct ShmShare {
    uint64_t begin;
    uint64_t count;

    static ShmShare of(uint32_t rank, uint32_t workers, uint64_t elements, std::size_t element_size) {
        const uint64_t line = element_size < 64 ? 64 / element_size : 1;
        const uint64_t each = round_up((elements + workers - 1) / workers, line);
        const uint64_t begin = rank * each < elements ? rank * each : elements;
        return {begin, begin + each < elements ? each : elements - begin};
    }
};

} // namespace mdist
