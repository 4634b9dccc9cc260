// SPDX-License-Identifier: Apache-2.0
// Calls of the functions of variable.h and checkpoint.h. context.h explains the table.
#include "context.h"

CALL(variable_create) {
    mdist_variable_t *out = NULL;
    const mdist_tensor_t tensor = tensor_in(w);
    const mdist_status_t status = mdist_variable_create(w->strategy, "fresh", &tensor, &out, NULL, error);
    mdist_variable_destroy(out);
    return status;
}
CALL(variable_assign) {
    return mdist_variable_assign(w->variable, MDIST_ASSIGN_SET, w->value, error);
}
CALL(variable_read) {
    mdist_value_t *out = NULL;
    const mdist_status_t status = mdist_variable_read(w->variable, &out, NULL, error);
    return drop_value(status, out);
}
CALL(update) {
    return mdist_update(w->variable, idle_update, NULL, NULL, error);
}
CALL(update_devices) {
    return mdist_update_devices(w->strategy, idle_update, NULL, NULL, error);
}
CALL(replica_variable_create) {
    mdist_variable_t *out = NULL;
    const mdist_tensor_t tensor = tensor_in(w);
    const mdist_status_t status = mdist_replica_variable_create(w->replica, "in a step", &tensor, &out, NULL, error);
    mdist_variable_destroy(out);
    return status;
}
CALL(replica_assign) {
    const mdist_tensor_t tensor = tensor_in(w);
    return mdist_replica_assign(w->replica, w->variable, MDIST_ASSIGN_SET, &tensor, NULL, error);
}

CALL(replica_assign_sparse) {
    int64_t index = 1;
    const mdist_tensor_t which = tensor_of(&index, MDIST_INT64, 1), row = tensor_of(w->room[0], MDIST_FLOAT32, 1);
    return mdist_replica_assign_sparse(w->replica, w->variable, MDIST_ASSIGN_MAX, &which, &row, NULL, error);
}
CALL(variable_tensor) {
    mdist_tensor_t out;
    return mdist_variable_tensor(w->variable, 0, &out, error);
}
CALL(replica_copy) {
    const mdist_tensor_t tensor = tensor_in(w);
    return mdist_replica_copy(w->replica, &tensor, &tensor, error);
}
CALL(replica_graph) {
    return mdist_replica_graph(w->replica, 0, NULL, NULL, error);
}
CALL(replica_graph_begin) {
    int32_t record = 0;
    const mdist_status_t status = mdist_replica_graph_begin(w->replica, 0, &record, error);
    if (status == MDIST_OK) mdist_replica_graph_end(w->replica, NULL);
    return status;
}
CALL(replica_graph_end) {
    int32_t record = 0;
    mdist_replica_graph_begin(w->replica, 0, &record, NULL);
    return mdist_replica_graph_end(w->replica, error);
}
CALL(replica_stream) {
    void *stream = NULL;
    return mdist_replica_stream(w->replica, &stream, error);
}
CALL(replica_use_stream) {
    return mdist_replica_use_stream(w->replica, NULL, error);
}
CALL(variable_at_address) {
    mdist_variable_t *out = NULL;
    mdist_buffer_t arena = {NULL, 0, 0, 0};
    mdist_variable_arena(w->strategy, MDIST_FLOAT32, 0, &arena, NULL);
    const mdist_status_t status = mdist_variable_at_address(w->strategy, arena.data, &out, NULL, error);
    mdist_variable_destroy(out);
    return status;
}
CALL(variable_arena) {
    mdist_buffer_t out;
    return mdist_variable_arena(w->strategy, MDIST_FLOAT32, 0, &out, error);
}

