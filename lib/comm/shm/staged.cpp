// SPDX-License-Identifier: Apache-2.0
#include "comm/shm/staged.h"

#include "comm/call/pointers.h"
#include "util/dtype.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace mdist {
namespace {

using KeepGoing = FunctionRef<void()>;

/// Chunks are numbered throughout the job, as in ShmSteps.
class Staged {
  public:
    Staged(ShmSteps &steps, const ReduceRow &row, KeepGoing keep_going)
        : steps_(steps),
          mates_(steps.mates()),
          row_(row),
          keep_going_(keep_going),
          element_size_(dtype_size(row.dtype())),
          chunk_elements_(elements_of_chunk()),
          first_(steps.before()),
          end_(first_ + (row.elements() + chunk_elements_ - 1) / chunk_elements_) {}

    /// Between two steps of one chunk come one or two steps of other chunks, so that waits overlap.
    void run() {
        back();
        fill(first_);
        for (uint64_t chunk = first_; chunk < end_; ++chunk) {
            if (chunk + 1 < end_) fill(chunk + 1);
            reduce(chunk);
            if (chunk > first_) take(chunk - 1);
        }
        take(end_ - 1);
        steps_.add(end_ - first_);
    }

  private:
    uint64_t elements_of_chunk() const {
        const uint64_t most = mates_.layout().sizes().stage_bytes / (row_.cut().most() * row_.partial_size());
        return std::max<uint64_t>(most, 1);
    }
    uint64_t begin_of(uint64_t chunk) const { return (chunk - first_) * chunk_elements_; }
    uint64_t count_of(uint64_t chunk) const { return std::min(chunk_elements_, row_.elements() - begin_of(chunk)); }
    ShmShare share_of(uint32_t rank, uint64_t chunk) const {
        return ShmShare::of(rank, mates_.workers(), count_of(chunk), element_size_);
    }
    /// The offset of element `element` of a chunk in a worker's partial `index`.
    std::size_t partial_at(uint64_t chunk, uint32_t index, uint64_t element) const {
        return mates_.layout().partials(chunk) + (index * chunk_elements_ + element) * row_.partial_size();
    }

    void back();
    void fill(uint64_t chunk);
    void reduce(uint64_t chunk);
    void take(uint64_t chunk);
    void fill_range(uint64_t chunk, uint64_t begin, uint64_t end);
    /// Writes to `results`, and to `output` unless it is nullptr. Advances the addresses of the partials.
    void combine(const void **partials, uint64_t count, char *output, char *results);

    ShmSteps &steps_;
    const ShmMates &mates_;
    const ReduceRow &row_;
    const KeepGoing keep_going_;
    const std::size_t element_size_;
    const uint64_t chunk_elements_;
    const uint64_t first_;
    const uint64_t end_;
    const std::unique_ptr<char[]> scratch_{new char[kShmBlockBytes]};
};

/// Makes sure that the stages have memory for the first chunk, which is the largest.
void Staged::back() {
    const uint64_t count = count_of(first_);
    steps_.back_stages(((row_.partial_count() - 1) * chunk_elements_ + count) * row_.partial_size(),
                       count * element_size_);
}

void Staged::fill_range(uint64_t chunk, uint64_t begin, uint64_t end) {
    for (uint32_t index = 0; index < row_.partial_count() && begin < end; ++index)
        row_.partial(index, begin_of(chunk) + begin, end - begin, mates_.own(partial_at(chunk, index, begin)));
}

void Staged::fill(uint64_t chunk) {
    // The stage held an earlier chunk, which all workers must have reduced.
    if (chunk >= ShmLayout::kStages)
        steps_.await_all(&ShmProgress::reduced, chunk + 1 - ShmLayout::kStages, keep_going_);
    // Only this worker reads its own share: it reads it in place if it can.
    const ShmShare own = share_of(mates_.rank(), chunk);
    fill_range(chunk, 0, own.begin);
    if (row_.partial_in_place(begin_of(chunk) + own.begin, own.count) == nullptr)
        fill_range(chunk, own.begin, own.begin + own.count);
    fill_range(chunk, own.begin + own.count, count_of(chunk));
    steps_.publish(&ShmProgress::filled, chunk + 1);
}

void Staged::reduce(uint64_t chunk) {
    const ShmShare own = share_of(mates_.rank(), chunk);
    const uint64_t begin = begin_of(chunk) + own.begin;
    const reduce::Cut &cut = row_.cut();
    Pointers<const void *> partials(cut.subtrees().size());
    for (uint32_t rank = 0; rank < mates_.workers(); ++rank) {
        const void *in_place = nullptr;
        if (rank == mates_.rank()) {
            in_place = row_.partial_in_place(begin, own.count);
        } else {
            steps_.await(rank, &ShmProgress::filled, chunk + 1, keep_going_);
        }
        for (uint32_t index = 0; index < cut.count(rank); ++index) {
            const std::size_t at = partial_at(chunk, index, own.begin);
            partials[cut.first(rank) + index] = in_place != nullptr     ? in_place
                                                : rank == mates_.rank() ? mates_.own(at)
                                                                        : mates_.of(rank, at);
        }
    }
    if (chunk >= ShmLayout::kStages) steps_.await_all(&ShmProgress::taken, chunk + 1 - ShmLayout::kStages, keep_going_);
    char *const results = mates_.own(mates_.layout().results(chunk));
    void *const output = row_.output_in_place(begin, own.count);
    combine(partials.get(), own.count, static_cast<char *>(output), results);
    steps_.publish(&ShmProgress::reduced, chunk + 1);
    if (output != nullptr) {
        row_.spread(begin, own.count);
    } else if (own.count != 0) {
        row_.store(begin, own.count, results);
    }
}

void Staged::combine(const void **partials, uint64_t count, char *output, char *results) {
    const uint64_t block = kShmBlockBytes / element_size_;
    for (uint64_t done = 0; done < count; done += block) {
        const uint64_t elements = std::min(block, count - done);
        void *to = output != nullptr ? output + done * element_size_ : scratch_.get();
        reduce::combine_partials(row_.operation(), row_.cut(), partials, &to, 1, elements);
        std::memcpy(results + done * element_size_, to, elements * element_size_);
        for (std::size_t i = 0; i < row_.cut().subtrees().size(); ++i)
            partials[i] = static_cast<const char *>(partials[i]) + elements * row_.partial_size();
    }
}

void Staged::take(uint64_t chunk) {
    for (uint32_t i = 1; i < mates_.workers(); ++i) {
        const uint32_t rank = (mates_.rank() + i) % mates_.workers(); // not all from the same at once
        steps_.await(rank, &ShmProgress::reduced, chunk + 1, keep_going_);
        const ShmShare share = share_of(rank, chunk);
        if (share.count == 0) continue;
        row_.store(begin_of(chunk) + share.begin, share.count, mates_.of(rank, mates_.layout().results(chunk)));
    }
    steps_.publish(&ShmProgress::taken, chunk + 1);
}

} // namespace

void reduce_staged(ShmSteps &steps, const ReduceRow &row, KeepGoing keep_going) {
    if (row.elements() != 0) Staged(steps, row, keep_going).run();
}

} // namespace mdist
