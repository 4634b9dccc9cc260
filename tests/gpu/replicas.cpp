// SPDX-License-Identifier: Apache-2.0
// Replicas on one GPU, through the public API: results and speed of collectives of GPU memory, graphs, and many steps
// without a leak.
//
//     replicas [--most BYTES] [--steps N]      size of the largest array (default 256 MiB), steps (default 100000)
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "device/gpu/loader.h"
#include "started.h"
#include "strategy.h"
#include "subject.h"
#include "util/text.h"

#include <unistd.h>

namespace mdist::gpu_test {
namespace {

constexpr double kGoal = 0.85; // of a copy's rate

/// Returns the bytes per second that copies in a replica's step read and write.
double copy_rate(std::size_t bytes) {
    constexpr int kTimes = 20;
    const Strategy strategy("gpu:0", "auto");
    const Array from = strategy.allocate(0, bytes), to = strategy.allocate(0, bytes);
    const mdist_tensor_t source = tensor_of(from.data(), MDIST_UINT8, bytes);
    const mdist_tensor_t destination = tensor_of(to.data(), MDIST_UINT8, bytes);
    double best = 0;
    for (int turn = 0; turn < 6; ++turn) {
        const auto begin = std::chrono::steady_clock::now();
        strategy.run([&](mdist_replica_t *replica, uint32_t) {
            mdist_error_t *error = nullptr;
            for (int i = 0; i < kTimes; ++i) well(mdist_replica_copy(replica, &destination, &source, &error), error);
        });
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        best = std::max(best, 2.0 * kTimes * static_cast<double>(bytes) / took.count());
    }
    return best;
}

std::string logical_devices(uint32_t count) {
    return text("gpu:0*", count);
}

/// All inputs are read and all outputs written.
void check_rates(const Gpu &gpu, std::size_t bytes) {
    gpu.warm_up();
    const double copied = copy_rate(bytes);
    for (const mdist_dtype_t dtype : {MDIST_FLOAT32, MDIST_BFLOAT16}) {
        for (const uint32_t count : {2u, 4u, 8u}) {
            const Strategy strategy(logical_devices(count), "auto");
            const double rate = 2 * count * all_reduce_rate(strategy, dtype, bytes);
            gpu.checks().check(
                rate >= kGoal * copied || gpu.is_fake(),
                text("rate of mdist_all_reduce, ", count, dtype == MDIST_FLOAT32 ? " float32" : " bfloat16"),
                text(std::llround(rate * 1e-9), " GB/s, ", std::llround(100 * rate / copied), " % of a copy's ",
                     std::llround(copied * 1e-9), ", the goal is 85 %"));
        }
    }
}

/// The body of a graph: an addition with a kernel of the module, and a collective of the sum.
struct Recorded {
    const Gpu &gpu;
    float *one, *sum, *result;
    int recorded = 0;
    std::string wrong; // what the collective said
};

int32_t add_and_reduce(mdist_replica_t *replica, void *user_data) {
    auto *const self = static_cast<Recorded *>(user_data);
    const mdist_gpu_api &api = self->gpu.api();
    void *stream = nullptr;
    ++self->recorded;
    const mdist_buffer_t sum = {self->sum, 1000, MDIST_FLOAT32, 0}, result = {self->result, 1000, MDIST_FLOAT32, 0};
    try {
        mdist_error_t *error = nullptr;
        well(mdist_replica_stream(replica, &stream, &error), error);
        const void *const sources[] = {self->sum, self->one};
        void *const destination = self->sum;
        const mdist_gpu_reduction add = {MDIST_FLOAT32, MDIST_SUM, 1, 2, 1, sources, &destination, 1000};
        const int added = api.reduce(0, &add, 1, static_cast<mdist_gpu_stream *>(stream));
        if (added != 0) throw std::runtime_error(api.text(added));
        all_reduce(replica, MDIST_MEAN, sum, result);
        return 0;
    } catch (const std::exception &failure) {
        self->wrong = failure.what();
        return 1;
    }
}

std::string graph_problem(const Gpu &gpu, const char *implementation) {
    constexpr int kLaunches = 10;
    const Strategy strategy("gpu:0", implementation);
    const Array arrays = strategy.allocate(0, 12000);
    auto *const one = static_cast<float *>(arrays.data());
    Recorded recorded = {gpu, one, one + 1000, one + 2000, 0, ""};
    std::vector<float> numbers(3000, 0.0f);
    std::fill_n(numbers.begin(), 1000, 1.0f);
    const mdist_tensor_t here = tensor_of(numbers.data(), MDIST_FLOAT32, 3000);
    const mdist_tensor_t there = tensor_of(one, MDIST_FLOAT32, 3000);
    mdist_error_t *error = nullptr;
    well(mdist_tensor_copy(&there, &here, &error), error);
    try {
        for (int i = 0; i < kLaunches; ++i)
            strategy.run([&](mdist_replica_t *replica, uint32_t) {
                well(mdist_replica_graph(replica, 1, add_and_reduce, &recorded, &error), error);
            });
    } catch (const std::exception &failure) {
        return recorded.wrong.empty() ? failure.what() : text(failure.what(), " (", recorded.wrong, ")");
    }
    well(mdist_tensor_copy(&here, &there, &error), error);
    if (recorded.recorded != 1) return text("called ", recorded.recorded, " times");
    const auto right = std::count(numbers.begin() + 1000, numbers.end(), static_cast<float>(kLaunches));
    return right == 2000 ? "" : text(2000 - right, " of 2000 elements are wrong, one is ", numbers[2999]);
}

void check_graph(const Gpu &gpu, const char *implementation, const std::string &name) {
    std::string wrong;
    try {
        wrong = graph_problem(gpu, implementation);
    } catch (const std::exception &failure) {
        wrong = failure.what();
    }
    gpu.checks().check(wrong.empty(), name, wrong);
}

/// The resources of this process, for a comparison with later.
struct Holdings {
    uint64_t free_on_gpu;
    uint64_t resident;
    long files, threads;
};

long entries_of(const char *folder) {
    return std::distance(std::filesystem::directory_iterator(folder), {});
}

Holdings holdings(const Gpu &gpu) {
    uint64_t pages = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> pages >> resident;
    return {gpu.free_bytes(), resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)), entries_of("/proc/self/fd"),
            entries_of("/proc/self/task")};
}

