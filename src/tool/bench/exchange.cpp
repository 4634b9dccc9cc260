// SPDX-License-Identifier: Apache-2.0
// Measures the other collectives, and all-reduce of other types, at one size; no goals. The floor of a copying
// collective is memcpy of as many bytes, on as many threads as have cores. The floor of a reduction is the float32
// kernel on the same bytes.
#include "bench/all_reduce.h"
#include "bench/barrier.h"
#include "bench/bench.h"
#include "bench/fused.h"
#include "bench/report.h"

#include <algorithm>
#include <cstring>

namespace mdist {
namespace {

constexpr std::size_t kBytes = 4 << 20;

/// Inputs are in the first half of each region, outputs in the second.
struct Buffers {
    mdist_buffer_t input;
    mdist_buffer_t output;
};

using Collective = mdist_status_t (*)(const Seat &, const Buffers &, mdist_error_t **);

struct Exchange {
    const char *name;
    Collective call;
    bool part_in;  // a replica's input is its part of kBytes
    bool part_out; // its output is its part of kBytes
};

constexpr Exchange kExchanges[] = {
    {"broadcast",
     [](const Seat &seat, const Buffers &b, mdist_error_t **error) {
         return mdist_broadcast(seat.replica, 0, &b.input, 1, nullptr, error);
     },
     false, false},
    {"all_gather",
     [](const Seat &seat, const Buffers &b, mdist_error_t **error) {
         return mdist_all_gather(seat.replica, &b.input, &b.output, 1, nullptr, error);
     },
     true, false},
    {"reduce_scatter",
     [](const Seat &seat, const Buffers &b, mdist_error_t **error) {
         return mdist_reduce_scatter(seat.replica, MDIST_SUM, &b.input, &b.output, 1, nullptr, error);
     },
     false, true},
    {"all_to_all",
     [](const Seat &seat, const Buffers &b, mdist_error_t **error) {
         return mdist_all_to_all(seat.replica, &b.input, &b.output, 1, nullptr, error);
     },
     false, false},
};

Side library_side(const Arena &arena, const Exchange &exchange, uint32_t replicas) {
    Side side;
    side.name = exchange.name;
    side.run = [&arena, &exchange, replicas](const Seat &seat, unsigned batch) {
        const uint64_t floats = kBytes / sizeof(float);
        char *region = arena.region(seat.index);
        const Buffers buffers = {
            {region, exchange.part_in ? floats / replicas : floats, MDIST_FLOAT32, 0},
            {region + arena.region_bytes() / 2, exchange.part_out ? floats / replicas : floats, MDIST_FLOAT32, 0}};
        for (unsigned i = 0; i < batch; ++i) {
            mdist_error_t *error = nullptr;
            seat.note(exchange.call(seat, buffers, &error), error);
        }
    };
    return side;
}

/// Copies kBytes `copies` times, each time to another region, split over `threads`.
Side copy_floor(const Arena &arena, uint32_t copies, uint32_t threads, uint32_t cpus) {
    const auto barrier = std::make_shared<Barrier>(threads, cpus);
    Side side;
    side.name = "memcpy of " + size_text(copies * kBytes) + ", " + std::to_string(threads) + " threads";
    side.parties = threads;
    side.run = [&arena, barrier, copies, threads](const Seat &seat, unsigned batch) {
        const std::size_t share = kBytes / threads;
        const std::size_t offset = seat.index * share;
        for (unsigned i = 0; i < batch; ++i) {
            barrier->wait();
            for (uint32_t c = 0; c < copies; ++c) {
                char *region = arena.region(c);
                std::memcpy(region + arena.region_bytes() / 2 + offset, region + offset, share);
            }
            barrier->wait();
        }
    };
    return side;
}

void bench_one(Bench &bench, const Exchange &exchange, uint32_t replicas) {
    const std::string name = std::string(exchange.name) + " " + std::to_string(replicas) + " x " + size_text(kBytes);
    if (!bench.wanted(name)) return;
    const bool reduces = exchange.part_out;
    const bool from_one = !exchange.part_in && std::strcmp(exchange.name, "broadcast") == 0;
    const uint32_t cpus = bench.machine().usable_cpus;
    const std::vector<Side> floors =
        reduces ? fused_floors(bench.arena(), replicas, cpus, kBytes)
                : std::vector<Side>{
                      copy_floor(bench.arena(), from_one ? replicas - 1 : replicas, std::min(replicas, cpus), cpus)};
    Row row = bench.compare(bench.world(replicas), library_side(bench.arena(), exchange, replicas), floors);
    row.name = name;
    row.bytes = kBytes;
    if (reduces) row.note = "floor writes all parts";
    bench.add(std::move(row));
}

} // namespace

void bench_exchange(Bench &bench) {
    for (const mdist_dtype_t dtype :
         {MDIST_FLOAT32, MDIST_FLOAT64, MDIST_FLOAT16, MDIST_BFLOAT16, MDIST_INT32, MDIST_INT8}) {
        const std::string name = std::string("all_reduce ") + mdist_dtype_name(dtype) + " 2 x " + size_text(kBytes);
        if (!bench.wanted(name)) continue;
        Row row = bench.compare(bench.world(2), all_reduce_side(bench.arena(), kBytes, dtype),
                                fused_floors(bench.arena(), 2, bench.machine().usable_cpus, kBytes));
        row.name = name;
        row.bytes = kBytes;
        bench.add(std::move(row));
    }
    for (const uint32_t replicas : {2u, 4u, 8u})
        for (const Exchange &exchange : kExchanges) bench_one(bench, exchange, replicas);
}

} // namespace mdist
