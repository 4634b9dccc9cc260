// SPDX-License-Identifier: Apache-2.0
// Fuzz target: calls of the public API. The input is a program of calls. It uses handles that are valid, destroyed, of
// another kind, invented, or NULL. Whatever the order, every call returns a documented status, and an error if and only
// if it failed. Nothing crashes, hangs or leaks.
#include <mdist/mdist.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "run_io.h"
#include "started.h"
#include "target.h"

namespace {

constexpr std::size_t kMostCalls = 200;

struct Input {
    const std::uint8_t *data;
    std::size_t size;

    unsigned byte() {
        if (size == 0) return 0;
        --size;
        return *data++;
    }
    unsigned below(unsigned end) { return byte() % end; }
};

void require(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "calls_fuzz: broken promise: %s\n", what);
    std::abort();
}

void check(mdist_status_t status, mdist_error_t *error) {
    require(status >= MDIST_ERR_INTERNAL && status <= MDIST_END, "the status is one of the list");
    require(status != MDIST_ERR_INTERNAL, "no status is INTERNAL");
    require((status < 0) == (error != nullptr), "an error comes with a failure and with nothing else");
    if (error != nullptr) require(std::strlen(mdist_error_message(error)) > 0, "an error has a sentence");
    mdist_error_free(error);
}

/// All handles that were ever returned, valid or not.
class Pool {
  public:
    void add(void *handle) {
        if (handle != nullptr) handles_.push_back(handle);
    }
    template <class Public>
    Public *pick(Input &input) {
        const unsigned how = input.byte();
        if (how < 8) return nullptr;
        void *handle = handles_.empty() ? nullptr : handles_[how % handles_.size()];
        if (how > 247)
            handle = reinterpret_cast<void *>(reinterpret_cast<std::uintptr_t>(handle) ^ (how << (how % 56)));
        return static_cast<Public *>(handle);
    }
    void destroy_all() {
        for (void *handle : handles_) destroy(handle);
        // Exits the inner replicas first: a replica cannot leave a merge while a run is open in it.
        for (std::size_t i = handles_.size(); i > 0; --i)
            mdist_replica_exit(static_cast<mdist_replica_t *>(handles_[i - 1]), 0, nullptr);
    }
    /// Calls every destructor. At most one fits the handle.
    static void destroy(void *handle) {
        mdist_iterator_destroy(static_cast<mdist_iterator_t *>(handle));
        mdist_value_destroy(static_cast<mdist_value_t *>(handle));
        mdist_strategy_destroy(static_cast<mdist_strategy_t *>(handle));
        mdist_dataset_destroy(static_cast<mdist_dataset_t *>(handle));
        mdist_variable_destroy(static_cast<mdist_variable_t *>(handle));
        mdist_config_destroy(static_cast<mdist_config_t *>(handle));
        mdist_work_destroy(static_cast<mdist_work_t *>(handle));
        mdist_free(handle);
    }

  private:
    std::vector<void *> handles_;
};

std::uint64_t memory[64];

mdist_tensor_t any_tensor(Input &input) {
    mdist_tensor_t tensor = {};
    tensor.data = input.below(8) == 0 ? nullptr : memory;
    tensor.dtype = static_cast<int32_t>(input.below(12));
    tensor.rank = static_cast<int32_t>(input.below(4)) - (input.below(32) == 0 ? 2 : 0);
    for (int d = 0; d < 3; ++d) tensor.shape[d] = input.below(40) == 0 ? UINT64_MAX / 3 : input.below(4);
    tensor.device_kind = input.below(32) == 0;
    return tensor;
}

/// Makes a tensor fit into `memory`, for functions that read tensors later. They may not be given invalid memory.
mdist_tensor_t within_memory(mdist_tensor_t tensor) {
    const uint64_t most = sizeof memory / sizeof memory[0];
    if (mdist_tensor_elements(&tensor) > most) tensor.rank = 0;
    return tensor;
}

mdist_buffer_t any_buffer(Input &input, void *data) {
    return {data, input.below(5), static_cast<int32_t>(1 + input.below(10)), input.below(64) == 0};
}

/// A step that makes the same calls on every replica, so that most collectives match.
struct Step {
    const std::uint8_t *data;
    std::size_t size;
    mdist_variable_t *variable;
};

