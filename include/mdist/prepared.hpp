// SPDX-License-Identifier: Apache-2.0
// Prepared: a collective that is described once and runs many times, each time on the same memory.
//
//     auto sum = mdist::Prepared::all_reduce(strategy, local_replica, MDIST_SUM, gradients);
//     sum.run(replica);                            // in steps of that local replica
#pragma once

#include <string>
#include <tuple>

#include <mdist/strategy.hpp>

namespace mdist {

// The memory of the buffers must outlive it. It may have a group, as the last argument, and an operator in place of
// MDIST_SUM. An Operator must outlive the runs.
class Prepared : public Handle<mdist_prepared_t, mdist_prepared_destroy> {
  public:
    static Prepared all_reduce(Strategy &strategy, uint32_t local, mdist_reduce_op_t op, Buffers buffers,
                               CallOptions options = {}) {
        return make(strategy, local, of(MDIST_COLLECTIVE_ALL_REDUCE, op, 0), buffers, buffers, options);
    }
    static Prepared all_reduce(Strategy &strategy, uint32_t local, mdist_reduce_op_t op, ConstBuffers inputs,
                               Buffers outputs, CallOptions options = {}) {
        return make(strategy, local, of(MDIST_COLLECTIVE_ALL_REDUCE, op, 0), inputs, outputs, options);
    }
    static Prepared broadcast(Strategy &strategy, uint32_t local, uint32_t root, Buffers buffers,
                              CallOptions options = {}) {
        mdist_collective_description_t description = of(MDIST_COLLECTIVE_BROADCAST, 0, root);
        description.inputs = buffers.data();
        description.buffer_count = buffers.size();
        return make(strategy, local, description, options);
    }
    static Prepared all_gather(Strategy &strategy, uint32_t local, ConstBuffers inputs, Buffers outputs,
                               CallOptions options = {}) {
        return make(strategy, local, of(MDIST_COLLECTIVE_ALL_GATHER, 0, 0), inputs, outputs, options);
    }
    static Prepared reduce_scatter(Strategy &strategy, uint32_t local, mdist_reduce_op_t op, ConstBuffers inputs,
                                   Buffers outputs, CallOptions options = {}) {
        return make(strategy, local, of(MDIST_COLLECTIVE_REDUCE_SCATTER, op, 0), inputs, outputs, options);
    }
    static Prepared all_to_all(Strategy &strategy, uint32_t local, ConstBuffers inputs, Buffers outputs,
                               CallOptions options = {}) {
        return make(strategy, local, of(MDIST_COLLECTIVE_ALL_TO_ALL, 0, 0), inputs, outputs, options);
    }
    static Prepared all_to_all_parts(Strategy &strategy, uint32_t local, ConstBuffers inputs,
                                     Span<const uint64_t> input_parts, Buffers outputs,
                                     Span<const uint64_t> output_parts, CallOptions options = {}) {
        const size_t lengths = inputs.size() * options.members(strategy.replica_count());
        if (input_parts.size() != lengths || output_parts.size() != lengths)
            throw std::invalid_argument("there must be " + std::to_string(lengths) +
                                        " lengths of parts, one for each buffer and member");
        mdist_collective_description_t description = of(MDIST_COLLECTIVE_ALL_TO_ALL_PARTS, 0, 0);
        description.input_parts = input_parts.data();
        description.output_parts = output_parts.data();
        return make(strategy, local, description, inputs, outputs, options);
    }
    static Prepared reduce_to_root(Strategy &strategy, uint32_t local, mdist_reduce_op_t op, uint32_t root,
                                   Buffers buffers, CallOptions options = {}) {
        return make(strategy, local, of(MDIST_COLLECTIVE_REDUCE_TO_ROOT, op, root), buffers, buffers, options);
    }
    static Prepared reduce_to_root(Strategy &strategy, uint32_t local, mdist_reduce_op_t op, uint32_t root,
                                   ConstBuffers inputs, Buffers outputs, CallOptions options = {}) {
        return make(strategy, local, of(MDIST_COLLECTIVE_REDUCE_TO_ROOT, op, root), inputs, outputs, options);
    }
    static Prepared gather_to_root(Strategy &strategy, uint32_t local, uint32_t root, ConstBuffers inputs,
                                   Buffers outputs, CallOptions options = {}) {
        return make(strategy, local, of(MDIST_COLLECTIVE_GATHER_TO_ROOT, 0, root), inputs, outputs, options);
    }
    static Prepared scatter(Strategy &strategy, uint32_t local, uint32_t root, ConstBuffers inputs, Buffers outputs,
                            CallOptions options = {}) {
        return make(strategy, local, of(MDIST_COLLECTIVE_SCATTER, 0, root), inputs, outputs, options);
    }
    static Prepared barrier(Strategy &strategy, uint32_t local, CallOptions options = {}) {
        return make(strategy, local, of(MDIST_COLLECTIVE_BARRIER, 0, 0), options);
    }

    // Makes the call, in a step of its local replica.
    void run(Replica &replica) { detail::call(mdist_prepared_run, replica.get(), get()); }

    // Starts it. The memory must outlive the work, too.
    Work<std::tuple<>> start(Replica &replica) {
        return {std::tuple<>(), [&](std::tuple<> &, mdist_work_t **out) {
                    detail::call(mdist_prepared_start, replica.get(), get(), out);
                }};
    }

  private:
    using Handle::Handle;

    static mdist_collective_description_t of(mdist_collective_kind_t kind, int op, uint32_t root) {
        mdist_collective_description_t description{};
        description.struct_size = sizeof description;
        description.kind = kind;
        description.op = op;
        description.root = root;
        return description;
    }
    template <typename Inputs>
    static Prepared make(Strategy &strategy, uint32_t local, mdist_collective_description_t description,
                         const Inputs &inputs, const Buffers &outputs, const CallOptions &options) {
        if (inputs.size() != outputs.size()) throw std::invalid_argument("there must be as many outputs as inputs");
        description.inputs = inputs.data();
        description.outputs = outputs.data();
        description.buffer_count = inputs.size();
        return make(strategy, local, description, options);
    }
    static Prepared make(Strategy &strategy, uint32_t local, const mdist_collective_description_t &description,
                         const CallOptions &options) {
        mdist_prepared_t *out = nullptr;
        detail::call(mdist_prepared_create, strategy.get(), local, &description, &out, options.get());
        return Prepared(out);
    }
};

} // namespace mdist
