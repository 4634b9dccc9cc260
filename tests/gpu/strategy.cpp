// SPDX-License-Identifier: Apache-2.0
#include "strategy.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "util/text.h"

namespace mdist::gpu_test {
namespace {

struct Step {
    const Strategy::Body &body;
    std::vector<std::string> wrong; // by replica
};

int32_t run_step(mdist_replica_t *replica, void *user_data) {
    auto *const step = static_cast<Step *>(user_data);
    const uint32_t number = mdist_replica_local_index(replica);
    try {
        step->body(replica, number);
        return 0;
    } catch (const std::exception &failure) {
        step->wrong[number] = failure.what();
        return 1;
    }
}

} // namespace

void well(mdist_status_t status, mdist_error_t *error) {
    if (status == MDIST_OK) return;
    const std::string message = mdist_error_message(error);
    mdist_error_free(error);
    throw std::runtime_error(message.empty() ? mdist_status_name(status) : message);
}

mdist_tensor_t tensor_of(void *data, mdist_dtype_t dtype, std::size_t elements) {
    const uint64_t shape[] = {elements};
    mdist_tensor_t tensor = {};
    mdist_error_t *error = nullptr;
    well(mdist_tensor_describe(data, dtype, shape, 1, &tensor, &error), error);
    return tensor;
}

Array::Array(mdist_strategy_t *strategy, uint32_t replica, std::size_t bytes) {
    mdist_error_t *error = nullptr;
    well(mdist_alloc(strategy, replica, bytes, &data_, &error), error);
}

void Array::upload(const std::vector<unsigned char> &bytes) const {
    std::vector<unsigned char> copy = bytes; // a tensor's memory is not const
    const mdist_tensor_t from = tensor_of(copy.data(), MDIST_UINT8, copy.size());
    const mdist_tensor_t to = tensor_of(data_, MDIST_UINT8, copy.size());
    mdist_error_t *error = nullptr;
    well(mdist_tensor_copy(&to, &from, &error), error);
}

std::vector<unsigned char> Array::download(std::size_t bytes) const {
    std::vector<unsigned char> found(bytes);
    const mdist_tensor_t from = tensor_of(data_, MDIST_UINT8, bytes);
    const mdist_tensor_t to = tensor_of(found.data(), MDIST_UINT8, bytes);
    mdist_error_t *error = nullptr;
    well(mdist_tensor_copy(&to, &from, &error), error);
    return found;
}

Strategy::Strategy(const std::string &devices, const std::string &implementation) {
    mdist_error_t *error = nullptr;
    mdist_config_t *made = nullptr;
    well(mdist_config_create(&made, &error), error);
    const std::unique_ptr<mdist_config_t, void (*)(mdist_config_t *)> config(made, mdist_config_destroy);
    well(mdist_config_set(made, "devices", devices.c_str(), &error), error);
    well(mdist_config_set(made, "communication.implementation", implementation.c_str(), &error), error);
    // Shorter than what tests/gpu/run gives a program: so the library can say what hangs.
    well(mdist_config_set(made, "communication.timeout", "60s", &error), error);
    well(mdist_strategy_create(made, &strategy_, &error), error);
}

void Strategy::run(const Body &body) const {
    Step step = {body, std::vector<std::string>(replicas())};
    mdist_error_t *error = nullptr;
    const mdist_status_t status = mdist_run(strategy_, run_step, &step, NULL, &error);
    for (const std::string &wrong : step.wrong) {
        if (wrong.empty()) continue;
        mdist_error_free(error);
        throw std::runtime_error(wrong);
    }
    well(status, error);
}

void all_reduce(mdist_replica_t *replica, mdist_reduce_op_t op, const mdist_buffer_t &in, const mdist_buffer_t &out) {
    mdist_error_t *error = nullptr;
    well(mdist_all_reduce(replica, op, &in, &out, 1, nullptr, &error), error);
}

double all_reduce_rate(const Strategy &strategy, mdist_dtype_t dtype, std::size_t bytes) {
    constexpr int kTimes = 20;
    const uint64_t elements = bytes / mdist_dtype_size(dtype);
    std::vector<Array> in, out;
    for (uint32_t r = 0; r < strategy.replicas(); ++r) {
        in.push_back(strategy.allocate(r, bytes));
        out.push_back(strategy.allocate(r, bytes));
    }
    double best = 0;
    for (int turn = 0; turn < 6; ++turn) {
        const auto begin = std::chrono::steady_clock::now();
        strategy.run([&](mdist_replica_t *replica, uint32_t r) {
            for (int i = 0; i < kTimes; ++i)
                all_reduce(replica, MDIST_SUM, {in[r].data(), elements, dtype, 0}, {out[r].data(), elements, dtype, 0});
        });
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        best = std::max(best, kTimes * static_cast<double>(bytes) / took.count());
    }
    return best;
}

} // namespace mdist::gpu_test