int32_t step(mdist_replica_t *replica, void *user_data) {
    const Step &self = *static_cast<Step *>(user_data);
    Input input = {self.data, self.size};
    std::uint64_t in[4][8] = {};
    std::uint64_t out[4][8] = {};
    for (unsigned calls = input.below(6); calls > 0; --calls) {
        const mdist_buffer_t from = any_buffer(input, in[calls % 4]);
        const mdist_buffer_t to = {out[calls % 4], from.elements * (input.below(4) == 0 ? 2 : 1), from.dtype, 0};
        const auto op = static_cast<mdist_reduce_op_t>(input.below(7));
        mdist_error_t *error = nullptr;
        mdist_status_t status = MDIST_OK;
        switch (input.below(8)) {
            case 0:
                status = mdist_all_reduce(replica, op, &from, &to, 1, nullptr, &error);
                break;
            case 1:
                status = mdist_all_gather(replica, &from, &to, 1, nullptr, &error);
                break;
            case 2:
                status = mdist_reduce_scatter(replica, op, &to, &from, 1, nullptr, &error);
                break;
            case 3:
                status = mdist_all_to_all(replica, &from, &to, 1, nullptr, &error);
                break;
            case 4:
                status = mdist_broadcast(replica, input.below(4), &from, 1, nullptr, &error);
                break;
            case 5:
                status = mdist_barrier(replica, nullptr, &error);
                break;
            case 6: {
                const mdist_tensor_t tensor = any_tensor(input);
                status = mdist_replica_assign(replica, self.variable, static_cast<mdist_assign_t>(input.below(4)),
                                              &tensor, nullptr, &error);
                break;
            }
            default: {
                mdist_tensor_t tensor = any_tensor(input);
                status = mdist_replica_set_result(replica, input.below(2), nullptr, &tensor, &error);
            }
        }
        if ((status < 0) != (error != nullptr)) return 98; // this may be another thread, so nothing asserts here
        mdist_error_free(error);
        if (status < 0) return 1;
    }
    return input.below(8) == 0 && mdist_replica_id(replica) == input.below(3) ? 7 : 0;
}

void make(Input &input, Pool &pool) {
    mdist_error_t *error = nullptr;
    void *made = nullptr;
    mdist_status_t status = MDIST_OK;
    const mdist_tensor_t tensor = any_tensor(input), borrowed = within_memory(tensor);
    auto *dataset = reinterpret_cast<mdist_dataset_t **>(&made);
    auto *value = reinterpret_cast<mdist_value_t **>(&made);
    switch (input.below(13)) {
        case 0:
            status = mdist_value_create(&tensor, value, &error);
            break;
        case 1:
            status = mdist_value_wrap(&borrowed, nullptr, nullptr, value, &error);
            break;
        case 2:
            status =
                mdist_value_per_replica(pool.pick<mdist_strategy_t>(input), &tensor, input.below(2), value, &error);
            break;
        case 3:
            status = mdist_variable_create(pool.pick<mdist_strategy_t>(input), input.below(2) ? "v" : "w", &tensor,
                                           reinterpret_cast<mdist_variable_t **>(&made), nullptr, &error);
            break;
        case 4:
            status = mdist_dataset_from_tensors(&borrowed, input.below(2), nullptr, nullptr, dataset, nullptr, &error);
            break;
        case 5:
            status = mdist_dataset_shard(pool.pick<mdist_dataset_t>(input), input.below(4), input.below(4), dataset,
                                         nullptr, &error);
            break;
        case 6:
            status =
                mdist_dataset_shuffle(pool.pick<mdist_dataset_t>(input), input.below(9), 1, dataset, nullptr, &error);
            break;
        case 7:
            status = mdist_dataset_repeat(pool.pick<mdist_dataset_t>(input), input.below(3), dataset, nullptr, &error);
            break;
        case 8:
            status = mdist_dataset_batch(pool.pick<mdist_dataset_t>(input), input.below(4), dataset, nullptr, &error);
            break;
        case 9:
            status =
                mdist_dataset_prefetch(pool.pick<mdist_dataset_t>(input), input.below(3), dataset, nullptr, &error);
            break;
        case 10:
            status = mdist_distribute_dataset(pool.pick<mdist_strategy_t>(input), pool.pick<mdist_dataset_t>(input),
                                              dataset, nullptr, &error);
            break;
        case 11:
            status = mdist_iterator_create(pool.pick<mdist_dataset_t>(input),
                                           reinterpret_cast<mdist_iterator_t **>(&made), &error);
            break;
        default:
            status = mdist_strategy_broadcast(pool.pick<mdist_strategy_t>(input), &tensor, value, &error);
    }
    require((status < 0) == (made == nullptr), "what was made comes out, and on failure nothing does");
    check(status, error);
    pool.add(made);
}