/// Allocates and frees memory, runs a started and a blocking all-reduce, and copies to the host.
void busy_step(mdist_replica_t *replica, const Strategy &strategy, uint32_t r, const std::vector<Array> &arrays) {
    constexpr uint64_t kElements = 1000;
    const mdist_buffer_t buffer = {arrays[r].data(), kElements, MDIST_FLOAT32, 0};
    const Array other = strategy.allocate(r, kElements * sizeof(float));
    const mdist_buffer_t result = {other.data(), kElements, MDIST_FLOAT32, 0};
    mdist_work_t *work = nullptr;
    mdist_error_t *error = nullptr;
    int32_t done = 0;
    well(start_all_reduce(replica, MDIST_MEAN, &buffer, &result, 1, &work, nullptr, &error), error);
    const mdist_status_t status = mdist_work_wait(work, MDIST_FOREVER, &done, &error);
    mdist_work_destroy(work);
    well(status, error);
    all_reduce(replica, MDIST_MAX, buffer, buffer);
    float here[4] = {};
    const mdist_tensor_t to = tensor_of(here, MDIST_FLOAT32, 4), from = tensor_of(other.data(), MDIST_FLOAT32, 4);
    well(mdist_replica_copy(replica, &to, &from, &error), error);
}

void check_leaks(const Gpu &gpu, uint64_t steps) {
    const Strategy strategy(logical_devices(2), "auto");
    std::vector<Array> arrays;
    for (uint32_t r = 0; r < strategy.replicas(); ++r) arrays.push_back(strategy.allocate(r, 4000));
    const auto run = [&](uint64_t count) {
        for (uint64_t i = 0; i < count; ++i)
            strategy.run([&](mdist_replica_t *replica, uint32_t r) { busy_step(replica, strategy, r, arrays); });
    };
    run(steps / 20);
    const Holdings before = holdings(gpu);
    const auto begin = std::chrono::steady_clock::now();
    run(steps);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const Holdings after = holdings(gpu);
    constexpr uint64_t kSlack = 8 << 20;
    const bool kept = after.free_on_gpu + kSlack >= before.free_on_gpu && after.resident <= before.resident + kSlack &&
                      after.files <= before.files && after.threads <= before.threads;
    gpu.checks().check(
        kept, "many steps leave nothing behind",
        text(steps, " steps in ", std::llround(took.count()), " s; free on the GPU ", before.free_on_gpu >> 20, " and ",
             after.free_on_gpu >> 20, " MiB, resident ", before.resident >> 20, " and ", after.resident >> 20,
             " MiB, files ", before.files, " and ", after.files, ", threads ", before.threads, " and ", after.threads));
}

int run(int argc, char **argv) {
    Checks checks;
    const Gpu gpu(checks);
    try {
        {
            const Strategy strategy(logical_devices(4), "auto");
            check_types(checks, strategy, "logical devices");
            check_exchanges(checks, strategy, "logical devices");
        }
        check_graph(gpu, "auto", "a step's graph");
        std::string reason;
        if (nccl_api(reason) != nullptr)
            check_graph(gpu, "nccl", "a step's graph with NCCL");
        else
            checks.skipped("a step's graph with NCCL", reason);
        check_rates(gpu, option(argc, argv, "--most", gpu.is_fake() ? 65536 : std::size_t{256} << 20));
        check_leaks(gpu, option(argc, argv, "--steps", gpu.is_fake() ? 400 : 100000));
    } catch (const std::exception &failure) {
        checks.failed("replicas", failure.what());
    }
    return checks.finish();
}

} // namespace
} // namespace mdist::gpu_test

SUBJECT(replicas) {
    return mdist::gpu_test::run(argc, argv);
}
