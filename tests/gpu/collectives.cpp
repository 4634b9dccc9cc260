// SPDX-License-Identifier: Apache-2.0
// Collectives of GPU memory on one card: logical devices against the CPU bit for bit, their speed against that of a
// copy, NCCL with one rank from its start to its end, and what a step costs.
//
//     collectives [--most ELEMENTS]      the largest arrays; 2^26 if not said
#include "comm/lanes_support.h"

#include "checks.h"
#include "comm/device/nccl_start.h"
#include "util/clock.h"
#include "util/text.h"

#include <mdist/mdist.h>

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

Told all_reduce_on(GpuParties &world, Group &group, const std::vector<void *> &in, const std::vector<void *> &out,
                   std::size_t elements, int32_t op, int repetitions = 1) {
    return on_all(group.parties(), [&](uint32_t r) {
        const mdist_buffer_t input = {in[r], elements, MDIST_FLOAT32, 0}, output = {out[r], elements, MDIST_FLOAT32, 0};
        Call call;
        call.kind = CallKind::kAllReduce;
        call.op = op;
        call.inputs = &input;
        call.outputs = &output;
        call.buffer_count = 1;
        for (int i = 0; i < repetitions; ++i) all_reduce(group, r, call, kTimeout_ns);
        if (&group == &world.group) world.gpus[r]->finish();
    });
}

void check_bits(Checks &checks, uint32_t parties, std::size_t elements) {
    GpuParties world(parties, 1);
    Group plain(parties, Patience{}, kTimeout_ns);
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
        if (wrong.empty()) wrong = first_of(all_reduce_on(world, world.group, there, there, elements, op));
        for (uint32_t r = 0; r < parties && wrong.empty(); ++r)
            if (twins[r].from_gpu(*world.gpus[r]) != twins[r].host) wrong = text("replica ", r, " has other bits");
        checks.check(wrong.empty(), text("logical devices ", parties, op == MDIST_SUM ? " sum" : " mean"),
                     wrong.empty() ? text(elements, " float32 as on the CPU") : wrong);
    }
}

/// Bytes read and written per second by a copy within the GPU.
double copy_rate(mdist::Gpu &gpu, std::size_t bytes) {
    const mdist::Memory from = gpu.allocate(bytes), to = gpu.allocate(bytes);
    double best = 0;
    for (int turn = 0; turn < 5; ++turn) {
        const uint64_t begin = monotonic_clock().now_ns();
        for (int i = 0; i < 20; ++i) gpu.copy(to.get(), from.get(), bytes);
        gpu.finish();
        best = std::max(best, 2.0 * 20 * static_cast<double>(bytes) / seconds_since(begin));
    }
    return best;
}

void check_rate(Checks &checks, uint32_t parties, std::size_t elements, bool judged) {
    GpuParties world(parties, 1);
    const std::size_t bytes = elements * sizeof(float);
    const double copied = copy_rate(*world.gpus[0], bytes);
    std::vector<mdist::Memory> memory;
    std::vector<void *> in, out;
    for (uint32_t r = 0; r < parties; ++r) {
        for (std::vector<void *> *all : {&in, &out}) {
            memory.push_back(world.gpus[r]->allocate(bytes));
            world.gpus[r]->zero(memory.back().get(), bytes);
            all->push_back(memory.back().get());
        }
        world.gpus[r]->finish();
    }
    double best = 0;
    std::string wrong;
    for (int turn = 0; turn < 5 && wrong.empty(); ++turn) {
        const uint64_t begin = monotonic_clock().now_ns();
        wrong = first_of(all_reduce_on(world, world.group, in, out, elements, MDIST_SUM, 20));
        best = std::max(best, 2.0 * 20 * parties * static_cast<double>(bytes) / seconds_since(begin));
    }
    const double share = best / copied;
    checks.check(wrong.empty() && (!judged || share >= 0.8), text("all-reduce rate of ", parties),
                 wrong.empty() ? text(bytes, " bytes each, ", best * 1e-9, " GB/s, copy ", copied * 1e-9,
                                      " GB/s: ", share * 100, " %")
                               : wrong);
}

void check_nccl(Checks &checks, std::size_t elements) {
    std::string reason;
    if (nccl_api(reason) == nullptr) return checks.skipped("NCCL with one rank", reason);
    std::string wrong;
    const uint64_t begin = monotonic_clock().now_ns();
    {
        GpuParties world(1, 1);
        world.lanes.set_nccl(start_nccl(world.group, world.lanes, kTimeout_ns, wrong));
        const double started = seconds_since(begin);
        checks.check(wrong.empty(), "NCCL starts", wrong.empty() ? text(started, " s, not blocking") : wrong);
        if (!wrong.empty()) return;
        Twin twin;
        twin.allocate(*world.gpus[0], elements * sizeof(float), 0);
        twin.to_gpu(*world.gpus[0]);
        const std::vector<void *> data = {twin.on_gpu()};
        for (const int32_t op : {MDIST_SUM, MDIST_MEAN}) {
            wrong = first_of(all_reduce_on(world, world.group, data, data, elements, op));
            if (wrong.empty() && twin.from_gpu(*world.gpus[0]) != twin.host) wrong = "the elements have changed";
            checks.check(wrong.empty(), text("NCCL with one rank ", op == MDIST_SUM ? "sum" : "mean"), wrong);
        }
    }
    checks.ok("NCCL ends", "finalized");
}

