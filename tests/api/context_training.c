// SPDX-License-Identifier: Apache-2.0
// Calls of the functions of loop.h, gradients.h and elastic.h. context.h explains the table.
#include "context.h"

CALL(run_steps) {
    mdist_loop_t *out = NULL;
    const mdist_status_t status =
        mdist_run_steps(w->strategy, w->iterator, 1, idle_loop, NULL, NULL, &out, NULL, error);
    mdist_loop_destroy(out);
    return status;
}
/// A loop that has ended takes no more outputs. A call that fails for that reason has passed the check of its context.
static mdist_status_t too_late(mdist_status_t status, mdist_error_t **error) {
    if (status != MDIST_ERR_FAILED_PRECONDITION || strcmp(mdist_error_reason(*error), "loop_over") != 0) return status;
    mdist_error_free(*error);
    *error = NULL;
    return MDIST_OK;
}
CALL(loop_set_output) {
    return too_late(mdist_loop_set_output(w->loop, "a", w->value, MDIST_AGGREGATION_NONE, error), error);
}
CALL(replica_set_output) {
    const mdist_tensor_t tensor = tensor_in(w);
    return too_late(mdist_replica_set_output(w->replica, w->loop, "a", &tensor, MDIST_AGGREGATION_SUM, error), error);
}
CALL(loop_outputs) {
    mdist_value_t *out = NULL;
    const mdist_status_t status = mdist_loop_outputs(w->loop, &out, error);
    return drop_value(status, out);
}
CALL(loop_set_object) {
    return mdist_loop_set_object(w->loop, "kept", 0, NULL, error);
}
CALL(loop_object) {
    void *out = NULL;
    return mdist_loop_object(w->loop, "object", 1, &out, error);
}

CALL(gradients_create) {
    mdist_gradients_t *out = NULL;
    const mdist_tensor_t like = tensor_in(w);
    const mdist_status_t status = mdist_gradients_create(w->strategy, &like, 1, &out, NULL, error);
    mdist_gradients_destroy(out);
    return status;
}
CALL(gradients_tensor) {
    mdist_tensor_t out;
    return mdist_gradients_tensor(w->gradients, 1, 0, &out, error);
}
CALL(gradients_wait) {
    return mdist_gradients_wait(w->replica, w->gradients, NULL, NULL, error);
}
CALL(gradients_test) {
    int32_t done = 0;
    mdist_status_t status = MDIST_OK;
    while (status == MDIST_OK && !done)
        status = mdist_gradients_test(w->replica, w->gradients, &done, NULL, NULL, error);
    return status;
}
/// A call that begins a round of gradients also ends the round, if the call succeeds.
CALL(gradients_ready) {
    const mdist_status_t status = mdist_gradients_ready(w->replica, w->gradients, 0, error);
    return status == MDIST_OK ? call_gradients_wait(w, error) : status;
}
CALL(gradients_create_lent) {
    mdist_gradients_t *out = NULL;
    const mdist_tensor_t tensors[2] = {tensor_of(NULL, MDIST_FLOAT32, 2), tensor_of(NULL, MDIST_FLOAT32, 2)};
    const mdist_status_t status = mdist_gradients_create_lent(w->strategy, tensors, 1, &out, NULL, error);
    mdist_gradients_destroy(out);
    return status;
}
CALL(gradients_lend) {
    const mdist_tensor_t none = tensor_of(NULL, MDIST_FLOAT32, 2);
    return mdist_gradients_lend(w->lent, 1, &none, 1, error);
}
CALL(gradients_ready_at) {
    const mdist_status_t status = mdist_gradients_ready_at(w->replica, w->lent, 0, w->room[0], error);
    return status == MDIST_OK ? mdist_gradients_wait(w->replica, w->lent, NULL, NULL, error) : status;
}
CALL(gradients_accumulate) {
    const mdist_status_t status = mdist_gradients_accumulate(w->replica, w->gradients, error);
    return status == MDIST_OK ? call_gradients_ready(w, error) : status;
}

/// The job is of fixed size. A call that fails for that reason, or since a merge is open, has passed the check of its
/// context.
static mdist_status_t not_elastic(mdist_status_t status, mdist_error_t **error) {
    if (status != MDIST_ERR_FAILED_PRECONDITION) return status;
    const char *const reason = mdist_error_reason(*error);
    if (strcmp(reason, "not_elastic") != 0 && strcmp(reason, "open_run") != 0) return status;
    mdist_error_free(*error);
    *error = NULL;
    return MDIST_OK;
}
CALL(commit) {
    return not_elastic(mdist_commit(w->strategy, 1, NULL, error), error);
}
CALL(regroup) {
    return not_elastic(mdist_regroup(w->strategy, NULL, NULL, error), error);
}
static int32_t save_nothing(uint32_t replica, void *to, size_t bytes, void *user_data) {
    (void)replica, (void)to, (void)bytes, (void)user_data;
    return 0;
}
static int32_t restore_nothing(uint32_t replica, const void *from, size_t bytes, void *user_data) {
    (void)replica, (void)from, (void)bytes, (void)user_data;
    return 0;
}
CALL(blob_create) {
    mdist_blob_t *out = NULL;
    const mdist_status_t status =
        mdist_blob_create(w->strategy, "blob", 8, save_nothing, restore_nothing, NULL, NULL, &out, error);
    mdist_blob_destroy(out);
    return status;
}

static const Entry entries[] = {
    ENTRY(run_steps, OUTSIDE),
    ENTRY(loop_set_output, OUTSIDE),
    ENTRY(replica_set_output, IN_STEP),
    ENTRY(loop_outputs, ANYWHERE),
    ENTRY(loop_set_object, ANYWHERE),
    ENTRY(loop_object, ANYWHERE),
    ENTRY(gradients_create, ANYWHERE),
    ENTRY(gradients_tensor, ANYWHERE),
    ENTRY(gradients_accumulate, IN_STEP),
    ENTRY(gradients_ready, IN_STEP),
    ENTRY(gradients_wait, IN_STEP),
    ENTRY(gradients_test, IN_STEP),
    ENTRY(gradients_ready_at, IN_STEP),
    ENTRY(gradients_lend, ANYWHERE),
    ENTRY(gradients_create_lent, ANYWHERE),
    ENTRY(commit, OUTSIDE),
    ENTRY(regroup, OUTSIDE),
    ENTRY(blob_create, ANYWHERE),
};
const Table training_table = {entries, sizeof entries / sizeof *entries};
