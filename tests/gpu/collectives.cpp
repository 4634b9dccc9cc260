// SPDX-License-Identifier: Apache-2.0
// Collectives of GPU memory on one card: logical devices give the bits of the CPU, and NCCL with one rank starts, works
// and ends.
//
//     collectives [--most ELEMENTS]      size of the largest arrays; default 2^22
#include "comm/lanes_support.h"

#include "checks.h"
#include "comm/device/nccl_start.h"
#include "strategy/job/call_functions.h"
#include "subject.h"
#include "util/clock.h"
#include "util/text.h"

#include <algorithm>

namespace mdist::gpu_test {
namespace {

double seconds_since(uint64_t begin_ns) {
    return static_cast<double>(monotonic_clock().now_ns() - begin_ns) * 1e-9;
}

std::string first_of(const Told &told) {
    for (const std::string &each : told)
        if (!each.empty()) return each;
    return "";
}

Told all_reduce_on(GpuParties &world, Executors &executors, const std::vector<void *> &in,
                   const std::vector<void *> &out, std::size_t elements, int32_t op) {
    return on_all(executors.group().parties(), [&](uint32_t r) {
        const mdist_buffer_t input = {in[r], elements, MDIST_FLOAT32, 0}, output = {out[r], elements, MDIST_FLOAT32, 0};
        Call call;
        call.kind = &calls::kAllReduce;
        call.op = op;
        call.inputs = &input;
        call.outputs = &output;
        call.buffer_count = 1;
        perform_collective(executors, r, call, kTimeout_ns);
        if (&executors == &world.executors) world.gpus[r]->finish();
    });
}

void check_bits(Checks &checks, uint32_t parties, std::size_t elements) {
    GpuParties world(parties, 1);
    Group group(parties, Patience{}, kTimeout_ns);
    Executors plain(group);
    std::mt19937_64 random(parties);
    std::vector<Twin> twins(parties);
    for (const int32_t op : {MDIST_SUM, MDIST_MEAN}) {
        std::vector<void *> here, there;
        for (uint32_t r = 0; r < parties; ++r) {
            twins[r].allocate(*world.gpus[r], elements * sizeof(float), 0);
            for (std::size_t i = 0; i < elements; ++i) {
                const float value = static_cast<float>(static_cast<int32_t>(random())) * 0x1p-20f;
                std::memcpy(&twins[r].host[i * sizeof value], &value, sizeof value);
            }
            twins[r].to_gpu(*world.gpus[r]);
            here.push_back(twins[r].host.data());
            there.push_back(twins[r].on_gpu());
        }
        std::string wrong = first_of(all_reduce_on(world, plain, here, here, elements, op));
        if (wrong.empty()) wrong = first_of(all_reduce_on(world, world.executors, there, there, elements, op));
        for (uint32_t r = 0; r < parties && wrong.empty(); ++r)
            if (twins[r].from_gpu(*world.gpus[r]) != twins[r].host) wrong = text("replica ", r, " has other bits");
        checks.check(wrong.empty(), text("logical devices ", parties, op == MDIST_SUM ? " sum" : " mean"),
                     wrong.empty() ? text(elements, " float32 as on the CPU") : wrong);
    }
}

void check_nccl(Checks &checks, std::size_t elements) {
    std::string reason;
    if (nccl_api(reason) == nullptr) return checks.skipped("NCCL with one rank", reason);
    std::string wrong;
    const uint64_t begin = monotonic_clock().now_ns();
    {
        GpuParties world(1, 1);
        world.lanes.set_nccl(
            start_nccl(&calls::kCreateStrategy, world.group, nullptr, world.lanes.lanes(), kTimeout_ns, wrong));
        const double started = seconds_since(begin);
        checks.check(wrong.empty(), "NCCL starts", wrong.empty() ? text(started, " s, not blocking") : wrong);
        if (!wrong.empty()) return;
        Twin twin;
        twin.allocate(*world.gpus[0], elements * sizeof(float), 0);
        twin.to_gpu(*world.gpus[0]);
        const std::vector<void *> data = {twin.on_gpu()};
        for (const int32_t op : {MDIST_SUM, MDIST_MEAN}) {
            wrong = first_of(all_reduce_on(world, world.executors, data, data, elements, op));
            if (wrong.empty() && twin.from_gpu(*world.gpus[0]) != twin.host) wrong = "the elements have changed";
            checks.check(wrong.empty(), text("NCCL with one rank ", op == MDIST_SUM ? "sum" : "mean"), wrong);
        }
    }
    checks.ok("NCCL ends", "finalized");
}

/// A collective after a kernel that takes 2 s, with a timeout of 0.2 s.
void check_abort(Checks &checks) {
    std::string reason;
    if (nccl_api(reason) == nullptr) return checks.skipped("NCCL aborted in flight", reason);
    const uint64_t begin = monotonic_clock().now_ns();
    std::string wrong;
    {
        GpuParties world(1, 1);
        world.lanes.set_nccl(
            start_nccl(&calls::kCreateStrategy, world.group, nullptr, world.lanes.lanes(), kTimeout_ns, wrong));
        if (!wrong.empty()) return checks.failed("NCCL aborted in flight", wrong);
        mdist::Gpu &gpu = *world.gpus[0];
        const mdist::Memory memory = gpu.allocate(4096);
        gpu.zero(memory.get(), 4096);
        gpu.physical().check(gpu.physical().api().spin(gpu.index(), 2'000'000, gpu.stream()), "spinning");
        const mdist_buffer_t buffer = {memory.get(), 1024, MDIST_FLOAT32, 0};
        Call call;
        call.kind = &calls::kAllReduce;
        call.op = MDIST_SUM;
        call.inputs = call.outputs = &buffer;
        call.buffer_count = 1;
        perform_collective(world.executors, 0, call, 200'000'000);
        while (!world.group.failed() && seconds_since(begin) < 30) std::this_thread::yield();
        if (!world.group.failed())
            wrong = "nobody noticed that the time was up";
        else if (world.group.cause()->status() != MDIST_ERR_TIMEOUT)
            wrong = world.group.cause()->message();
        gpu.finish();
    }
    checks.check(wrong.empty(), "NCCL aborted in flight",
                 wrong.empty() ? text("all is taken down after ", seconds_since(begin), " s") : wrong);
}

int run(std::size_t most) {
    Checks checks;
    try {
        const Gpu gpu(checks);
        if (most == 0) most = gpu.is_fake() ? 65536 : 4194304;
        for (const uint32_t parties : {1u, 2u, 3u, 4u, 8u}) check_bits(checks, parties, most + 3);
        check_nccl(checks, std::min<std::size_t>(most, 1000003));
        check_abort(checks);
    } catch (const Failure &failure) {
        checks.check(false, "collectives", failure.message());
    }
    return checks.finish();
}

} // namespace
} // namespace mdist::gpu_test

SUBJECT(collectives) {
    return mdist::gpu_test::run(mdist::gpu_test::option(argc, argv, "--most", 0));
}