CALL(checkpoint_create) {
    mdist_checkpoint_t *out = NULL;
    const mdist_status_t status = mdist_checkpoint_create(w->strategy, checkpoint_folder, 0, &out, error);
    mdist_checkpoint_destroy(out);
    return status;
}
CALL(checkpoint_add) {
    mdist_checkpoint_t *out = NULL;
    mdist_checkpoint_create(w->strategy, checkpoint_folder, 0, &out, NULL); // NULL where this is not allowed either
    const mdist_status_t status = mdist_checkpoint_add(out == NULL ? w->checkpoint : out, NULL, w->variable, error);
    mdist_checkpoint_destroy(out);
    return status;
}
CALL(checkpoint_add_iterator) {
    mdist_checkpoint_t *out = NULL;
    mdist_checkpoint_create(w->strategy, checkpoint_folder, 0, &out, NULL);
    const mdist_status_t status =
        mdist_checkpoint_add_iterator(out == NULL ? w->checkpoint : out, "i", w->iterator, error);
    mdist_checkpoint_destroy(out);
    return status;
}
CALL(checkpoint_set_text) {
    return mdist_checkpoint_set_text(w->checkpoint, "key", "text", error);
}
CALL(checkpoint_text_key) {
    char text[8];
    return mdist_checkpoint_text_key(w->checkpoint, 0, text, sizeof text, NULL, error);
}
CALL(checkpoint_text) {
    char text[16];
    return mdist_checkpoint_text(w->checkpoint, "kept", text, sizeof text, NULL, error);
}
CALL(checkpoint_save) {
    return mdist_checkpoint_save(w->checkpoint, 1, NULL, error);
}
CALL(checkpoint_restore) {
    return mdist_checkpoint_restore(w->checkpoint, 1, NULL, NULL, error);
}
CALL(checkpoint_latest) {
    (void)w;
    uint64_t number = 0;
    return mdist_checkpoint_latest(checkpoint_folder, &number, error);
}

CALL(cached_reads_enter) {
    const mdist_status_t status = mdist_cached_reads_enter(w->strategy, error);
    return status < 0 ? status : mdist_cached_reads_exit(w->strategy, error);
}
CALL(cached_reads_exit) {
    mdist_cached_reads_enter(w->strategy, NULL);
    return mdist_cached_reads_exit(w->strategy, error);
}
CALL(update_register) {
    return mdist_update_register(w->strategy, "idle", idle_update, NULL, error);
}
CALL(update_named) {
    return mdist_update_named(w->strategy, w->variable, "idle", NULL, error);
}
CALL(variable_named) {
    mdist_variable_t *out = NULL;
    const mdist_status_t status = mdist_variable_named(w->strategy, "v", &out, error);
    mdist_variable_destroy(out);
    return status;
}
CALL(checkpoint_clear) {
    const mdist_status_t status = mdist_checkpoint_clear(w->checkpoint, NULL, error);
    return status == MDIST_OK ? mdist_checkpoint_save(w->checkpoint, 1, NULL, error) : status; // for later calls
}

static const Entry entries[] = {
    ENTRY(variable_create, OUTSIDE),      ENTRY(variable_assign, OUTSIDE),
    ENTRY(variable_read, OUTSIDE),        ENTRY(update, OUTSIDE),
    ENTRY(update_devices, OUTSIDE),       ENTRY(replica_variable_create, IN_STEP),
    ENTRY(replica_copy, IN_STEP),         ENTRY(replica_stream, IN_STEP),
    ENTRY(replica_graph, IN_STEP),        ENTRY(replica_graph_begin, IN_STEP),
    ENTRY(replica_graph_end, IN_STEP),    ENTRY(replica_use_stream, IN_STEP),
    ENTRY(replica_assign, IN_STEP),       ENTRY(replica_assign_sparse, IN_STEP),
    ENTRY(checkpoint_create, OUTSIDE),    ENTRY(checkpoint_add, OUTSIDE),
    ENTRY(checkpoint_set_text, OUTSIDE),  ENTRY(checkpoint_text, OUTSIDE),
    ENTRY(checkpoint_text_key, OUTSIDE),  ENTRY(checkpoint_save, OUTSIDE),
    ENTRY(checkpoint_restore, OUTSIDE),   ENTRY(checkpoint_latest, ANYWHERE),
    ENTRY(variable_tensor, ANYWHERE),     ENTRY(variable_arena, ANYWHERE),
    ENTRY(variable_at_address, ANYWHERE), ENTRY(cached_reads_enter, OUTSIDE),
    ENTRY(cached_reads_exit, OUTSIDE),    ENTRY(update_register, ANYWHERE),
    ENTRY(update_named, OUTSIDE),         ENTRY(variable_named, ANYWHERE),
    ENTRY(checkpoint_clear, OUTSIDE),     ENTRY(checkpoint_add_iterator, OUTSIDE),
};
const Table variables_table = {entries, sizeof entries / sizeof *entries};
