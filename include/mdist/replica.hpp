// SPDX-License-Identifier: Apache-2.0
// Replica: the parameter of a step, valid until the step returns. Every replica makes the same calls in the same order.
#pragma once

#include <tuple>
#include <utility>

#include <mdist/options.hpp>
#include <mdist/tensor.hpp>
#include <mdist/value.hpp>
#include <mdist/work.hpp>

namespace mdist {

class Strategy;

// A replica's part of a loss, and the number of examples on all replicas. The gradient of an example is its weight
// divided by that number.
struct Loss {
    double part;
    uint64_t examples;
};

class Replica {
  public:
    Replica(mdist_replica_t *handle, detail::Thrown &thrown) noexcept : handle_(handle), thrown_(thrown) {}
    Replica(const Replica &) = delete;
    Replica &operator=(const Replica &) = delete;

    mdist_replica_t *get() const noexcept { return handle_; }
    uint32_t id() const noexcept { return mdist_replica_id(handle_); }
    uint32_t local_index() const noexcept { return mdist_replica_local_index(handle_); }
    uint32_t count() const noexcept { return mdist_replica_count(handle_); }

    // This replica's tensor of an argument of the run, or of one leaf of the argument.
    ConstTensor argument(size_t index, const char *path = "") {
        mdist_tensor_t out;
        detail::call(mdist_replica_argument, handle_, index, path, &out);
        return ConstTensor(out);
    }
    void set_result(size_t index, ConstTensor tensor) {
        detail::call(mdist_replica_set_result, handle_, index, nullptr, &tensor);
    }
    // Sets a result that is a structure.
    void set_result(size_t index, const Leaves &leaves) {
        for (const auto &[path, leaf] : leaves) {
            const ConstTensor tensor = leaf.tensor();
            detail::call(mdist_replica_set_result, handle_, index, path.c_str(), &tensor);
        }
    }

    // ---- Collectives. With one list of buffers they work in place.

    void all_reduce(mdist_reduce_op_t op, Buffers buffers, CallOptions options = {}) {
        detail::call(mdist_all_reduce, handle_, op, buffers.data(), buffers.data(), buffers.size(), options.get());
    }
    void all_reduce(mdist_reduce_op_t op, ConstBuffers inputs, Buffers outputs, CallOptions options = {}) {
        exchange(mdist_all_reduce, inputs, outputs, options, op);
    }
    void reduce_scatter(mdist_reduce_op_t op, ConstBuffers inputs, Buffers outputs, CallOptions options = {}) {
        exchange(mdist_reduce_scatter, inputs, outputs, options, op);
    }
    void all_gather(ConstBuffers inputs, Buffers outputs, CallOptions options = {}) {
        exchange(mdist_all_gather, inputs, outputs, options);
    }
    void all_to_all(ConstBuffers inputs, Buffers outputs, CallOptions options = {}) {
        exchange(mdist_all_to_all, inputs, outputs, options);
    }
    // Part j of an input goes to replica j, part j of an output comes from it; parts lie end to end. There is a length
    // for each replica that takes part, buffer by buffer.
    void all_to_all_parts(ConstBuffers inputs, Span<const uint64_t> input_parts, Buffers outputs,
                          Span<const uint64_t> output_parts, CallOptions options = {}) {
        check_parts(inputs.size(), outputs.size(), input_parts, output_parts, options);
        detail::call(mdist_all_to_all_parts, handle_, inputs.data(), input_parts.data(), outputs.data(),
                     output_parts.data(), inputs.size(), options.get());
    }
    void broadcast(uint32_t root, Buffers buffers, CallOptions options = {}) {
        detail::call(mdist_broadcast, handle_, root, buffers.data(), buffers.size(), options.get());
    }
    // Gathers the rows (Value::sparse) of all replicas, one after another. MEAN divides them by the number of replicas.
    Value all_reduce_sparse(mdist_reduce_op_t op, ConstTensor indices, ConstTensor values, CallOptions options = {}) {
        mdist_value_t *out = nullptr;
        detail::call(mdist_all_reduce_sparse, handle_, op, &indices, &values, &out, options.get());
        return Value(out);
    }
    // Collectives with a root. The library ignores the outputs of the other replicas, and for scatter their inputs.
    // Pass an empty container there.
    void reduce_to_root(mdist_reduce_op_t op, uint32_t root, Buffers buffers, CallOptions options = {}) {
        detail::call(mdist_reduce_to_root, handle_, op, root, buffers.data(), buffers.data(), buffers.size(),
                     options.get());
    }
    void reduce_to_root(mdist_reduce_op_t op, uint32_t root, ConstBuffers inputs, Buffers outputs,
                        CallOptions options = {}) {
        exchange(mdist_reduce_to_root, inputs, outputs, options, op, root);
    }
    void gather_to_root(uint32_t root, ConstBuffers inputs, Buffers outputs, CallOptions options = {}) {
        exchange(mdist_gather_to_root, inputs, outputs, options, root);
    }
    void scatter(uint32_t root, ConstBuffers inputs, Buffers outputs, CallOptions options = {}) {
        exchange(mdist_scatter, inputs, outputs, options, root);
    }
    void barrier(CallOptions options = {}) { detail::call(mdist_barrier, handle_, options.get()); }

