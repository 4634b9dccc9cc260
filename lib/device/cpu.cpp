// SPDX-License-Identifier: Apache-2.0
// The CPU as a device. The devices `cpu:i` are logical: all share the host's memory.
#include "device/device.h"
#include "reduce/arithmetic.h"
#include "reduce/float_environment.h"
#include "reduce/reduce.h"
#include "util/failure.h"
#include "util/process_wide.h"
#include "util/round_up.h"
#include "util/sanitized.h"
#include "util/text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include <sys/mman.h>

namespace mdist {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Keeps large blocks that were given back, for the next caller that asks for about as much. Fresh pages cost more than
/// reducing what is in them, and results come and go with every step. Any thread.
class KeptBlocks {
  public:
    struct Block {
        void *data = nullptr;
        std::size_t bytes = 0;
    };

    /// Returns a block that is large enough and not much larger; a block without data if there is none.
    Block take(std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        for (Block &place : places_) {
            if (place.bytes < bytes || place.bytes - bytes > bytes / 8) continue;
            kept_ -= place.bytes;
            return std::exchange(place, {});
        }
        return {};
    }

    /// Keeps a block, or frees it. The places are filled in turn, so a block that nobody asks for is freed when its
    /// turn comes.
    void keep(Block block) noexcept {
        if (block.bytes > kMost / 2) return std::free(block.data);
        const std::lock_guard lock(mutex_);
        for (;;) {
            Block &place = places_[next_++ % places_.size()];
            kept_ -= place.bytes;
            std::free(std::exchange(place, {}).data);
            if (kept_ + block.bytes > kMost) continue;
            kept_ += block.bytes;
            place = block;
            return;
        }
    }

    static constexpr std::size_t kLeast = 262144;

  private:
#if MDIST_SANITIZED
    static constexpr std::size_t kMost = 0; // 0, so that sanitizers see a use of memory that was given back
#else
    static constexpr std::size_t kMost = std::size_t{64} << 20;
#endif

    std::mutex mutex_;
    std::array<Block, 64> places_;
    std::size_t next_ = 0;
    std::size_t kept_ = 0;
};

class Cpu final : public Device {
  public:
    explicit Cpu(int32_t index) : index_(index) {}

    mdist_device_kind_t kind() const override { return MDIST_DEVICE_CPU; }
    int32_t index() const override { return index_; }
    std::string name() const override { return text("cpu:", index_); }

    Memory allocate(std::size_t bytes) override {
        // Huge pages make the first touch 6 times cheaper.
        const bool huge = bytes >= 2 * kHugePage;
        const std::size_t alignment = huge ? kHugePage : kCacheLine;
        if (bytes > SIZE_MAX - alignment) throw no_memory(bytes);
        const std::size_t size = round_up(std::max<std::size_t>(bytes, 1), alignment);
        if (size < KeptBlocks::kLeast) return allocate_small(bytes);
        KeptBlocks::Block block = process_wide<KeptBlocks>().take(size);
        if (block.data == nullptr) block = {std::aligned_alloc(alignment, size), size};
        if (block.data == nullptr) throw no_memory(bytes);
        if (huge) madvise(block.data, bytes, MADV_HUGEPAGE); // only a hint; some kernels are built without it
        return Memory(block.data, [block](void *) { process_wide<KeptBlocks>().keep(block); });
    }

    void copy_in(void *to, const void *from_host, std::size_t bytes) override {
        if (bytes != 0) std::memcpy(to, from_host, bytes);
    }
    void copy_out(void *to_host, const void *from, std::size_t bytes) const override {
        if (bytes != 0) std::memcpy(to_host, from, bytes);
    }

    void zero(void *data, std::size_t bytes) override {
        if (bytes != 0) std::memset(data, 0, bytes);
    }
    void copy(void *to, const void *from, std::size_t bytes) override {
        if (bytes != 0 && to != from) std::memcpy(to, from, bytes);
    }
    void reduce(const reduce::Operation &operation, const void *const *sources, std::size_t source_count,
                void *const *destinations, std::size_t destination_count, std::size_t elements) override {
        const reduce::FloatEnvironment environment;
        reduce::reduce(operation, sources, source_count, destinations, destination_count, elements);
    }
    void write_elements(int32_t dtype, int32_t assign, void *to, const void *from, std::size_t elements) override {
        const reduce::FloatEnvironment environment;
        reduce::write_elements(dtype, assign, to, from, elements);
    }
    void divide(int32_t dtype, void *to, uint64_t divisor, std::size_t elements) override {
        const reduce::FloatEnvironment environment;
        reduce::divide(dtype, to, divisor, elements);
    }
    void scale(int32_t dtype, void *to, double factor, std::size_t elements) override {
        const reduce::FloatEnvironment environment;
        reduce::scale(dtype, to, factor, elements);
    }

  private:
    /// Uses malloc, not aligned_alloc: glibc's aligned_alloc takes no block that a thread has just freed, and puts the
    /// remainders around the block back one by one. The reference count is not stored in the block either. Small counts
    /// between the blocks keep glibc from returning the top of its heap to the system, and from asking for it again,
    /// each time a thousand results come and go.
    static Memory allocate_small(std::size_t bytes) {
        void *const block = std::malloc(std::max<std::size_t>(bytes, 1) + kCacheLine - 1);
        if (block == nullptr) throw no_memory(bytes);
        const auto address = reinterpret_cast<std::uintptr_t>(block);
        char *const data = static_cast<char *>(block) + (kCacheLine - address % kCacheLine) % kCacheLine;
        return Memory(data, [block](void *) { std::free(block); });
    }

    static Failure no_memory(std::size_t bytes) {
        return Failure(MDIST_ERR_OUT_OF_MEMORY, text("cannot allocate ", bytes, " bytes"));
    }

    int32_t index_;
};

} // namespace

std::shared_ptr<Device> make_cpu_device(int32_t index) {
    return std::make_shared<Cpu>(index);
}

const std::shared_ptr<Device> &host() {
    // Never destroyed: a program may end without destroying its iterators, whose threads then still use it.
    static const auto &cpu = *new std::shared_ptr<Device>(make_cpu_device(0));
    return cpu;
}

} // namespace mdist
