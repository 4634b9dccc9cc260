// SPDX-License-Identifier: Apache-2.0
// Calls of the functions of base.h, status.h and log.h, and of all functions that cannot fail. context.h explains the
// table.
#include "context.h"

/// Calls all queries and destructors. They have no error and are allowed everywhere.
CALL(queries) {
    (void)error;
    const mdist_tensor_t tensor = tensor_in(w);
    mdist_config_destroy(NULL);
    mdist_cluster_destroy(NULL);
    mdist_strategy_destroy(NULL);
    mdist_strategy_abort(NULL);
    mdist_value_destroy(NULL);
    mdist_variable_destroy(NULL);
    mdist_dataset_destroy(NULL);
    mdist_iterator_destroy(NULL);
    mdist_work_destroy(NULL);
    mdist_loop_destroy(NULL);
    mdist_record_writer_destroy(NULL);
    mdist_gradients_destroy(NULL);
    mdist_group_destroy(NULL);
    mdist_prepared_destroy(NULL);
    mdist_store_destroy(NULL);
    mdist_blob_destroy(NULL);
    mdist_membership_leave(NULL, 0);
    mdist_checkpoint_destroy(NULL);
    mdist_free(NULL);
    mdist_error_free(NULL);
    if (mdist_config_key_count() == 0) return MDIST_ERR_INTERNAL;
    mdist_fail(0, "");
    if (mdist_group_size(NULL) != 0 || mdist_group_position(NULL, 0) != MDIST_NONE) return MDIST_ERR_INTERNAL;
    const int good =
        mdist_version() == MDIST_VERSION && mdist_has("no such thing") == 0 && mdist_dtype_size(MDIST_FLOAT64) == 8 &&
        strcmp(mdist_dtype_name(MDIST_INT8), "int8") == 0 && mdist_strategy_replica_count(w->strategy) == 2 &&
        mdist_strategy_local_replica_count(w->strategy) == 2 && mdist_strategy_worker_count(w->strategy) == 1 &&
        mdist_strategy_rank(w->strategy) == 0 && mdist_strategy_first_replica_id(w->strategy) == 0 &&
        mdist_checkpoint_text_count(w->checkpoint) == 1 && mdist_strategy_is_chief(w->strategy) == 1 &&
        mdist_error_rank(NULL) == MDIST_NONE && mdist_strategy_is_joining(w->strategy) == 0 &&
        mdist_value_kind(w->value) == MDIST_VALUE_PLAIN && mdist_value_count(w->zero) == 2 &&
        mdist_value_leaf_count(w->value) == 1 && mdist_value_leaf_path(w->value, 0)[0] == '\0' &&
        strcmp(mdist_variable_name(w->variable), "v") == 0 && mdist_tensor_elements(&tensor) == 2 &&
        mdist_dataset_component_count(w->dataset) == 1 && mdist_loop_iterations(w->loop) == 0 &&
        mdist_iterator_component_count(w->iterator) == 1 && mdist_error_status(NULL) == MDIST_OK &&
        mdist_error_message(NULL)[0] == '\0' && mdist_error_reason(NULL)[0] == '\0' &&
        mdist_error_operation(NULL)[0] == '\0' && mdist_error_replica(NULL) == MDIST_NONE &&
        mdist_error_native(NULL) == 0 && strcmp(mdist_status_name(MDIST_END), "MDIST_END") == 0;
    return good ? MDIST_OK : MDIST_ERR_INTERNAL;
}

static const Entry entries[] = {
    QUERY(version),
    QUERY(has),
    QUERY(dtype_size),
    QUERY(dtype_name),
    QUERY(status_name),
    QUERY(strategy_replica_count),
    QUERY(strategy_local_replica_count),
    QUERY(strategy_worker_count),
    QUERY(strategy_rank),
    QUERY(strategy_first_replica_id),
    QUERY(checkpoint_text_count),
    QUERY(strategy_is_chief),
    QUERY(strategy_is_joining),
    QUERY(value_kind),
    QUERY(value_count),
    QUERY(value_leaf_count),
    QUERY(value_leaf_path),
    QUERY(variable_name),
    QUERY(tensor_elements),
    QUERY(dataset_component_count),
    QUERY(iterator_component_count),
    QUERY(loop_iterations),
    QUERY(loop_destroy),
    QUERY(record_writer_destroy),
    QUERY(gradients_destroy),
    QUERY(group_size),
    QUERY(group_position),
    QUERY(group_destroy),
    QUERY(prepared_destroy),
    QUERY(blob_destroy),
    QUERY(error_status),
    QUERY(error_message),
    QUERY(error_reason),
    QUERY(error_operation),
    QUERY(error_replica),
    QUERY(error_rank),
    QUERY(error_native),
    QUERY(error_free),
    QUERY(config_key_count),
    QUERY(fail),
    QUERY(config_destroy),
    QUERY(cluster_destroy),
    QUERY(strategy_destroy),
    QUERY(strategy_abort),
    QUERY(value_destroy),
    QUERY(variable_destroy),
    QUERY(dataset_destroy),
    QUERY(store_destroy),
    QUERY(membership_leave),
    QUERY(checkpoint_destroy),
    QUERY(iterator_destroy),
    QUERY(work_destroy),
    QUERY(free),
    {"mdist_replica_id", NOT_CALLED, NULL},
    {"mdist_replica_local_index", NOT_CALLED, NULL},
    {"mdist_replica_count", NOT_CALLED, NULL},
    {"mdist_config_load", NOT_CALLED, NULL},
    {"mdist_cluster_from_slurm", NOT_CALLED, NULL}, // needs the variables of a Slurm step
    {"mdist_serve", NOT_CALLED, NULL},              // needs other workers
    {"mdist_scope_enter", NOT_CALLED, NULL},        // tested by scope_test
    {"mdist_scope_exit", NOT_CALLED, NULL},
    {"mdist_set_default_strategy", NOT_CALLED, NULL},
    {"mdist_log_set_level", NOT_CALLED, NULL},
    {"mdist_log_set_sink", NOT_CALLED, NULL},
    {"mdist_operator_register", NOT_CALLED, NULL}, // takes no handle: tested by operator_test
    {"mdist_operator_unregister", NOT_CALLED, NULL},
};
const Table queries_table = {entries, sizeof entries / sizeof *entries};