    // ---- The same, started. The work takes ownership of the containers, and returns them from wait().

    template <typename Data>
    Work<Data> all_reduce_start(mdist_reduce_op_t op, Data data, CallOptions options = {}) {
        return in_place_start(MDIST_COLLECTIVE_ALL_REDUCE, std::move(data), options, op);
    }
    template <typename Data>
    Work<Data> broadcast_start(uint32_t root, Data data, CallOptions options = {}) {
        return in_place_start(MDIST_COLLECTIVE_BROADCAST, std::move(data), options, 0, root);
    }
    template <typename Input, typename Output>
    auto reduce_scatter_start(mdist_reduce_op_t op, Input input, Output output, CallOptions options = {}) {
        return exchange_start(MDIST_COLLECTIVE_REDUCE_SCATTER, std::move(input), std::move(output), options, op);
    }
    template <typename Input, typename Output>
    auto all_gather_start(Input input, Output output, CallOptions options = {}) {
        return exchange_start(MDIST_COLLECTIVE_ALL_GATHER, std::move(input), std::move(output), options);
    }
    template <typename Input, typename Output>
    auto all_to_all_start(Input input, Output output, CallOptions options = {}) {
        return exchange_start(MDIST_COLLECTIVE_ALL_TO_ALL, std::move(input), std::move(output), options);
    }
    template <typename Input, typename Output>
    Work<std::pair<Input, Output>> all_to_all_parts_start(Input input, Span<const uint64_t> input_parts, Output output,
                                                          Span<const uint64_t> output_parts, CallOptions options = {}) {
        check_parts(1, 1, input_parts, output_parts, options);
        return exchange_start(MDIST_COLLECTIVE_ALL_TO_ALL_PARTS, std::move(input), std::move(output), options, 0, 0,
                              input_parts.data(), output_parts.data());
    }
    template <typename Data>
    Work<Data> reduce_to_root_start(mdist_reduce_op_t op, uint32_t root, Data data, CallOptions options = {}) {
        return in_place_start(MDIST_COLLECTIVE_REDUCE_TO_ROOT, std::move(data), options, op, root);
    }
    template <typename Input, typename Output>
    auto gather_to_root_start(uint32_t root, Input input, Output output, CallOptions options = {}) {
        return exchange_start(MDIST_COLLECTIVE_GATHER_TO_ROOT, std::move(input), std::move(output), options, 0, root);
    }
    template <typename Input, typename Output>
    auto scatter_start(uint32_t root, Input input, Output output, CallOptions options = {}) {
        return exchange_start(MDIST_COLLECTIVE_SCATTER, std::move(input), std::move(output), options, 0, root);
    }
    Work<std::tuple<>> barrier_start(CallOptions options = {}) {
        return {std::tuple<>(), [&](std::tuple<> &, mdist_work_t **out) {
                    start(described(MDIST_COLLECTIVE_BARRIER, nullptr, nullptr, 0, 0), out, options);
                }};
    }

    // ---- Messages. A receive takes the message of its sender and tag. Both sides pass the same type and number of
    // elements. A message of more than 4096 bytes waits for its receiver.

    void send(uint32_t to, uint64_t tag, ConstBuffer buffer, CallOptions options = {}) {
        detail::call(mdist_send, handle_, to, tag, &buffer, options.get());
    }
    void receive(uint32_t from, uint64_t tag, Buffer buffer, CallOptions options = {}) {
        detail::call(mdist_receive, handle_, from, tag, &buffer, options.get());
    }
    template <typename Data>
    Work<Data> send_start(uint32_t to, uint64_t tag, Data data, CallOptions options = {}) {
        return {std::move(data), [&](Data &owned, mdist_work_t **out) {
                    const ConstBuffer buffer(owned);
                    detail::call(mdist_send_start, handle_, to, tag, &buffer, out, options.get());
                }};
    }
    template <typename Data>
    Work<Data> receive_start(uint32_t from, uint64_t tag, Data data, CallOptions options = {}) {
        return {std::move(data), [&](Data &owned, mdist_work_t **out) {
                    const Buffer buffer(owned);
                    detail::call(mdist_receive_start, handle_, from, tag, &buffer, out, options.get());
                }};
    }

