// SPDX-License-Identifier: Apache-2.0
// All GPUs of a machine in one process, through the public API: collectives by NCCL and by the library's own kernels,
// which access the memory of other GPUs; also on variables, which lie in reserved memory; and the bandwidth of the
// links.
//
//     several [--most BYTES]      size of the array for bandwidth; default 256 MiB
#include <algorithm>
#include <cmath>
#include <cstring>

#include "device/gpu/loader.h"
#include "strategy.h"
#include "subject.h"
#include "util/text.h"

namespace mdist::gpu_test {
namespace {

std::string all_gpus(int32_t count) {
    std::string devices;
    for (int32_t i = 0; i < count; ++i) devices += text(i == 0 ? "gpu:" : ",gpu:", i);
    return devices;
}

/// The most that one GPU can send, in GB/s, with the NVLink of its generation. 0: not known.
int link_bound(const Gpu &gpu) {
    mdist_gpu_info info = {};
    gpu.require(gpu.api().device_info(gpu.device(), &info), "asking what the GPU is");
    switch (info.compute_major) {
        case 8:
            return 300;
        case 9:
            return 450;
        case 10:
            return 900;
        default:
            return 0;
    }
}

void measure(const Gpu &gpu, const Strategy &strategy, const std::string &name, std::size_t bytes) {
    const double replicas = strategy.replicas();
    const double bus = all_reduce_rate(strategy, MDIST_FLOAT32, bytes) * 2 * (replicas - 1) / replicas;
    gpu.checks().ok(name + " bus bandwidth", text(std::llround(bus * 1e-9), " GB/s of ", bytes >> 20,
                                                  " MiB; NVLink of such a GPU has ", link_bound(gpu), " each way"));
}

/// Sums variables that hold 1, 2 ... on their replicas, in place.
void add_variables(const Strategy &strategy) {
    constexpr std::size_t kElements = std::size_t{3} << 20; // more than one page
    std::vector<float> zeros(kElements);
    const mdist_tensor_t initial = tensor_of(zeros.data(), MDIST_FLOAT32, kElements);
    mdist_error_t *error = nullptr;
    mdist_variable_t *variable = nullptr;
    well(mdist_variable_create(strategy.get(), "w", &initial, &variable, nullptr, &error), error);
    std::vector<mdist_tensor_t> copies(strategy.replicas());
    for (uint32_t r = 0; r < strategy.replicas(); ++r) {
        well(mdist_variable_tensor(variable, r, &copies[r], &error), error);
        std::vector<float> numbers(kElements, static_cast<float>(r + 1));
        const mdist_tensor_t from = tensor_of(numbers.data(), MDIST_FLOAT32, kElements);
        well(mdist_tensor_copy(&copies[r], &from, &error), error);
    }
    strategy.run([&](mdist_replica_t *replica, uint32_t r) {
        const mdist_buffer_t buffer = {copies[r].data, kElements, MDIST_FLOAT32, 0};
        all_reduce(replica, MDIST_SUM, buffer, buffer);
    });
    const auto sum = static_cast<float>(strategy.replicas() * (strategy.replicas() + 1) / 2);
    for (const mdist_tensor_t &copy : copies) {
        const mdist_tensor_t to = tensor_of(zeros.data(), MDIST_FLOAT32, kElements);
        well(mdist_tensor_copy(&to, &copy, &error), error);
        if (std::count(zeros.begin(), zeros.end(), sum) != static_cast<std::ptrdiff_t>(kElements))
            throw std::runtime_error(text("not all elements are ", sum));
    }
    mdist_variable_destroy(variable);
}

void check_variables(Checks &checks, const Strategy &strategy, const std::string &name) {
    std::string wrong;
    try {
        add_variables(strategy);
    } catch (const std::exception &failure) {
        wrong = failure.what();
    }
    checks.check(wrong.empty(), name + " variables", wrong);
}

void check_way(const Gpu &gpu, int32_t count, const char *implementation, const std::string &name, std::size_t bytes) {
    try {
        const Strategy strategy(all_gpus(count), implementation);
        check_types(gpu.checks(), strategy, name);
        check_exchanges(gpu.checks(), strategy, name);
        check_variables(gpu.checks(), strategy, name);
        measure(gpu, strategy, name, bytes);
    } catch (const std::exception &failure) {
        gpu.checks().failed(name, failure.what());
    }
}

int run(int argc, char **argv) {
    Checks checks;
    const Gpu gpu(checks);
    const int32_t count = gpu_support().count;
    if (count < 2) {
        checks.skipped("several GPUs", text("this machine has ", count));
        checks.finish();
        return kTooFewGpus;
    }
    const std::size_t bytes = option(argc, argv, "--most", gpu.is_fake() ? 65536 : std::size_t{256} << 20);
    for (int32_t used : {2, count}) {
        if (used == 2 && count == 2) continue;
        std::string reason;
        if (nccl_api(reason) != nullptr)
            check_way(gpu, used, "nccl", text("NCCL among ", used), bytes);
        else
            checks.skipped("NCCL among several GPUs", reason);
        check_way(gpu, used, "ring", text("kernels among ", used), bytes);
    }
    return checks.finish();
}

} // namespace
} // namespace mdist::gpu_test

SUBJECT(several) {
    return mdist::gpu_test::run(argc, argv);
}
