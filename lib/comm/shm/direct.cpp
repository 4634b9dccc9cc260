// SPDX-License-Identifier: Apache-2.0
#include "comm/shm/direct.h"

#include "comm/call/buffers.h"
#include "comm/call/pointers.h"
#include "comm/shm/past_caches.h"
#include "util/dtype.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace mdist {
namespace {

using KeepGoing = FunctionRef<void()>;

constexpr uint64_t kNowhere = UINT64_MAX;
/// How many bytes of results are one chunk. Each worker reduces its share of it and publishes that. Others copy it
/// soon, while it is in a cache.
constexpr std::size_t kChunkBytes = std::size_t{512} << 10;
/// How many chunks a worker may have published beyond the slowest of its mates. So it need not wait at each chunk for a
/// mate that has no core now.
constexpr uint64_t kAhead = 4;

/// The part of a chunk that lies in one buffer.
struct Stretch {
    std::size_t buffer;
    uint64_t begin;
    uint64_t count;
};

class Direct {
  public:
    Direct(ShmSteps &steps, const ShmPlaces &places, const Call *const *calls, uint32_t replicas, DirectWriting writing,
           KeepGoing keep_going)
        : steps_(steps),
          mates_(steps.mates()),
          places_(places),
          calls_(calls),
          replicas_(replicas),
          writing_(writing),
          keep_going_(keep_going),
          taken_(steps.mates().workers()),
          sources_(places.replicas()) {
        cut();
    }

    void run() {
        const uint64_t first = steps_.before();
        for (uint64_t chunk = 0; chunk < chunks(); ++chunk) {
            for (std::size_t i = chunks_[chunk]; i < chunks_[chunk + 1]; ++i) reduce(i);
            steps_.publish(&ShmProgress::reduced, first + chunk + 1);
            take_ready();
            if (chunk >= kAhead) take_until(chunk - kAhead + 1);
        }
        take_until(chunks());
        // A mate that has given up has its buffers back, so what was read from them may be wrong. A mate that leaves in
        // order waits for this worker first.
        steps_.require_all_there();
        steps_.publish(&ShmProgress::taken, first + chunks());
        steps_.await_all(&ShmProgress::taken, first + chunks(), keep_going_); // nobody reads this worker's buffers now
        steps_.add(chunks());
    }

  private:
    uint64_t chunks() const { return chunks_.size() - 1; }
    void cut();
    ShmShare share_of(uint32_t rank, std::size_t stretch) const {
        // Rotate the shares: with buffers smaller than a share, the same worker would otherwise always get the most.
        const uint32_t workers = mates_.workers();
        return ShmShare::of(static_cast<uint32_t>((rank + stretch) % workers), workers, stretches_[stretch].count,
                            dtype_size(buffer_of(stretch).dtype));
    }
    const mdist_buffer_t &buffer_of(std::size_t stretch) const { return calls_[0]->inputs[stretches_[stretch].buffer]; }
    std::size_t offset_of(std::size_t stretch, const ShmShare &share) const {
        return (stretches_[stretch].begin + share.begin) * dtype_size(buffer_of(stretch).dtype);
    }
    char *output(uint32_t replica, std::size_t stretch) const {
        return static_cast<char *>(calls_[replica]->outputs[stretches_[stretch].buffer].data);
    }
    void reduce(std::size_t stretch);
    /// The mate so many ranks further, from 1 on. Each worker begins with another, so not all copy from the same at
    /// once.
    uint32_t rank_after(uint32_t distance) const { return (mates_.rank() + distance) % mates_.workers(); }
    void take_ready();
    void take_until(uint64_t chunk);
    void copy(uint32_t from, std::size_t stretch);

