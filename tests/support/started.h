// SPDX-License-Identifier: Apache-2.0
// Starts collectives by the arguments of their blocking forms.
#pragma once

#include <mdist/work.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline mdist_status_t start_described(mdist_replica_t *replica, mdist_collective_description_t description,
                                             mdist_work_t **out, const mdist_call_options_t *options,
                                             mdist_error_t **error) {
    description.struct_size = sizeof description;
    return mdist_collective_start(replica, &description, out, options, error);
}

/// Describes what has an operation, a root, or neither: both are 0 then.
static inline mdist_collective_description_t described(int32_t kind, int32_t op, uint32_t root,
                                                       const mdist_buffer_t *inputs, const mdist_buffer_t *outputs,
                                                       size_t count) {
    mdist_collective_description_t made;
    memset(&made, 0, sizeof made);
    made.kind = kind;
    made.op = op;
    made.root = root;
    made.inputs = inputs;
    made.outputs = outputs;
    made.buffer_count = count;
    return made;
}

#define START(name, KIND, parameters, op, root)                                                                    \
    static inline mdist_status_t start_##name(mdist_replica_t *replica, parameters const mdist_buffer_t *inputs,   \
                                              const mdist_buffer_t *outputs, size_t count, mdist_work_t **out,     \
                                              const mdist_call_options_t *options, mdist_error_t **error) {        \
        return start_described(replica, described(MDIST_COLLECTIVE_##KIND, op, root, inputs, outputs, count), out, \
                               options, error);                                                                    \
    }
#define NO_PARAMETERS
#define AN_OP int32_t op,
#define A_ROOT uint32_t root,
#define BOTH int32_t op, uint32_t root,
START(all_reduce, ALL_REDUCE, AN_OP, op, 0)
START(all_gather, ALL_GATHER, NO_PARAMETERS, 0, 0)
START(reduce_scatter, REDUCE_SCATTER, AN_OP, op, 0)
START(all_to_all, ALL_TO_ALL, NO_PARAMETERS, 0, 0)
START(reduce_to_root, REDUCE_TO_ROOT, BOTH, op, root)
START(gather_to_root, GATHER_TO_ROOT, A_ROOT, 0, root)
START(scatter, SCATTER, A_ROOT, 0, root)
#undef START
#undef NO_PARAMETERS
#undef AN_OP
#undef A_ROOT
#undef BOTH

static inline mdist_status_t start_broadcast(mdist_replica_t *replica, uint32_t root, const mdist_buffer_t *buffers,
                                             size_t count, mdist_work_t **out, const mdist_call_options_t *options,
                                             mdist_error_t **error) {
    return start_described(replica, described(MDIST_COLLECTIVE_BROADCAST, 0, root, buffers, NULL, count), out, options,
                           error);
}

static inline mdist_status_t start_all_to_all_parts(mdist_replica_t *replica, const mdist_buffer_t *inputs,
                                                    const uint64_t *input_parts, const mdist_buffer_t *outputs,
                                                    const uint64_t *output_parts, size_t count, mdist_work_t **out,
                                                    const mdist_call_options_t *options, mdist_error_t **error) {
    mdist_collective_description_t made = described(MDIST_COLLECTIVE_ALL_TO_ALL_PARTS, 0, 0, inputs, outputs, count);
    made.input_parts = input_parts;
    made.output_parts = output_parts;
    return start_described(replica, made, out, options, error);
}

static inline mdist_status_t start_barrier(mdist_replica_t *replica, mdist_work_t **out,
                                           const mdist_call_options_t *options, mdist_error_t **error) {
    return start_described(replica, described(MDIST_COLLECTIVE_BARRIER, 0, 0, NULL, NULL, 0), out, options, error);
}
