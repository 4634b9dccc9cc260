// SPDX-License-Identifier: Apache-2.0
#include "bench/fused.h"

#include "bench/barrier.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>

namespace mdist {
namespace {

/// Sums floats [begin, end) of all buffers. Both are multiples of kBlock, except at the end of a buffer.
using Kernel = void (*)(float *const *buffers, std::size_t begin, std::size_t end);

constexpr std::size_t kBlock = 64;  // floats per iteration of the loop, four of the widest vectors
constexpr std::size_t kAhead = 256; // how many floats prefetching is ahead

template <int bytes>
struct Vector {
    typedef float Type __attribute__((vector_size(bytes)));
};

template <int bytes, int k, bool ahead>
[[gnu::always_inline]] inline void add_all(float *const *buffers, std::size_t begin, std::size_t end) {
    using V = typename Vector<bytes>::Type;
    constexpr std::size_t lanes = bytes / sizeof(float);
    constexpr std::size_t vectors = kBlock / lanes;
    float *const *const b = buffers;
    std::size_t at = begin;
    for (; at + kBlock <= end; at += kBlock) {
        if constexpr (ahead)
            for (int i = 0; i < k; ++i)
                for (std::size_t line = 0; line < kBlock; line += 16) __builtin_prefetch(b[i] + at + kAhead + line);
        V sums[vectors];
        for (std::size_t v = 0; v < vectors; ++v) {
            __builtin_memcpy(&sums[v], b[0] + at + v * lanes, bytes);
            for (int i = 1; i < k; ++i) {
                V next;
                __builtin_memcpy(&next, b[i] + at + v * lanes, bytes);
                sums[v] += next;
            }
        }
        for (int i = 0; i < k; ++i)
            for (std::size_t v = 0; v < vectors; ++v) __builtin_memcpy(b[i] + at + v * lanes, &sums[v], bytes);
    }
    for (; at < end; ++at) {
        float sum = b[0][at];
        for (int i = 1; i < k; ++i) sum += b[i][at];
        for (int i = 0; i < k; ++i) b[i][at] = sum;
    }
}

#if defined(__x86_64__)
template <int k, bool ahead>
[[gnu::target("avx512f")]] void add_avx512(float *const *buffers, std::size_t begin, std::size_t end) {
    add_all<64, k, ahead>(buffers, begin, end);
}
template <int k, bool ahead>
[[gnu::target("avx2")]] void add_avx2(float *const *buffers, std::size_t begin, std::size_t end) {
    add_all<32, k, ahead>(buffers, begin, end);
}
#endif
template <int k, bool ahead>
void add_plain(float *const *buffers, std::size_t begin, std::size_t end) {
    add_all<16, k, ahead>(buffers, begin, end);
}

struct Variant {
    const char *name;
    Kernel kernel;
};

template <int k>
std::vector<Variant> variants() {
#if defined(__x86_64__)
    const Variant avx2[] = {{"AVX2", add_avx2<k, false>}, {"AVX2, prefetching", add_avx2<k, true>}};
    const Variant avx512[] = {{"AVX-512", add_avx512<k, false>}, {"AVX-512, prefetching", add_avx512<k, true>}};
    if (__builtin_cpu_supports("avx512f")) return {avx2[0], avx2[1], avx512[0], avx512[1]};
    if (__builtin_cpu_supports("avx2")) return {avx2[0], avx2[1]};
#endif
    return {{"baseline", add_plain<k, false>}, {"baseline, prefetching", add_plain<k, true>}};
}

std::vector<Variant> variants_for(uint32_t replicas) {
    switch (replicas) {
        case 2:
            return variants<2>();
        case 4:
            return variants<4>();
        default:
            return variants<8>();
    }
}

/// One variant: a kernel, threads, and how the threads share the work.
class Fused {
  public:
    Fused(const Arena &arena, uint32_t replicas, std::size_t floats, Kernel kernel, uint32_t threads, uint32_t cpus,
          bool chunked)
        : kernel_(kernel), floats_(floats), threads_(threads), chunked_(chunked), barrier_(threads, cpus) {
        for (uint32_t i = 0; i < replicas; ++i) buffers_.push_back(reinterpret_cast<float *>(arena.region(i)));
    }

    void run(uint32_t thread, unsigned batch) {
        for (unsigned i = 0; i < batch; ++i) {
            if (thread == 0) next_.store(0, std::memory_order_relaxed); // no thread takes a chunk before the barrier
            barrier_.wait();
            if (chunked_) {
                run_chunks();
            } else {
                const std::size_t share = rounded((floats_ + threads_ - 1) / threads_);
                const std::size_t begin = std::min(floats_, thread * share);
                kernel_(buffers_.data(), begin, std::min(floats_, begin + share));
            }
            barrier_.wait();
        }
    }

  private:
    static std::size_t rounded(std::size_t floats) { return (floats + kBlock - 1) / kBlock * kBlock; }

    void run_chunks() {
        constexpr std::size_t kChunk = (256 << 10) / sizeof(float);
        for (std::size_t begin; (begin = next_.fetch_add(kChunk, std::memory_order_relaxed)) < floats_;)
            kernel_(buffers_.data(), begin, std::min(floats_, begin + kChunk));
    }

    const Kernel kernel_;
    const std::size_t floats_;
    const uint32_t threads_;
    const bool chunked_;
    std::vector<float *> buffers_;
    Barrier barrier_;
    alignas(64) std::atomic<std::size_t> next_{0};
};

} // namespace

std::vector<Side> fused_floors(const Arena &arena, uint32_t replicas, uint32_t cpus, std::size_t bytes) {
    const uint32_t most = std::min(replicas, cpus);
    std::vector<Side> sides;
    const auto add = [&](const Variant &variant, uint32_t threads, bool chunked) {
        const auto fused =
            std::make_shared<Fused>(arena, replicas, bytes / sizeof(float), variant.kernel, threads, cpus, chunked);
        Side side;
        side.name = "fused kernel, " + std::string(variant.name) + ", " + std::to_string(threads) +
                    (threads == 1 ? " thread" : " threads") + (chunked ? ", chunks" : "");
        side.parties = threads;
        side.run = [fused](const Seat &seat, unsigned batch) { fused->run(seat.index, batch); };
        sides.push_back(std::move(side));
    };
    for (const Variant &variant : variants_for(replicas)) {
        add(variant, 1, false);
        if (most > 1) add(variant, most, false);
        if (most > 1 && bytes >= 1 << 20) add(variant, most, true);
    }
    return sides;
}

} // namespace mdist