void use(Input &input, Pool &pool) {
    mdist_error_t *error = nullptr;
    mdist_value_t *values[2] = {};
    mdist_status_t status = MDIST_OK;
    const int32_t axis = static_cast<int32_t>(input.below(5)) - 2;
    const auto op = static_cast<mdist_reduce_op_t>(input.below(7));
    auto *strategy = pool.pick<mdist_strategy_t>(input);
    auto *value = pool.pick<mdist_value_t>(input);
    auto *variable = pool.pick<mdist_variable_t>(input);
    const char *const place = "cpu:0";
    switch (input.below(8)) {
        case 0:
            status = mdist_strategy_reduce_axes(strategy, op, value, &axis, input.below(2), values, NULL, &error);
            break;
        case 1:
            status = mdist_strategy_reduce_to(strategy, op, &value, input.below(2) ? &place : nullptr, 1, values, NULL,
                                              &error);
            break;
        case 2:
            status = mdist_strategy_gather(strategy, value, axis, values, NULL, &error);
            break;
        case 3:
            status = mdist_variable_assign(variable, static_cast<mdist_assign_t>(input.below(5)), value, &error);
            break;
        case 4:
            status = mdist_variable_read(variable, values, NULL, &error);
            break;
        case 5:
            status = mdist_iterator_next(pool.pick<mdist_iterator_t>(input), values, input.below(3), &error);
            break;
        case 6:
            Pool::destroy(value);
            break;
        default: {
            Step what = {input.data, input.size, variable};
            mdist_value_t *argument = value;
            status = mdist_run(strategy, step, &what, io_of(&argument, input.below(2), values, input.below(2)).get(),
                               &error);
            require(error == nullptr || mdist_error_native(error) != 98, "in a step too, errors come with failures");
        }
    }
    check(status, error);
    for (mdist_value_t *made : values) pool.add(made);
}

/// Calls of runs in brackets, with all replicas on this thread. A call that would wait for another replica times out at
/// once.
void bracket(Input &input, Pool &pool) {
    constexpr mdist_call_options_t kSoon = {sizeof kSoon, 0, 1000, 0, 0, 0, nullptr};
    mdist_error_t *error = nullptr;
    mdist_value_t *values[2] = {};
    mdist_tensor_t results[2];
    void *made = nullptr;
    int32_t done = -1;
    mdist_status_t status = MDIST_OK;
    auto *strategy = pool.pick<mdist_strategy_t>(input);
    auto *replica = pool.pick<mdist_replica_t>(input);
    auto *work = pool.pick<mdist_work_t>(input);
    auto *value = pool.pick<mdist_value_t>(input);
    const mdist_tensor_t tensor = any_tensor(input);
    const mdist_buffer_t buffer = any_buffer(input, memory);
    auto **out = reinterpret_cast<mdist_work_t **>(&made);
    switch (input.below(12)) {
        case 0:
            status = mdist_run_begin(
                strategy, io_of(&value, input.below(2), nullptr, input.below(3), kSoon.timeout_ns).get(), &error);
            break;
        case 1:
            status = mdist_run_end(strategy, values, input.below(3), &error);
            break;
        case 2:
        case 3:
            status = mdist_replica_enter(strategy, input.below(4), reinterpret_cast<mdist_replica_t **>(&made), &error);
            break;
        case 4:
            status = mdist_replica_exit(replica, static_cast<int32_t>(input.below(2)), &error);
            break;
        case 5:
            status = mdist_merge_begin(replica, &tensor, input.below(2), values, &kSoon, &error);
            break;
        case 6:
            status = mdist_merge_end(replica, input.below(4) == 0, &value, results, input.below(2), &error);
            break;
        case 7:
            status = start_barrier(replica, out, &kSoon, &error);
            break;
        case 8:
            status = start_all_reduce(replica, MDIST_MAX, &buffer, &buffer, 1, out, nullptr, &error);
            break;
        case 9:
            status = mdist_work_test(work, &done, &error);
            break;
        case 10:
            status = mdist_work_wait(work, input.below(2) * 1000, &done, &error);
            break;
        default:
            status = mdist_alloc(strategy, input.below(4), input.byte() * 64, &made, &error);
    }
    require(status == MDIST_OK || (made == nullptr && done == -1), "a failure writes nothing");
    check(status, error);
    pool.add(made);
    for (mdist_value_t *given : values) pool.add(given);
}

} // namespace

FUZZ_TARGET(calls) {
    Input input = {data, size};
    Pool pool;
    mdist_config_t *config = nullptr;
    mdist_strategy_t *strategy = nullptr;
    mdist_error_t *error = nullptr;
    static constexpr const char *kDevices[] = {"cpu", "cpu*2", "cpu*3"};
    mdist_log_set_level(MDIST_LOG_OFF, nullptr);
    require(mdist_config_create(&config, nullptr) == MDIST_OK, "a config can be made");
    mdist_config_set(config, "devices", kDevices[input.below(3)], nullptr);
    if (input.below(4) == 0) mdist_config_set(config, "executor", "caller", nullptr);
    require(mdist_strategy_create(config, &strategy, &error) == MDIST_OK, "a strategy can be made");
    pool.add(config);
    for (int often = 0; often < 4; ++often) pool.add(strategy); // so that many calls pick the strategy
    for (std::size_t calls = 0; calls < kMostCalls && input.size != 0; ++calls) {
        switch (input.below(3)) {
            case 0:
                make(input, pool);
                break;
            case 1:
                use(input, pool);
                break;
            default:
                bracket(input, pool);
        }
    }
    pool.destroy_all();
    return 0;
}
