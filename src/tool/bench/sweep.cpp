// SPDX-License-Identifier: Apache-2.0
// Measures all-reduce from one element to 100 MiB, and compares the growth of its time with that of memory traffic. For
// k replicas the traffic is k buffers read and k written, k / 2 times that of 2 replicas.
#include "bench/all_reduce.h"
#include "bench/bench.h"
#include "bench/fused.h"
#include "bench/report.h"

#include <cstdio>
#include <optional>

namespace mdist {
namespace {

constexpr double kGrowthGoal = 1.3;
constexpr std::size_t kGrowthBytes = 1 << 20; // growth is judged from this size up

std::string name_of(uint32_t replicas, std::size_t bytes) {
    return "sweep " + std::to_string(replicas) + " x " + size_text(bytes);
}

std::string note_of(const Row &row, const std::optional<Row> &two) {
    char text[128];
    const double bandwidth = static_cast<double>(row.bytes) / row.library_ns;
    int length = std::snprintf(text, sizeof text, "%.3g GB/s", bandwidth);
    if (two)
        std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length), ", floor's growth %.2f",
                      row.floor_ns / two->floor_ns / (row.replicas / 2.0));
    return text;
}

void sweep_size(Bench &bench, std::size_t bytes) {
    std::optional<Row> two;
    for (const uint32_t replicas : {2u, 4u, 8u}) {
        if (!bench.wanted(name_of(replicas, bytes))) continue;
        Row row = bench.compare(bench.world(replicas), all_reduce_side(bench.arena(), bytes, MDIST_FLOAT32),
                                fused_floors(bench.arena(), replicas, bench.machine().usable_cpus, bytes));
        row.name = name_of(replicas, bytes);
        row.bytes = bytes;
        row.note = note_of(row, two);
        if (replicas == 2) two = row;
        if (two && replicas > 2 && bytes >= kGrowthBytes)
            row.set_growth(row.library_ns / two->library_ns / (replicas / 2.0), kGrowthGoal);
        bench.add(std::move(row));
    }
}

} // namespace

void bench_sweep(Bench &bench) {
    constexpr std::size_t kKib = 1 << 10;
    constexpr std::size_t kMib = 1 << 20;
    for (const std::size_t bytes : {std::size_t{4}, std::size_t{64}, kKib, 4 * kKib, 16 * kKib, 64 * kKib, 256 * kKib,
                                    kMib, 4 * kMib, 16 * kMib, 100 * kMib})
        if (bytes <= bench.arena().region_bytes()) sweep_size(bench, bytes);
}

} // namespace mdist
