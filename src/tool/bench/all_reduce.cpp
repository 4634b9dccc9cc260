// SPDX-License-Identifier: Apache-2.0
// Measures all-reduce at both ends of the scale: large buffers against the fused kernel, small ones against bare
// barriers.
#include "bench/all_reduce.h"

#include "bench/barrier.h"
#include "bench/bench.h"
#include "bench/fused.h"
#include "bench/report.h"

namespace mdist {
namespace {

constexpr double kLargeGoal = 1.15;
constexpr double kBarriersGoal = 6;
constexpr std::size_t kSmallBytes = 4096;

Side barrier_floor(uint32_t replicas, uint32_t cpus) {
    const auto barrier = std::make_shared<Barrier>(replicas, cpus);
    Side side;
    side.name = std::to_string(replicas) + (replicas > cpus ? " threads' yielding" : " threads' spinning") + " barrier";
    side.run = [barrier](const Seat &, unsigned batch) {
        for (unsigned i = 0; i < batch; ++i) barrier->wait();
    };
    return side;
}

/// The cost of moving the cache lines alone: two bare barriers, and between them each of two threads sums its half of
/// both arrays into both.
Side halves_floor(const Arena &arena, uint32_t cpus, std::size_t bytes) {
    const auto barrier = std::make_shared<Barrier>(2, cpus);
    float *const first = reinterpret_cast<float *>(arena.region(0));
    float *const second = reinterpret_cast<float *>(arena.region(1));
    const std::size_t half = bytes / sizeof(float) / 2;
    Side side;
    side.name = "2 bare barriers, each thread sums its half in place";
    side.run = [barrier, first, second, half](const Seat &seat, unsigned batch) {
        for (unsigned i = 0; i < batch; ++i) {
            barrier->wait();
            for (std::size_t e = seat.index * half; e < (seat.index + 1) * half; ++e) {
                const float sum = first[e] + second[e];
                first[e] = sum;
                second[e] = sum;
            }
            barrier->wait();
        }
    };
    return side;
}

std::string name_of(uint32_t replicas, std::size_t bytes) {
    return "all_reduce " + std::to_string(replicas) + " x " + size_text(bytes);
}

} // namespace

Side all_reduce_side(const Arena &arena, std::size_t bytes, mdist_dtype_t dtype) {
    const uint64_t elements = bytes / mdist_dtype_size(dtype);
    Side side;
    side.name = "mdist_all_reduce";
    side.run = [&arena, elements, dtype](const Seat &seat, unsigned batch) {
        const mdist_buffer_t buffer = {arena.region(seat.index), elements, dtype, 0};
        for (unsigned i = 0; i < batch; ++i) {
            mdist_error_t *error = nullptr;
            seat.note(mdist_all_reduce(seat.replica, MDIST_SUM, &buffer, &buffer, 1, nullptr, &error), error);
        }
    };
    return side;
}

void bench_all_reduce(Bench &bench) {
    const uint32_t cpus = bench.machine().usable_cpus;
    const std::size_t large = std::min<std::size_t>(bench.arena().region_bytes(), 100 << 20);
    for (const uint32_t replicas : {2u, 4u, 8u}) {
        const std::string name = name_of(replicas, large);
        if (!bench.wanted(name)) continue;
        Row row = bench.compare(bench.world(replicas), all_reduce_side(bench.arena(), large, MDIST_FLOAT32),
                                fused_floors(bench.arena(), replicas, cpus, large));
        row.name = name;
        row.bytes = large;
        row.set_goal(Measure::kRatio, kLargeGoal);
        bench.add(std::move(row));
    }
    for (const uint32_t replicas : {2u, 4u, 8u}) {
        const std::string name = name_of(replicas, kSmallBytes);
        if (!bench.wanted(name)) continue;
        Row row = bench.compare(bench.world(replicas), all_reduce_side(bench.arena(), kSmallBytes, MDIST_FLOAT32),
                                {barrier_floor(replicas, cpus)});
        row.name = name;
        row.bytes = kSmallBytes;
        row.set_goal(Measure::kRatio, kBarriersGoal);
        bench.add(std::move(row));
    }
    const std::string name = name_of(2, kSmallBytes) + ", bare";
    if (!bench.wanted(name)) return;
    Row row = bench.compare(bench.world(2), all_reduce_side(bench.arena(), kSmallBytes, MDIST_FLOAT32),
                            {halves_floor(bench.arena(), cpus, kSmallBytes)});
    row.name = name;
    row.bytes = kSmallBytes;
    bench.add(std::move(row));
}

} // namespace mdist
