// SPDX-License-Identifier: Apache-2.0
// Calls of the functions of collective.h, message.h, work.h and loss.h. context.h explains the table.
#include "context.h"
#include "started.h"

#include <unistd.h>

CALL(strategy_all_reduce) {
    float rows[8] = {0};
    mdist_buffer_t buffers[8];
    for (int i = 0; i < 8; ++i) buffers[i] = buffer_of(&rows[i], MDIST_FLOAT32, 1);
    return mdist_strategy_all_reduce(w->strategy, MDIST_SUM, buffers, buffers, 1, NULL, error);
}
CALL(strategy_reduce) {
    mdist_value_t *out = NULL;
    const mdist_status_t status = mdist_strategy_reduce(w->strategy, MDIST_MEAN, w->zero, &out, NULL, error);
    return drop_value(status, out);
}
CALL(strategy_reduce_axes) {
    mdist_value_t *out = NULL;
    const mdist_status_t status =
        mdist_strategy_reduce_axes(w->strategy, MDIST_MEAN, w->zero, NULL, 0, &out, NULL, error);
    return drop_value(status, out);
}
CALL(strategy_reduce_to) {
    mdist_value_t *out = NULL;
    const mdist_status_t status = mdist_strategy_reduce_to(w->strategy, MDIST_MEAN, &w->zero,
                                                           (const char *const[]){device_name(0)}, 1, &out, NULL, error);
    return drop_value(status, out);
}
CALL(strategy_broadcast) {
    mdist_value_t *out = NULL;
    const mdist_tensor_t tensor = tensor_in(w);
    const mdist_status_t status = mdist_strategy_broadcast(w->strategy, &tensor, &out, error);
    return drop_value(status, out);
}
CALL(strategy_gather) {
    mdist_value_t *out = NULL;
    const mdist_status_t status = mdist_strategy_gather(w->strategy, w->zero, 0, &out, NULL, error);
    return drop_value(status, out);
}
CALL(strategy_fetch) {
    mdist_value_t *out = NULL;
    const mdist_status_t status = mdist_strategy_fetch(w->strategy, w->value, device_name(1), NULL, NULL, &out, error);
    return drop_value(status, out);
}
CALL(all_reduce) {
    const mdist_buffer_t in = in_of(w), out = out_of(w, 2);
    return mdist_all_reduce(w->replica, MDIST_SUM, &in, &out, 1, NULL, error);
}
CALL(all_reduce_sparse) {
    int64_t index = 0;
    const mdist_tensor_t which = tensor_of(&index, MDIST_INT64, 1), row = tensor_of(w->room[0], MDIST_FLOAT32, 1);
    mdist_value_t *out = NULL;
    const mdist_status_t status = mdist_all_reduce_sparse(w->replica, MDIST_SUM, &which, &row, &out, NULL, error);
    return drop_value(status, out);
}
CALL(average_loss) {
    const mdist_tensor_t tensor = tensor_in(w);
    uint64_t global_batch = 0;
    double loss = 0;
    return mdist_average_loss(w->replica, &tensor, NULL, &global_batch, &loss, NULL, error);
}
CALL(scale_regularization) {
    const mdist_tensor_t tensor = tensor_in(w);
    double loss = 0;
    return mdist_scale_regularization(w->replica, &tensor, &loss, error);
}
CALL(broadcast) {
    const mdist_buffer_t in = in_of(w);
    return mdist_broadcast(w->replica, 0, &in, 1, NULL, error);
}
CALL(all_gather) {
    const mdist_buffer_t in = in_of(w), out = out_of(w, 4);
    return mdist_all_gather(w->replica, &in, &out, 1, NULL, error);
}
CALL(reduce_scatter) {
    const mdist_buffer_t in = in_of(w), out = out_of(w, 1);
    return mdist_reduce_scatter(w->replica, MDIST_SUM, &in, &out, 1, NULL, error);
}
CALL(all_to_all) {
    const mdist_buffer_t in = in_of(w), out = out_of(w, 2);
    return mdist_all_to_all(w->replica, &in, &out, 1, NULL, error);
}
CALL(all_to_all_parts) {
    const mdist_buffer_t in = in_of(w), out = out_of(w, 2);
    const uint64_t parts[2] = {1, 1};
    return mdist_all_to_all_parts(w->replica, &in, parts, &out, parts, 1, NULL, error);
}
CALL(barrier) {
    return mdist_barrier(w->replica, NULL, error);
}

// Waits for a started operation at once, so that the step continues as after the blocking form.
static mdist_status_t wait_for(mdist_status_t status, mdist_work_t *work) {
    int32_t done = 0;
    if (status == MDIST_OK && (mdist_work_wait(work, MDIST_FOREVER, &done, NULL) != MDIST_OK || done != 1))
        status = MDIST_ERR_INTERNAL;
    mdist_work_destroy(work);
    return status;
}
CALL(collective_start) {
    const mdist_buffer_t in = in_of(w), out = out_of(w, 2);
    mdist_work_t *work = NULL;
    const mdist_status_t status = start_all_reduce(w->replica, MDIST_SUM, &in, &out, 1, &work, NULL, error);
    return wait_for(status, work);
}
CALL(reduce_to_root) {
    const mdist_buffer_t in = in_of(w), out = out_of(w, 2);
    return mdist_reduce_to_root(w->replica, MDIST_SUM, 0, &in, &out, 1, NULL, error);
}

CALL(gather_to_root) {
    const mdist_buffer_t in = in_of(w), out = out_of(w, 4);
    return mdist_gather_to_root(w->replica, 0, &in, &out, 1, NULL, error);
}

