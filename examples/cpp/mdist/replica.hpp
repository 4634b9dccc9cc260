// SPDX-License-Identifier: Apache-2.0
// Replica: what a step is given. It dies when the step returns. Every replica makes the same calls in the same order.
#pragma once

#include <tuple>
#include <utility>

#include "config.hpp"
#include "tensor.hpp"
#include "work.hpp"

namespace mdist {

class Strategy;

class Replica {
  public:
    Replica(mdist_replica_t *handle, detail::Thrown &thrown) noexcept : handle_(handle), thrown_(thrown) {}
    Replica(const Replica &) = delete;
    Replica &operator=(const Replica &) = delete;

    mdist_replica_t *get() const noexcept { return handle_; }
    int32_t id() const noexcept { return mdist_replica_id(handle_); }
    uint32_t local_index() const noexcept { return static_cast<uint32_t>(mdist_replica_local_index(handle_)); }
    uint32_t count() const noexcept { return mdist_replica_count(handle_); }

    // This replica's tensor of an argument of the run.
    ConstTensor argument(size_t index) {
        mdist_tensor_t out;
        detail::call(mdist_replica_argument, handle_, index, &out);
        return ConstTensor(out);
    }
    void set_result(size_t index, ConstTensor tensor) {
        detail::call(mdist_replica_set_result, handle_, index, &tensor);
    }

    // ---- Collectives. With one list of buffers they work in place.

    void all_reduce(mdist_reduce_op_t op, Buffers buffers, Timeout timeout = {}) {
        detail::call(mdist_all_reduce, handle_, op, buffers.data(), buffers.data(), buffers.size(), timeout.options());
    }
    void all_reduce(mdist_reduce_op_t op, ConstBuffers inputs, Buffers outputs, Timeout timeout = {}) {
        exchange(mdist_all_reduce, inputs, outputs, timeout, op);
    }
    void reduce_scatter(mdist_reduce_op_t op, ConstBuffers inputs, Buffers outputs, Timeout timeout = {}) {
        exchange(mdist_reduce_scatter, inputs, outputs, timeout, op);
    }
    void all_gather(ConstBuffers inputs, Buffers outputs, Timeout timeout = {}) {
        exchange(mdist_all_gather, inputs, outputs, timeout);
    }
    void all_to_all(ConstBuffers inputs, Buffers outputs, Timeout timeout = {}) {
        exchange(mdist_all_to_all, inputs, outputs, timeout);
    }
    void broadcast(uint32_t root, Buffers buffers, Timeout timeout = {}) {
        detail::call(mdist_broadcast, handle_, root, buffers.data(), buffers.size(), timeout.options());
    }
    void barrier(Timeout timeout = {}) { detail::call(mdist_barrier, handle_, timeout.options()); }

    // ---- The same, started: the work takes the containers over, and gives them back in wait().

    template <typename Data>
    Work<Data> all_reduce_start(mdist_reduce_op_t op, Data data, Timeout timeout = {}) {
        return {std::move(data), [&](Data &owned, mdist_work_t **out) {
                    const Buffer buffer(owned);
                    detail::call(mdist_all_reduce_start, handle_, op, &buffer, &buffer, size_t{1}, out,
                                 timeout.options());
                }};
    }
    template <typename Data>
    Work<Data> broadcast_start(uint32_t root, Data data, Timeout timeout = {}) {
        return {std::move(data), [&](Data &owned, mdist_work_t **out) {
                    const Buffer buffer(owned);
                    detail::call(mdist_broadcast_start, handle_, root, &buffer, size_t{1}, out, timeout.options());
                }};
    }
    template <typename Input, typename Output>
    auto reduce_scatter_start(mdist_reduce_op_t op, Input input, Output output, Timeout timeout = {}) {
        return exchange_start(mdist_reduce_scatter_start, std::move(input), std::move(output), timeout, op);
    }
    template <typename Input, typename Output>
    auto all_gather_start(Input input, Output output, Timeout timeout = {}) {
        return exchange_start(mdist_all_gather_start, std::move(input), std::move(output), timeout);
    }
    template <typename Input, typename Output>
    auto all_to_all_start(Input input, Output output, Timeout timeout = {}) {
        return exchange_start(mdist_all_to_all_start, std::move(input), std::move(output), timeout);
    }
    Work<std::tuple<>> barrier_start(Timeout timeout = {}) {
        return {std::tuple<>(), [&](std::tuple<> &, mdist_work_t **out) {
                    detail::call(mdist_barrier_start, handle_, out, timeout.options());
                }};
    }

    // ---- Merges.

    // Pauses every local replica, calls replica 0's merge(Strategy &, const Values &) once with the replicas' tensors
    // regrouped, and gives each replica its own part of the Value that it returns, borrowed until the next merge.
    // A merge that returns nothing, or a tuple of N values, makes this give nothing, or a std::array of N tensors.
    template <typename Merge>
    auto merge(Merge &&merge, std::initializer_list<ConstTensor> arguments = {}, Timeout timeout = {});

  private:
    template <typename Function, typename... Op>
    void exchange(Function function, const ConstBuffers &inputs, const Buffers &outputs, Timeout timeout, Op... op) {
        if (inputs.size() != outputs.size()) throw std::invalid_argument("there must be as many outputs as inputs");
        detail::call(function, handle_, op..., inputs.data(), outputs.data(), inputs.size(), timeout.options());
    }

    template <typename Function, typename Input, typename Output, typename... Op>
    Work<std::pair<Input, Output>> exchange_start(Function function, Input input, Output output, Timeout timeout,
                                                  Op... op) {
        return {std::pair(std::move(input), std::move(output)),
                [&](std::pair<Input, Output> &owned, mdist_work_t **out) {
                    const ConstBuffer from(owned.first);
                    const Buffer to(owned.second);
                    detail::call(function, handle_, op..., &from, &to, size_t{1}, out, timeout.options());
                }};
    }

    mdist_replica_t *handle_;
    detail::Thrown &thrown_; // of the run
};

} // namespace mdist