    ShmSteps &steps_;
    const ShmMates &mates_;
    const ShmPlaces &places_;
    const Call *const *const calls_;
    const uint32_t replicas_;
    const DirectWriting writing_;
    const KeepGoing keep_going_;
    std::vector<Stretch> stretches_;
    std::vector<std::size_t> chunks_{0}; // chunk i is stretches chunks_[i] to chunks_[i + 1] - 1
    std::vector<uint64_t> taken_;        // by rank: how many chunks have been copied from that worker
    Pointers<const void *> sources_;
    const std::unique_ptr<char[]> scratch_{new char[kShmBlockBytes]};
};

void Direct::cut() {
    std::size_t room = kChunkBytes;
    for (std::size_t b = 0; b < calls_[0]->buffer_count; ++b) {
        const mdist_buffer_t &buffer = calls_[0]->inputs[b];
        const std::size_t size = dtype_size(buffer.dtype);
        for (uint64_t begin = 0; begin < buffer.elements;) {
            if (room < size) {
                chunks_.push_back(stretches_.size());
                room = kChunkBytes;
            }
            const uint64_t count = std::min(buffer.elements - begin, room / size);
            stretches_.push_back({b, begin, count});
            begin += count;
            room -= count * size;
        }
    }
    if (chunks_.back() != stretches_.size()) chunks_.push_back(stretches_.size());
}

void Direct::reduce(std::size_t stretch) {
    const ShmShare own = share_of(mates_.rank(), stretch);
    const std::size_t offset = offset_of(stretch, own);
    const std::size_t all = places_.replicas();
    for (uint32_t replica = 0; replica < all; ++replica)
        sources_[replica] = places_.input(replica, stretches_[stretch].buffer) + offset;
    const std::size_t size = dtype_size(buffer_of(stretch).dtype);
    const uint64_t block = kShmBlockBytes / size;
    for (uint64_t done = 0; done < own.count; done += block) {
        const uint64_t elements = std::min(block, own.count - done);
        void *results = writing_.straight ? output(0, stretch) + offset + done * size : scratch_.get();
        reduce::reduce(operation_of(*calls_[0], buffer_of(stretch).dtype, all), sources_.get(), all, &results, 1,
                       elements);
        for (uint32_t replica = 0; replica < replicas_; ++replica) {
            char *const to = output(replica, stretch) + offset + done * size; // replicas may share one output
            if (to != results) std::memcpy(to, results, elements * size);
        }
        for (std::size_t i = 0; i < all; ++i) sources_[i] = static_cast<const char *>(sources_[i]) + elements * size;
    }
}

/// Copies what mates have reduced by now. A wrong counter must not lead past the last chunk.
void Direct::take_ready() {
    for (uint32_t distance = 1; distance < mates_.workers(); ++distance) {
        const uint32_t rank = rank_after(distance);
        const uint64_t ready = std::min(steps_.reached(rank, &ShmProgress::reduced), steps_.before() + chunks());
        for (uint64_t &chunk = taken_[rank]; steps_.before() + chunk < ready; ++chunk)
            for (std::size_t i = chunks_[chunk]; i < chunks_[chunk + 1]; ++i) copy(rank, i);
    }
}

/// Waits until all mates have reduced the chunks before this one, and copies them.
void Direct::take_until(uint64_t chunk) {
    for (uint32_t distance = 1; distance < mates_.workers(); ++distance) {
        const uint32_t rank = rank_after(distance);
        while (taken_[rank] < chunk) {
            steps_.await(rank, &ShmProgress::reduced, steps_.before() + taken_[rank] + 1, keep_going_);
            take_ready();
        }
    }
}

void Direct::copy(uint32_t from, std::size_t stretch) {
    const ShmShare share = share_of(from, stretch);
    const std::size_t offset = offset_of(stretch, share);
    const std::size_t bytes = share.count * dtype_size(buffer_of(stretch).dtype);
    if (bytes == 0) return;
    const char *const results = places_.output(from, stretches_[stretch].buffer) + offset;
    for (uint32_t replica = 0; replica < replicas_; ++replica) {
        char *const to = output(replica, stretch) + offset;
        writing_.past_caches ? copy_past_caches(to, results, bytes)
                             : static_cast<void>(std::memcpy(to, results, bytes));
    }
}

} // namespace

void ShmPlaces::write(const ShmMates &mates, const Call *const *calls, uint32_t replicas, char *to) {
    const auto put = [&](const mdist_buffer_t &buffer) {
        const uint64_t place = buffer.elements == 0
                                   ? mates.layout().arena()
                                   : mates.arena_offset(buffer.data, bytes_of(buffer)).value_or(kNowhere);
        std::memcpy(to, &place, sizeof place);
        to += sizeof place;
    };
    for (uint32_t replica = 0; replica < replicas; ++replica) {
        for (std::size_t b = 0; b < calls[replica]->buffer_count; ++b) {
            put(calls[replica]->inputs[b]);
            put(calls[replica]->outputs[b]);
        }
    }
}

bool ShmPlaces::read(const ShmMates &mates, const Call &call, const Spans &spans,
                     const std::vector<const void *> &payloads) {
    buffers_ = call.buffer_count;
    inputs_.clear();
    outputs_.clear();
    for (uint32_t rank = 0; rank < mates.workers(); ++rank) {
        const char *from = static_cast<const char *>(payloads[rank]);
        const auto get = [&](std::size_t bytes) -> const char * {
            uint64_t place;
            std::memcpy(&place, from, sizeof place);
            from += sizeof place;
            return mates.arena_address(rank, place, bytes);
        };
        for (uint32_t replica = 0; replica < spans[rank].count(); ++replica) {
            for (std::size_t b = 0; b < buffers_; ++b) {
                const char *const input = get(bytes_of(call.inputs[b]));
                const char *const output = get(bytes_of(call.inputs[b]));
                if (input == nullptr || output == nullptr) return false;
                inputs_.push_back(input);
                if (replica == 0) outputs_.push_back(output);
            }
        }
    }
    return true;
}

void reduce_direct(ShmSteps &steps, const ShmPlaces &places, const Call *const *calls, uint32_t replicas,
                   DirectWriting writing, KeepGoing keep_going) {
    Direct(steps, places, calls, replicas, writing, keep_going).run();
}

} // namespace mdist
