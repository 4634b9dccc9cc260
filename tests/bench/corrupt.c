// SPDX-License-Identifier: Apache-2.0
// A library to preload. Its collectives get one element wrong on replica 1, to test that `mdist bench --workers`
// notices. Buffers of a single element stay right, since the bench itself communicates with them.
#include <dlfcn.h>
#include <mdist/mdist.h>

static void spoil(const mdist_replica_t *replica, const mdist_buffer_t *buffer) {
    if (mdist_replica_id(replica) == 1 && buffer->elements > 1) ((float *)buffer->data)[buffer->elements - 1] += 1;
}

#define REAL(name) (__extension__(__typeof__(&name)) dlsym(RTLD_NEXT, #name))

mdist_status_t mdist_all_reduce(mdist_replica_t *replica, mdist_reduce_op_t op, const mdist_buffer_t *inputs,
                                const mdist_buffer_t *outputs, size_t buffer_count, const mdist_call_options_t *options,
                                mdist_error_t **error) {
    const mdist_status_t status = REAL(mdist_all_reduce)(replica, op, inputs, outputs, buffer_count, options, error);
    spoil(replica, outputs);
    return status;
}

mdist_status_t mdist_broadcast(mdist_replica_t *replica, uint32_t root, const mdist_buffer_t *buffers,
                               size_t buffer_count, const mdist_call_options_t *options, mdist_error_t **error) {
    const mdist_status_t status = REAL(mdist_broadcast)(replica, root, buffers, buffer_count, options, error);
    spoil(replica, buffers);
    return status;
}

mdist_status_t mdist_all_gather(mdist_replica_t *replica, const mdist_buffer_t *inputs, const mdist_buffer_t *outputs,
                                size_t buffer_count, const mdist_call_options_t *options, mdist_error_t **error) {
    const mdist_status_t status = REAL(mdist_all_gather)(replica, inputs, outputs, buffer_count, options, error);
    spoil(replica, outputs);
    return status;
}

mdist_status_t mdist_reduce_scatter(mdist_replica_t *replica, mdist_reduce_op_t op, const mdist_buffer_t *inputs,
                                    const mdist_buffer_t *outputs, size_t buffer_count,
                                    const mdist_call_options_t *options, mdist_error_t **error) {
    const mdist_status_t status =
        REAL(mdist_reduce_scatter)(replica, op, inputs, outputs, buffer_count, options, error);
    spoil(replica, outputs);
    return status;
}

mdist_status_t mdist_all_to_all(mdist_replica_t *replica, const mdist_buffer_t *inputs, const mdist_buffer_t *outputs,
                                size_t buffer_count, const mdist_call_options_t *options, mdist_error_t **error) {
    const mdist_status_t status = REAL(mdist_all_to_all)(replica, inputs, outputs, buffer_count, options, error);
    spoil(replica, outputs);
    return status;
}