CALL(scatter) {
    const mdist_buffer_t in = in_of(w), out = out_of(w, 1);
    return mdist_scatter(w->replica, 0, &in, &out, 1, NULL, error);
}

CALL(send) {
    const mdist_buffer_t in = in_of(w), out = out_of(w, 2);
    const uint32_t id = mdist_replica_id(w->replica);
    const mdist_status_t status = mdist_send(w->replica, id, 1, &in, NULL, error);
    return status == MDIST_OK ? mdist_receive(w->replica, id, 1, &out, NULL, error) : status;
}
CALL(receive) {
    const mdist_buffer_t in = in_of(w), out = out_of(w, 2);
    const uint32_t id = mdist_replica_id(w->replica);
    mdist_send(w->replica, id, 2, &in, NULL, NULL);
    return mdist_receive(w->replica, id, 2, &out, NULL, error);
}
CALL(send_start) {
    const mdist_buffer_t in = in_of(w), out = out_of(w, 2);
    const uint32_t id = mdist_replica_id(w->replica);
    mdist_work_t *work = NULL;
    const mdist_status_t status = mdist_send_start(w->replica, id, 3, &in, &work, NULL, error);
    if (status == MDIST_OK) mdist_receive(w->replica, id, 3, &out, NULL, NULL);
    return wait_for(status, work);
}
CALL(receive_start) {
    const mdist_buffer_t in = in_of(w), out = out_of(w, 2);
    const uint32_t id = mdist_replica_id(w->replica);
    mdist_work_t *work = NULL;
    const mdist_status_t status = mdist_receive_start(w->replica, id, 4, &out, &work, NULL, error);
    if (status == MDIST_OK) mdist_send(w->replica, id, 4, &in, NULL, NULL);
    return wait_for(status, work);
}
CALL(work_test) {
    int32_t done = 0;
    return mdist_work_test(w->work, &done, error);
}
CALL(work_wait) {
    int32_t done = 0;
    return mdist_work_wait(w->work, 0, &done, error);
}
CALL(work_descriptor) {
    int32_t descriptor = -1;
    const mdist_status_t status = mdist_work_descriptor(w->work, &descriptor, error);
    if (descriptor >= 0) close(descriptor);
    return status;
}

CALL(group_create) {
    const uint32_t list[] = {1, 0};
    mdist_group_t *out = NULL;
    const mdist_status_t status = mdist_group_create(w->strategy, list, 2, &out, error);
    mdist_group_destroy(out);
    return status;
}
static void nothing_done(mdist_status_t status, void *user_data) {
    (void)status, (void)user_data;
}
CALL(work_on_done) {
    return mdist_work_on_done(w->work, nothing_done, NULL, error);
}

// ---- Prepared calls.

static mdist_prepared_t *own_call(World *w) {
    return w->calls[mdist_replica_local_index(w->replica) == 1];
}
CALL(prepared_create) {
    const mdist_collective_description_t barrier = {.struct_size = sizeof barrier, .kind = MDIST_COLLECTIVE_BARRIER};
    mdist_prepared_t *out = NULL;
    const mdist_status_t status = mdist_prepared_create(w->strategy, 1, &barrier, &out, NULL, error);
    mdist_prepared_destroy(out);
    return status;
}
CALL(prepared_run) {
    return mdist_prepared_run(w->replica, own_call(w), error);
}
CALL(prepared_start) {
    mdist_work_t *work = NULL;
    const mdist_status_t status = mdist_prepared_start(w->replica, own_call(w), &work, error);
    return wait_for(status, work);
}

static const Entry entries[] = {
    ENTRY(strategy_all_reduce, OUTSIDE),
    ENTRY(strategy_reduce, OUTSIDE),
    ENTRY(strategy_reduce_axes, OUTSIDE),
    ENTRY(strategy_reduce_to, OUTSIDE),
    ENTRY(strategy_broadcast, OUTSIDE),
    ENTRY(strategy_gather, OUTSIDE),
    ENTRY(strategy_fetch, OUTSIDE),
    ENTRY(all_reduce, IN_STEP),
    ENTRY(all_reduce_sparse, IN_STEP),
    ENTRY(broadcast, IN_STEP),
    ENTRY(all_gather, IN_STEP),
    ENTRY(reduce_scatter, IN_STEP),
    ENTRY(all_to_all, IN_STEP),
    ENTRY(all_to_all_parts, IN_STEP),
    ENTRY(prepared_create, ANYWHERE),
    ENTRY(prepared_run, IN_STEP),
    ENTRY(prepared_start, IN_STEP),
    ENTRY(work_on_done, ANYWHERE),
    ENTRY(barrier, IN_STEP),
    ENTRY(average_loss, IN_STEP),
    ENTRY(scale_regularization, IN_STEP),
    ENTRY(collective_start, IN_STEP),
    ENTRY(reduce_to_root, IN_STEP),
    ENTRY(gather_to_root, IN_STEP),
    ENTRY(scatter, IN_STEP),
    ENTRY(send, IN_STEP),
    ENTRY(receive, IN_STEP),
    ENTRY(send_start, IN_STEP),
    ENTRY(receive_start, IN_STEP),
    ENTRY(work_test, ANYWHERE),
    ENTRY(work_wait, ANYWHERE),
    ENTRY(work_descriptor, ANYWHERE),
    ENTRY(group_create, OUTSIDE),
};
const Table collectives_table = {entries, sizeof entries / sizeof *entries};