/// Behind a kernel that takes two seconds, with a limit of a fifth of one.
void check_abort(Checks &checks) {
    std::string reason;
    if (nccl_api(reason) == nullptr) return checks.skipped("NCCL aborted in flight", reason);
    const uint64_t begin = monotonic_clock().now_ns();
    std::string wrong;
    {
        GpuParties world(1, 1);
        world.lanes.set_nccl(start_nccl(world.group, world.lanes, kTimeout_ns, wrong));
        if (!wrong.empty()) return checks.failed("NCCL aborted in flight", wrong);
        mdist::Gpu &gpu = *world.gpus[0];
        const mdist::Memory memory = gpu.allocate(4096);
        gpu.zero(memory.get(), 4096);
        gpu.physical().check(gpu.physical().api().spin(gpu.index(), 2'000'000, gpu.stream()), "spinning");
        const mdist_buffer_t buffer = {memory.get(), 1024, MDIST_FLOAT32, 0};
        Call call;
        call.kind = CallKind::kAllReduce;
        call.op = MDIST_SUM;
        call.inputs = call.outputs = &buffer;
        call.buffer_count = 1;
        all_reduce(world.group, 0, call, 200'000'000);
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

int32_t copy_step(mdist_replica_t *replica, void *user_data) {
    auto *const memory = static_cast<char *>(user_data);
    const uint64_t shape[] = {1};
    mdist_tensor_t to = {};
    if (mdist_tensor_describe(memory, MDIST_FLOAT32, shape, 1, &to, nullptr) != MDIST_OK) return 1;
    to.device_kind = MDIST_DEVICE_GPU;
    mdist_tensor_t from = to;
    from.data = memory + 256;
    return mdist_replica_copy(replica, &to, &from, nullptr) == MDIST_OK ? 0 : 1;
}

void check_step(Checks &checks, bool judged) {
    mdist_config_t *config = nullptr;
    mdist_strategy_t *strategy = nullptr;
    mdist_error_t *error = nullptr;
    void *memory = nullptr;
    std::string wrong;
    if (mdist_config_create(&config, &error) != MDIST_OK ||
        mdist_config_set(config, "devices", "gpu:0", &error) != MDIST_OK ||
        mdist_strategy_create(config, &strategy, &error) != MDIST_OK ||
        mdist_alloc(strategy, 0, 512, &memory, &error) != MDIST_OK)
        wrong = mdist_error_message(error);
    constexpr int kSteps = 1000;
    double step = 1, raw = 1;
    mdist::Gpu gpu(0, 0);
    for (int turn = 0; turn < 5 && wrong.empty(); ++turn) {
        uint64_t begin = monotonic_clock().now_ns();
        for (int i = 0; i < kSteps && wrong.empty(); ++i)
            if (mdist_run(strategy, copy_step, memory, nullptr, 0, nullptr, 0, nullptr, &error) != MDIST_OK)
                wrong = mdist_error_message(error);
        step = std::min(step, seconds_since(begin) / kSteps);
        begin = monotonic_clock().now_ns();
        for (int i = 0; i < kSteps; ++i) {
            gpu.copy(memory, static_cast<char *>(memory) + 256, sizeof(float));
            gpu.finish();
        }
        raw = std::min(raw, seconds_since(begin) / kSteps);
    }
    mdist_error_free(error);
    mdist_free(memory);
    mdist_strategy_destroy(strategy);
    mdist_config_destroy(config);
    checks.check(wrong.empty() && (!judged || step - raw < 10e-6), "step of one kernel",
                 wrong.empty() ? text(step * 1e6, " us, ", raw * 1e6, " us without the library's step") : wrong);
}

int run(std::size_t most) {
    Checks checks;
    try {
        const Gpu gpu(checks);
        const bool judged = !gpu.is_fake();
        if (most == 0) most = judged ? std::size_t{1} << 26 : 65536;
        for (const uint32_t parties : {1u, 2u, 3u, 4u, 8u})
            check_bits(checks, parties, std::min<std::size_t>(most, 4194304) + 3);
        for (const uint32_t parties : {2u, 4u, 8u}) check_rate(checks, parties, most, judged);
        check_nccl(checks, std::min<std::size_t>(most, 1000003));
        check_abort(checks);
        check_step(checks, judged);
    } catch (const Failure &failure) {
        checks.check(false, "collectives", failure.message());
    }
    return checks.finish();
}

} // namespace
} // namespace mdist::gpu_test

int main(int argc, char **argv) {
    return mdist::gpu_test::run(mdist::gpu_test::option(argc, argv, "--most", 0));
}
