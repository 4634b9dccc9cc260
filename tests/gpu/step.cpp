// SPDX-License-Identifier: Apache-2.0
// Measures a step of one replica beside the same work put on a stream without the library: an empty step, a short
// kernel, and ten of them. Figures are medians of many runs. Both wait for their work in the same way.
#include <mdist/mdist.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <sched.h>

#include "checks.h"
#include "util/text.h"

namespace mdist::gpu_test {
namespace {

constexpr int kRuns = 2001;
constexpr double kMostBesideUs = 10;

double middle_us(const std::function<void()> &run) {
    std::vector<double> times(kRuns);
    for (double &time : times) {
        const auto begin = std::chrono::steady_clock::now();
        run();
        time = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    }
    std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
    return times[kRuns / 2];
}

struct Work {
    const Gpu &gpu;
    void *memory;
    int kernels;

    int put(mdist_gpu_stream *stream) const {
        for (int i = 0; i < kernels; ++i)
            if (const int error = gpu.api().fill(gpu.device(), memory, 1, 4, stream)) return error;
        return 0;
    }
};

int32_t step(mdist_replica_t *replica, void *user_data) {
    const auto *work = static_cast<const Work *>(user_data);
    void *stream = nullptr;
    if (mdist_replica_stream(replica, &stream, nullptr) != MDIST_OK) return 1;
    return work->put(static_cast<mdist_gpu_stream *>(stream));
}

mdist_strategy_t *strategy_on_a_gpu() {
    mdist_config_t *config = nullptr;
    mdist_strategy_t *strategy = nullptr;
    if (mdist_config_create(&config, nullptr) == MDIST_OK &&
        mdist_config_set(config, "devices", "gpu:0", nullptr) == MDIST_OK)
        mdist_strategy_create(config, &strategy, nullptr);
    mdist_config_destroy(config);
    return strategy;
}

std::string one_digit(double number) {
    return exact_text(std::round(10 * number) / 10);
}

void measure(const Gpu &gpu, mdist_strategy_t *strategy, Work work) {
    bool well = true;
    const double by_hand = middle_us([&] {
        well &= work.put(gpu.stream()) == 0;
        while (gpu.api().kind(gpu.api().stream_query(gpu.device(), gpu.stream())) == MDIST_GPU_NOT_READY) sched_yield();
    });
    const double in_step = middle_us(
        [&] { well &= mdist_run(strategy, step, &work, nullptr, 0, nullptr, 0, nullptr, nullptr) == MDIST_OK; });
    const std::string name = text("step of ", work.kernels, work.kernels == 1 ? " kernel" : " kernels");
    const std::string detail = text(one_digit(in_step), " us, by hand ", one_digit(by_hand), " us, ratio ",
                                    exact_text(std::round(100 * in_step / by_hand) / 100));
    // The threads of a simulated GPU need cores, so their times mean nothing.
    gpu.checks().check(well && (gpu.is_fake() || in_step - by_hand <= kMostBesideUs), name, detail);
}

int run() {
    Checks checks;
    const Gpu gpu(checks);
    mdist_strategy_t *const strategy = strategy_on_a_gpu();
    checks.check(strategy != nullptr, "strategy on gpu:0", "");
    void *memory = nullptr;
    gpu.require(gpu.api().allocate(gpu.device(), 256, &memory), "allocating");
    gpu.warm_up();
    for (const int kernels : {0, 1, 10})
        if (strategy != nullptr) measure(gpu, strategy, {gpu, memory, kernels});
    gpu.require(gpu.api().release(gpu.device(), memory), "releasing");
    mdist_strategy_destroy(strategy);
    return checks.finish();
}

} // namespace
} // namespace mdist::gpu_test

int main() {
    return mdist::gpu_test::run();
}