    // ---- Losses. A sum over replicas gives the mean over all examples, or a term that counts once.

    // Counts the examples of all replicas, unless global_batch gives their number.
    Loss average_loss(ConstTensor per_example, uint64_t global_batch = 0, CallOptions options = {}) {
        return average_loss(per_example, nullptr, global_batch, options);
    }
    Loss average_loss(ConstTensor per_example, ConstTensor weights, uint64_t global_batch = 0,
                      CallOptions options = {}) {
        return average_loss(per_example, &weights, global_batch, options);
    }
    double scale_regularization(ConstTensor terms) {
        double loss = 0;
        detail::call(mdist_scale_regularization, handle_, &terms, &loss);
        return loss;
    }

    // ---- Merges.

    // Pauses every local replica, and regroups their tensors. Calls replica 0's merge(Strategy &, const Values &) once.
    // Returns to each replica its own part of the merge's result, borrowed until the next merge. If the merge returns
    // nothing, this returns nothing; for a tuple of N values it returns a std::array of N tensors.
    template <typename Merge>
    auto merge(Merge &&merge, std::initializer_list<ConstTensor> arguments = {}, CallOptions options = {});

  private:
    Loss average_loss(const ConstTensor &per_example, const ConstTensor *weights, uint64_t global_batch,
                      const CallOptions &options) {
        Loss loss{0, global_batch};
        detail::call(mdist_average_loss, handle_, &per_example, static_cast<const mdist_tensor_t *>(weights),
                     &loss.examples, &loss.part, options.get());
        return loss;
    }

    void check_parts(size_t inputs, size_t outputs, Span<const uint64_t> input_parts, Span<const uint64_t> output_parts,
                     const CallOptions &options) const {
        if (inputs != outputs) throw std::invalid_argument("there must be as many outputs as inputs");
        const size_t lengths = inputs * options.members(count());
        if (input_parts.size() != lengths || output_parts.size() != lengths)
            throw std::invalid_argument("there must be " + std::to_string(lengths) +
                                        " lengths of parts, one for each buffer and replica that takes part");
    }

    template <typename Function, typename... Op>
    void exchange(Function function, const ConstBuffers &inputs, const Buffers &outputs, CallOptions options,
                  Op... op) {
        if (inputs.size() != outputs.size()) throw std::invalid_argument("there must be as many outputs as inputs");
        detail::call(function, handle_, op..., inputs.data(), outputs.data(), inputs.size(), options.get());
    }

    static mdist_collective_description_t described(mdist_collective_kind_t kind, const mdist_buffer_t *input,
                                                    const mdist_buffer_t *output, int op, uint32_t root) {
        mdist_collective_description_t made{};
        made.struct_size = sizeof made;
        made.kind = kind;
        made.op = op;
        made.root = root;
        made.inputs = input;
        made.outputs = output;
        made.buffer_count = input != nullptr ? 1 : 0;
        return made;
    }
    void start(const mdist_collective_description_t &collective, mdist_work_t **out, const CallOptions &options) {
        detail::call(mdist_collective_start, handle_, &collective, out, options.get());
    }
    template <typename Data>
    Work<Data> in_place_start(mdist_collective_kind_t kind, Data data, CallOptions options, int op, uint32_t root = 0) {
        return {std::move(data), [&](Data &owned, mdist_work_t **out) {
                    const Buffer buffer(owned);
                    const Buffer *const output = kind == MDIST_COLLECTIVE_BROADCAST ? nullptr : &buffer;
                    start(described(kind, &buffer, output, op, root), out, options);
                }};
    }
    template <typename Input, typename Output>
    Work<std::pair<Input, Output>> exchange_start(mdist_collective_kind_t kind, Input input, Output output,
                                                  CallOptions options, int op = 0, uint32_t root = 0,
                                                  const uint64_t *input_parts = nullptr,
                                                  const uint64_t *output_parts = nullptr) {
        return {std::pair(std::move(input), std::move(output)),
                [&](std::pair<Input, Output> &owned, mdist_work_t **out) {
                    const ConstBuffer from(owned.first);
                    const Buffer to(owned.second);
                    mdist_collective_description_t collective = described(kind, &from, &to, op, root);
                    collective.input_parts = input_parts;
                    collective.output_parts = output_parts;
                    start(collective, out, options);
                }};
    }

    mdist_replica_t *handle_;
    detail::Thrown &thrown_; // of the run
};

} // namespace mdist
