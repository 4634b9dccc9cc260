// SPDX-License-Identifier: Apache-2.0
// Calls of the functions of value.h, tensor.h, dlpack.h and memory.h. context.h explains the table.
#include "dlpack_support.h"

#include "context.h"

CALL(alloc) {
    void *memory = NULL;
    const mdist_status_t status = mdist_alloc(w->strategy, 0, 8, &memory, error);
    mdist_free(memory);
    return status;
}
CALL(alloc_pinned) {
    void *memory = NULL;
    (void)w;
    const mdist_status_t status = mdist_alloc_pinned(8, &memory, error);
    mdist_free(memory);
    return status;
}
CALL(tensor_copy) {
    const mdist_tensor_t to = tensor_of(w->room[0], MDIST_FLOAT32, 2), from = tensor_of(w->room[1], MDIST_FLOAT32, 2);
    return mdist_tensor_copy(&to, &from, error);
}
CALL(tensor_describe) {
    mdist_tensor_t out;
    return mdist_tensor_describe(w->room, MDIST_FLOAT32, NULL, 0, &out, error);
}
CALL(value_create) {
    mdist_value_t *out = NULL;
    const mdist_tensor_t tensor = tensor_in(w);
    const mdist_status_t status = mdist_value_create(&tensor, &out, error);
    return drop_value(status, out);
}
CALL(value_wrap) {
    mdist_value_t *out = NULL;
    const mdist_tensor_t tensor = tensor_in(w);
    const mdist_status_t status = mdist_value_wrap(&tensor, NULL, NULL, &out, error);
    return drop_value(status, out);
}
CALL(value_per_replica) {
    mdist_value_t *out = NULL;
    mdist_tensor_t tensors[8];
    for (int i = 0; i < 8; ++i) tensors[i] = tensor_in(w);
    const mdist_status_t status =
        mdist_value_per_replica(w->strategy, tensors, mdist_strategy_local_replica_count(w->strategy), &out, error);
    return drop_value(status, out);
}
CALL(value_sparse) {
    int64_t indices[2] = {0, 1};
    const mdist_tensor_t tensor = tensor_of(indices, MDIST_INT64, 2);
    mdist_value_t *which = NULL, *out = NULL;
    mdist_value_create(&tensor, &which, NULL);
    const mdist_status_t status = mdist_value_sparse(which, w->value, &out, error);
    mdist_value_destroy(which);
    return drop_value(status, out);
}
CALL(value_indices) {
    mdist_tensor_t out;
    return mdist_value_indices(w->value, 0, &out, error);
}
CALL(value_tensor) {
    mdist_tensor_t out;
    return mdist_value_tensor(w->value, 0, &out, error);
}
CALL(value_structure) {
    mdist_value_t *out = NULL;
    const char *const path = "a";
    mdist_value_t *const leaf = w->value;
    const mdist_status_t status = mdist_value_structure(&path, &leaf, 1, &out, error);
    return drop_value(status, out);
}
static int32_t idle_value(uint32_t replica_id, uint32_t replica_count, mdist_value_t **out, void *user_data) {
    (void)replica_id, (void)replica_count;
    const mdist_tensor_t tensor = tensor_in(user_data);
    return mdist_value_create(&tensor, out, NULL) != MDIST_OK;
}
CALL(values_from_function) {
    mdist_value_t *out = NULL;
    const mdist_status_t status = mdist_values_from_function(w->strategy, idle_value, w, &out, error);
    return drop_value(status, out);
}
CALL(value_at) {
    mdist_value_t *out = NULL;
    const mdist_status_t status = mdist_value_at(w->value, "", &out, error);
    return drop_value(status, out);
}
static mdist_status_t take_theirs(DlLayout layout, World *w, mdist_error_t **error) {
    static Theirs theirs; // its deleter runs with the value, at once
    const int64_t shape = 2;
    mdist_value_t *out = NULL;
    describe(&theirs, layout, w->room[0], MDIST_FLOAT32, 1, &shape);
    const mdist_status_t status = take_in(&theirs, &out, error);
    return drop_value(status, out);
}
static mdist_status_t give_ours(DlLayout layout, World *w, mdist_error_t **error) {
    Ours ours;
    const mdist_status_t status = give_out(w->value, 0, layout, &ours, error);
    delete_ours(&ours);
    return status;
}
CALL(value_from_dlpack) {
    return take_theirs(VERSIONED, w, error);
}
CALL(value_to_dlpack) {
    return give_ours(VERSIONED, w, error);
}

CALL(buffer_from_dlpack) {
    Theirs theirs;
    const int64_t shape = 2;
    mdist_buffer_t out;
    describe(&theirs, LEGACY, w->room[0], MDIST_FLOAT32, 1, &shape);
    const mdist_dlpack_t managed = in_layout(LEGACY, &theirs.legacy, NULL);
    return mdist_buffer_from_dlpack(&managed, &out, error);
}

CALL(value_mirrored) {
    mdist_value_t *out = NULL;
    const mdist_status_t status = mdist_value_mirrored(w->strategy, w->value, &out, error);
    return drop_value(status, out);
}

static const Entry entries[] = {
    ENTRY(alloc, ANYWHERE),           ENTRY(alloc_pinned, ANYWHERE),
    ENTRY(tensor_copy, ANYWHERE),     ENTRY(value_from_dlpack, ANYWHERE),
    ENTRY(value_to_dlpack, ANYWHERE), ENTRY(buffer_from_dlpack, ANYWHERE),
    ENTRY(tensor_describe, ANYWHERE), ENTRY(value_create, ANYWHERE),
    ENTRY(value_wrap, ANYWHERE),      ENTRY(value_per_replica, ANYWHERE),
    ENTRY(value_tensor, ANYWHERE),    ENTRY(value_structure, ANYWHERE),
    ENTRY(value_at, ANYWHERE),        ENTRY(values_from_function, OUTSIDE),
    ENTRY(value_sparse, ANYWHERE),    ENTRY(value_indices, ANYWHERE),
    ENTRY(value_mirrored, ANYWHERE),
};
const Table values_table = {entries, sizeof entries / sizeof *entries};
