// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/pool.h"

#include "device/gpu/overdue.h"
#include "device/gpu/owned_ranges.h"
#include "device/gpu/polling.h"
#include "util/process_wide.h"
#include "util/round_up.h"
#include "util/sanitized.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

constexpr std::size_t kSmallStep = 512;
constexpr std::size_t kLargeStep = std::size_t{64} << 10;
constexpr std::size_t kLarge = std::size_t{1} << 20;
constexpr uint64_t kPatienceNs = 10'000'000'000; // how long to wait for memory in use before giving up

std::size_t rounded(std::size_t bytes) {
    const std::size_t step = bytes < kLarge ? kSmallStep : kLargeStep;
    return round_up(std::max<std::size_t>(bytes, 1), step);
}

} // namespace

GpuPool::GpuPool(GpuCard &card) : card_(card), most_(MDIST_SANITIZED ? 0 : card.info().memory_bytes / 16) {}

Memory GpuPool::allocate(std::size_t bytes, std::shared_ptr<ReplicaStream> stream) {
    if (bytes > SIZE_MAX - kLargeStep)
        throw Failure(MDIST_ERR_OUT_OF_MEMORY,
                      text("gpu:", card_.index(), " does not have memory for ", bytes, " bytes"));
    std::size_t size = rounded(bytes);
    void *data = take(size, stream, size);
    if (data == nullptr) data = make(size);
    // If there is no memory for the reference count, the deleter runs at once.
    return Memory(data, [this, size, stream = std::move(stream)](void *block) { keep(block, size, stream); });
}

/// Finds a block that is large enough and not much larger; nullptr if there is none. Prefers one that the stream had
/// last. Otherwise a stream that is far behind would end up with all of them.
void *GpuPool::take(std::size_t bytes, const std::shared_ptr<ReplicaStream> &stream, std::size_t &taken_bytes) {
    const std::lock_guard lock(mutex_);
    const auto begin = kept_.lower_bound(bytes);
    const auto end = kept_.upper_bound(bytes + bytes / 8);
    auto at = end;
    if (stream) at = std::find_if(begin, end, [&](const auto &each) { return each.second.last.lock() == stream; });
    if (at == end) at = std::find_if(begin, end, [](const auto &each) { return is_free(each.second); });
    if (at == end) return nullptr;
    void *const data = at->second.data;
    taken_bytes = at->first;
    kept_bytes_ -= taken_bytes;
    kept_.erase(at);
    return data;
}

void *GpuPool::make(std::size_t bytes) {
    const mdist_gpu_api &api = card_.api();
    void *data = nullptr;
    const auto allocate = [&] {
        return card_.ask_for_memory([&] { return api.allocate(card_.index(), bytes, &data); });
    };
    int error = allocate();
    while (error != 0 && api.kind(error) == MDIST_GPU_OUT_OF_MEMORY) {
        if (!shrink(0) && (keeps_memory() || !await_any())) break;
        error = allocate();
    }
    if (error != 0) throw card_.failure(error, text("allocating ", bytes, " bytes"));
    try {
        process_wide<OwnedRanges>().add(data, bytes, card_.index());
    } catch (...) {
        give_to_cuda(data);
        throw;
    }
    return data;
}

void GpuPool::keep(void *data, std::size_t bytes, const std::shared_ptr<ReplicaStream> &stream) noexcept {
    if (stream && stream->recording() && keep_with_graph(data, bytes, stream)) return;
    try {
        Block block = {data, stream ? stream->mark() : Event(), stream, !stream && keeps_memory()};
        const std::lock_guard lock(mutex_);
        kept_.emplace(bytes, std::move(block));
        kept_bytes_ += bytes;
    } catch (const std::exception &) {
        if (keeps_memory()) return;
        // It is not known when the block is free, or there is no memory to record it: CUDA waits until nothing uses it.
        process_wide<OwnedRanges>().remove(data);
        give_to_cuda(data);
        return;
    }
    shrink(most_);
}

/// Keeps a block that was given back while its stream is recorded, since every launch may use it. If there is no memory
/// to record it, the block is lost, because nobody could say when it is free. Returns false if the stream is no longer
/// recorded.
bool GpuPool::keep_with_graph(void *data, std::size_t bytes, const std::shared_ptr<ReplicaStream> &stream) noexcept {
    std::shared_ptr<bool> lost;
    Memory memory;
    try {
        lost = std::make_shared<bool>(true);
        memory = Memory(data, [this, bytes, stream, lost](void *block) {
            if (!*lost) keep(block, bytes, stream);
        });
        *lost = false;
        if (stream->keep(memory)) return true;
    } catch (const std::bad_alloc &) {
        if (lost) *lost = true;
        return true;
    }
    *lost = true;
    return false;
}

/// Whether the block's last use is over. False on a GPU that has failed: there it cannot be known.
bool GpuPool::is_free(const Block &block) noexcept {
    try {
        return block.mark.happened() && !(block.doubtful && keeps_memory());
    } catch (const std::exception &) {
        return false;
    }
}

/// Gives unused blocks back to CUDA, the largest first, until `most` bytes are kept. Returns whether there were any.
bool GpuPool::shrink(std::size_t most) noexcept {
    if (keeps_memory()) return false;
    for (bool any = false;; any = true) {
        void *data = nullptr;
        {
            const std::lock_guard lock(mutex_);
            if (kept_bytes_ <= most) return any;
            auto at = kept_.end();
            while (at != kept_.begin() && data == nullptr)
                if (is_free((--at)->second)) data = at->second.data;
            if (data == nullptr) return any;
            kept_bytes_ -= at->first;
            kept_.erase(at);
        }
        process_wide<OwnedRanges>().remove(data);
        give_to_cuda(data);
    }
}

/// Returns before CUDA has the memory (retired.h).
void GpuPool::give_to_cuda(void *data) noexcept {
    card_.retired().retire([&card = card_, data] { card.api().release(card.index(), data); });
}

/// Waits until some block is no longer used. Returns false if there is none, or it takes too long.
bool GpuPool::await_any() noexcept {
    bool any = true;
    const auto free_one = [&] {
        const std::lock_guard lock(mutex_);
        any = !kept_.empty();
        return !any || std::any_of(kept_.begin(), kept_.end(), [](auto &each) { return is_free(each.second); });
    };
    return poll_until(free_one, kPatienceNs) && any;
}

} // namespace mdist
