// SPDX-License-Identifier: Apache-2.0
// Measures a step of one replica beside the same work put on a stream without the library: an empty step, a short
// kernel, and ten of them; then ten as a graph beside the same graph launched by hand. Figures are medians of many
// runs. Both wait for their work in the same way.
#include <mdist/mdist.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <sched.h>

#include "checks.h"
#include "subject.h"
#include "util/text.h"

namespace mdist::gpu_test {
namespace {

constexpr int kRuns = 2001;
constexpr double kMostBesideUs = 5;
constexpr double kMostBesideGraphUs = 2;

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

int32_t graph_step(mdist_replica_t *replica, void *user_data) {
    return mdist_replica_graph(replica, 1, step, user_data, nullptr) == MDIST_OK ? 0 : 1;
}

/// Returns an error's message, and frees it; "" if there is none.
std::string message_of(mdist_error_t *error) {
    const std::string message = error == nullptr ? "" : mdist_error_message(error);
    mdist_error_free(error);
    return message;
}

mdist_strategy_t *strategy_on_a_gpu(std::string &wrong) {
    mdist_config_t *config = nullptr;
    mdist_strategy_t *strategy = nullptr;
    mdist_error_t *error = nullptr;
    if (mdist_config_create(&config, &error) == MDIST_OK &&
        mdist_config_set(config, "devices", "gpu:0", &error) == MDIST_OK &&
        mdist_config_set(config, "communication.timeout", "60s", &error) == MDIST_OK)
        mdist_strategy_create(config, &strategy, &error);
    mdist_config_destroy(config);
    wrong = message_of(error);
    return strategy;
}

std::string one_digit(double number) {
    return exact_text(std::round(10 * number) / 10);
}

/// Compares a step with work that `put` gives to the GPU's stream.
void compare(const Gpu &gpu, mdist_strategy_t *strategy, const std::string &name, mdist_step_fn in_library, Work work,
             const std::function<int()> &put, double most_us) {
    bool well = true;
    std::string wrong; // what the library said first
    const double by_hand = middle_us([&] {
        well &= put() == 0;
        while (gpu.api().kind(gpu.api().stream_query(gpu.device(), gpu.stream())) == MDIST_GPU_NOT_READY) sched_yield();
    });
    const double in_step = middle_us([&] {
        mdist_error_t *error = nullptr;
        well &= mdist_run(strategy, in_library, &work, NULL, &error) == MDIST_OK;
        if (error != nullptr && wrong.empty()) wrong = mdist_error_message(error);
        mdist_error_free(error);
    });
    // The threads of a simulated GPU need cores, so their times mean nothing.
    gpu.checks().check(well && (gpu.is_fake() || in_step - by_hand <= most_us), name,
                       text(one_digit(in_step), " us, by hand ", one_digit(by_hand), " us, ratio ",
                            exact_text(std::round(100 * in_step / by_hand) / 100), ", at most ", one_digit(most_us),
                            " us more", wrong.empty() ? "" : "; ", wrong));
}

void measure(const Gpu &gpu, mdist_strategy_t *strategy, Work work) {
    compare(
        gpu, strategy, text("step of ", work.kernels, work.kernels == 1 ? " kernel" : " kernels"), step, work,
        [&] { return work.put(gpu.stream()); }, kMostBesideUs);
}

void measure_graph(const Gpu &gpu, mdist_strategy_t *strategy, Work work) {
    const mdist_gpu_api &api = gpu.api();
    void *graph = nullptr;
    gpu.require(api.capture_begin(gpu.device(), gpu.stream()), "recording");
    gpu.require(work.put(gpu.stream()), "recording");
    gpu.require(api.capture_end(gpu.device(), gpu.stream(), &graph), "recording");
    compare(
        gpu, strategy, text("graph of ", work.kernels, " kernels in a step"), graph_step, work,
        [&] { return api.graph_launch(gpu.device(), graph, gpu.stream()); }, kMostBesideGraphUs);
    gpu.require(api.graph_destroy(graph), "destroying a graph");
}

int run() {
    Checks checks;
    const Gpu gpu(checks);
    std::string wrong;
    mdist_strategy_t *const strategy = strategy_on_a_gpu(wrong);
    checks.check(strategy != nullptr, "strategy on gpu:0", wrong);
    void *memory = nullptr;
    gpu.require(gpu.api().allocate(gpu.device(), 256, &memory), "allocating");
    gpu.warm_up();
    for (const int kernels : {0, 1, 10})
        if (strategy != nullptr) measure(gpu, strategy, {gpu, memory, kernels});
    if (strategy != nullptr) measure_graph(gpu, strategy, {gpu, memory, 10});
    gpu.require(gpu.api().release(gpu.device(), memory), "releasing");
    mdist_strategy_destroy(strategy);
    return checks.finish();
}

} // namespace
} // namespace mdist::gpu_test

SUBJECT(step) {
    return mdist::gpu_test::run();
}
