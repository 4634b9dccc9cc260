// SPDX-License-Identifier: Apache-2.0
// Every function of the library in every place it can be called from: outside of steps, in a step, in a merge, on a
// thread that runs no step, and with handles that are none. The table is held against the library's list of exports.
#include "dlpack_support.h"
#include "step_support.h"

#include <stdatomic.h>
#include <unistd.h>

static char folder[] = "/tmp/mdist-context-XXXXXX"; // holds checkpoint 1 of the variable

typedef struct World {
    mdist_strategy_t *strategy;
    mdist_replica_t *replica;
    mdist_config_t *config;
    mdist_cluster_t *cluster; // one worker, this process
    mdist_value_t *value;     // plain float32 [2]
    mdist_value_t *zero;      // the same, per replica
    mdist_variable_t *variable;
    mdist_dataset_t *dataset, *batched, *names;
    mdist_iterator_t *iterator;
    mdist_work_t *work; // done
    mdist_store_t *store;
    mdist_preemption_t *preemption;
    mdist_checkpoint_t *checkpoint; // of the variable
    float room[2][16];
} World;

typedef mdist_status_t (*Function)(World *world, mdist_error_t **error);

/// Where a function belongs.
typedef enum Place {
    ANYWHERE,
    IN_STEP,    // takes a replica
    ENTERED,    // takes one that was entered
    BRACKET,    // begins, ends or enters a run
    OUTSIDE,    // takes a strategy, or what belongs to one
    AROUND,     // another way: a destructor, a query without errors; called here for the name only
    NOT_CALLED, // changes the process
} Place;

static int32_t idle_step(mdist_replica_t *replica, void *user_data) {
    (void)replica, (void)user_data;
    return 0;
}

static int32_t idle_merge(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                          mdist_value_t **results, size_t result_count, void *user_data) {
    (void)strategy, (void)arguments, (void)argument_count, (void)results, (void)result_count, (void)user_data;
    return 0;
}

static int32_t idle_update(uint32_t local, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                           size_t argument_count, mdist_value_t **results, size_t result_count, void *user_data) {
    (void)local, (void)copy, (void)arguments, (void)argument_count, (void)results, (void)result_count, (void)user_data;
    return 0;
}

static int32_t idle_map(const mdist_tensor_t *inputs, size_t input_count, const mdist_tensor_t *outputs,
                        size_t output_count, void *user_data) {
    (void)inputs, (void)input_count, (void)outputs, (void)output_count, (void)user_data;
    return 0;
}

static mdist_buffer_t in_of(World *world) {
    return buffer_of(world->room[0], MDIST_FLOAT32, 2);
}
static mdist_buffer_t out_of(World *world, uint64_t elements) {
    return buffer_of(world->room[1], MDIST_FLOAT32, elements);
}
static mdist_tensor_t tensor_in(World *world) {
    return tensor_of(world->room[0], MDIST_FLOAT32, 2);
}

/// What a function gave in good faith is destroyed at once.
static mdist_status_t drop_value(mdist_status_t status, mdist_value_t *value) {
    mdist_value_destroy(value);
    return status;
}
static mdist_status_t drop_dataset(mdist_status_t status, mdist_dataset_t *dataset) {
    mdist_dataset_destroy(dataset);
    return status;
}

#define CALL(name) static mdist_status_t call_##name(World *w, mdist_error_t **error)

CALL(run) {
    return mdist_run(w->strategy, idle_step, NULL, NULL, 0, NULL, 0, NULL, error);
}
static int32_t idle_element(mdist_replica_t *replica, uint64_t element, void *user_data) {
    (void)replica, (void)element, (void)user_data;
    return 0;
}
CALL(map) {
    return mdist_map(w->strategy, 3, idle_element, NULL, NULL, 0, NULL, 0, NULL, error);
}
CALL(strategy_all_reduce) {
    float rows[8] = {0};
    mdist_buffer_t buffers[8];
    for (int i = 0; i < 8; ++i) buffers[i] = buffer_of(&rows[i], MDIST_FLOAT32, 1);
    return mdist_strategy_all_reduce(w->strategy, MDIST_SUM, buffers, buffers, 1, NULL, error);
}
CALL(reduce) {
    mdist_value_t *out = NULL;
    const mdist_status_t status = mdist_reduce(w->strategy, MDIST_SUM, w->zero, NULL, 0, &out, NULL, error);
    return drop_value(status, out);
}
CALL(reduce_to) {
    mdist_value_t *out = NULL;
    const mdist_status_t status = mdist_reduce_to(w->strategy, MDIST_SUM, w->zero, "cpu:0", &out, NULL, error);
    return drop_value(status, out);
}
CALL(batch_reduce_to) {
    mdist_value_t *out = NULL;
    mdist_value_t *in = w->zero;
    const mdist_status_t status = mdist_batch_reduce_to(w->strategy, MDIST_SUM, &in, NULL, 1, &out, NULL, error);
    return drop_value(status, out);
}
CALL(broadcast_to) {
    mdist_value_t *out = NULL;
    const mdist_tensor_t tensor = tensor_in(w);
    const mdist_status_t status = mdist_broadcast_to(w->strategy, &tensor, &out, error);
    return drop_value(status, out);
}
CALL(gather) {
    mdist_value_t *out = NULL;
    const mdist_status_t status = mdist_gather(w->strategy, w->zero, 0, &out, NULL, error);
    return drop_value(status, out);
}
CALL(fetch) {
    mdist_value_t *out = NULL;
    const mdist_status_t status = mdist_fetch(w->strategy, w->value, "cpu:1", NULL, NULL, &out, error);
    return drop_value(status, out);
}
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
    return mdist_update(w->variable, idle_update, NULL, NULL, 0, NULL, 0, error);
}
CALL(update_non_slot) {
    return mdist_update_non_slot(w->strategy, idle_update, NULL, NULL, 0, NULL, 0, error);
}
CALL(iterator_next) {
    mdist_value_t *out = NULL;
    const mdist_status_t status = mdist_iterator_next(w->iterator, &out, 1, error);
    return drop_value(status, out);
}

CALL(iterator_close) {
    return mdist_iterator_close(w->iterator, error);
}

CALL(replica_argument) {
    mdist_tensor_t out;
    return mdist_replica_argument(w->replica, 0, &out, error);
}
CALL(replica_argument_at) {
    mdist_tensor_t out;
    return mdist_replica_argument_at(w->replica, 0, "", &out, error);
}
CALL(replica_set_result_at) {
    const mdist_tensor_t tensor = tensor_in(w);
    return mdist_replica_set_result_at(w->replica, 0, "", &tensor, error);
}
CALL(replica_set_result) {
    const mdist_tensor_t tensor = tensor_in(w);
    return mdist_replica_set_result(w->replica, 0, &tensor, error);
}
CALL(merge_call) {
    return mdist_merge_call(w->replica, idle_merge, NULL, NULL, 0, NULL, 0, NULL, error);
}
CALL(all_reduce) {
    const mdist_buffer_t in = in_of(w), out = out_of(w, 2);
    return mdist_all_reduce(w->replica, MDIST_SUM, &in, &out, 1, NULL, error);
}
CALL(all_reduce_rows) {
    int64_t index = 0;
    const mdist_tensor_t which = tensor_of(&index, MDIST_INT64, 1), row = tensor_of(w->room[0], MDIST_FLOAT32, 1);
    mdist_value_t *out = NULL;
    const mdist_status_t status = mdist_all_reduce_rows(w->replica, MDIST_SUM, &which, &row, &out, NULL, error);
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
CALL(barrier) {
    return mdist_barrier(w->replica, NULL, error);
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

CALL(replica_assign_rows) {
    int64_t index = 1;
    const mdist_tensor_t which = tensor_of(&index, MDIST_INT64, 1), row = tensor_of(w->room[0], MDIST_FLOAT32, 1);
    return mdist_replica_assign_rows(w->replica, w->variable, MDIST_ASSIGN_MAX, &which, &row, NULL, error);
}

// Started: waited for at once, so that the step goes on as after the blocking form.
static mdist_status_t wait_for(mdist_status_t status, mdist_work_t *work) {
    int32_t done = 0;
    if (status == MDIST_OK && (mdist_work_wait(work, MDIST_FOREVER, &done, NULL) != MDIST_OK || done != 1))
        status = MDIST_ERR_INTERNAL;
    mdist_work_destroy(work);
    return status;
}
CALL(all_reduce_start) {
    const mdist_buffer_t in = in_of(w), out = out_of(w, 2);
    mdist_work_t *work = NULL;
    const mdist_status_t status = mdist_all_reduce_start(w->replica, MDIST_SUM, &in, &out, 1, &work, NULL, error);
    return wait_for(status, work);
}
CALL(broadcast_start) {
    const mdist_buffer_t in = in_of(w);
    mdist_work_t *work = NULL;
    const mdist_status_t status = mdist_broadcast_start(w->replica, 0, &in, 1, &work, NULL, error);
    return wait_for(status, work);
}
CALL(all_gather_start) {
    const mdist_buffer_t in = in_of(w), out = out_of(w, 4);
    mdist_work_t *work = NULL;
    const mdist_status_t status = mdist_all_gather_start(w->replica, &in, &out, 1, &work, NULL, error);
    return wait_for(status, work);
}
CALL(reduce_scatter_start) {
    const mdist_buffer_t in = in_of(w), out = out_of(w, 1);
    mdist_work_t *work = NULL;
    const mdist_status_t status = mdist_reduce_scatter_start(w->replica, MDIST_SUM, &in, &out, 1, &work, NULL, error);
    return wait_for(status, work);
}
CALL(all_to_all_start) {
    const mdist_buffer_t in = in_of(w), out = out_of(w, 2);
    mdist_work_t *work = NULL;
    const mdist_status_t status = mdist_all_to_all_start(w->replica, &in, &out, 1, &work, NULL, error);
    return wait_for(status, work);
}
CALL(reduce_to_root_start) {
    const mdist_buffer_t in = in_of(w), out = out_of(w, 2);
    mdist_work_t *work = NULL;
    const mdist_status_t status =
        mdist_reduce_to_root_start(w->replica, MDIST_SUM, 0, &in, &out, 1, &work, NULL, error);
    return wait_for(status, work);
}
CALL(gather_to_root_start) {
    const mdist_buffer_t in = in_of(w), out = out_of(w, 4);
    mdist_work_t *work = NULL;
    const mdist_status_t status = mdist_gather_to_root_start(w->replica, 0, &in, &out, 1, &work, NULL, error);
    return wait_for(status, work);
}
CALL(scatter_start) {
    const mdist_buffer_t in = in_of(w), out = out_of(w, 1);
    mdist_work_t *work = NULL;
    const mdist_status_t status = mdist_scatter_start(w->replica, 0, &in, &out, 1, &work, NULL, error);
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
CALL(barrier_start) {
    mdist_work_t *work = NULL;
    const mdist_status_t status = mdist_barrier_start(w->replica, &work, NULL, error);
    return wait_for(status, work);
}
CALL(merge_begin) {
    const mdist_status_t status = mdist_merge_begin(w->replica, NULL, 0, NULL, NULL, error);
    if (status == MDIST_OK && mdist_merge_end(w->replica, 0, NULL, NULL, 0, NULL) != MDIST_OK)
        return MDIST_ERR_INTERNAL;
    return status;
}
CALL(merge_end) {
    if (mdist_replica_local_index(w->replica) >= 0) mdist_merge_begin(w->replica, NULL, 0, NULL, NULL, NULL);
    return mdist_merge_end(w->replica, 0, NULL, NULL, 0, error);
}
CALL(replica_exit) {
    return mdist_replica_exit(w->replica, 0, error);
}
CALL(replica_enter) {
    mdist_replica_t *replica = NULL;
    const int open = mdist_run_begin(w->strategy, NULL, 0, 0, NULL, NULL) == MDIST_OK;
    const mdist_status_t status = mdist_replica_enter(w->strategy, 0, &replica, error);
    mdist_replica_exit(replica, 0, NULL);
    if (open) mdist_run_end(w->strategy, NULL, 0, NULL);
    return status;
}
CALL(run_begin) {
    const mdist_status_t status = mdist_run_begin(w->strategy, NULL, 0, 0, NULL, error);
    if (status == MDIST_OK) mdist_run_end(w->strategy, NULL, 0, NULL);
    return status;
}
CALL(run_end) {
    if (mdist_run_begin(w->strategy, NULL, 0, 0, NULL, NULL) == MDIST_OK) {
        mdist_replica_t *replica = NULL;
        for (uint32_t i = 0; i < 2; ++i) {
            mdist_replica_enter(w->strategy, i, &replica, NULL);
            mdist_replica_exit(replica, 0, NULL);
        }
    }
    return mdist_run_end(w->strategy, NULL, 0, error);
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
CALL(alloc) {
    void *memory = NULL;
    const mdist_status_t status = mdist_alloc(w->strategy, 0, 8, &memory, error);
    mdist_free(memory);
    return status;
}

CALL(config_create) {
    (void)w;
    mdist_config_t *out = NULL;
    const mdist_status_t status = mdist_config_create(&out, error);
    mdist_config_destroy(out);
    return status;
}
CALL(config_set) {
    return mdist_config_set(w->config, "devices", "cpu*2", error);
}
CALL(config_get) {
    char text[64];
    return mdist_config_get(w->config, "devices", text, sizeof text, NULL, error);
}
CALL(config_load_text) {
    return mdist_config_load_text(w->config, "executor: caller\n", 17, error);
}
CALL(config_load_environment) {
    return mdist_config_load_environment(w->config, error);
}
CALL(config_set_cluster) {
    return mdist_config_set_cluster(w->config, w->cluster, error);
}
static mdist_status_t drop_cluster(mdist_status_t status, mdist_cluster_t *cluster) {
    mdist_cluster_destroy(cluster);
    return status;
}
CALL(cluster_create) {
    (void)w;
    mdist_cluster_t *out = NULL;
    const mdist_status_t status = mdist_cluster_create(&out, error);
    return drop_cluster(status, out);
}
CALL(cluster_from_config) {
    mdist_cluster_t *out = NULL;
    const mdist_status_t status = mdist_cluster_from_config(w->config, &out, error);
    return drop_cluster(status, out);
}
CALL(cluster_from_tf_config) {
    (void)w;
    mdist_cluster_t *out = NULL;
    const mdist_status_t status = mdist_cluster_from_tf_config("{}", 2, &out, error);
    return drop_cluster(status, out);
}
CALL(cluster_union) {
    mdist_cluster_t *out = NULL;
    const mdist_cluster_t *const one[] = {w->cluster};
    const mdist_status_t status = mdist_cluster_union(one, 1, &out, error);
    return drop_cluster(status, out);
}
CALL(cluster_add_task) {
    static uint32_t index = 0;
    return mdist_cluster_add_task(w->cluster, MDIST_TASK_PS, index++, "h:1", error);
}
CALL(cluster_set_task) {
    return mdist_cluster_set_task(w->cluster, MDIST_TASK_WORKER, 0, error);
}
CALL(cluster_task_count) {
    uint32_t count = 0;
    return mdist_cluster_task_count(w->cluster, MDIST_TASK_WORKER, &count, error);
}
CALL(cluster_address) {
    char text[32];
    return mdist_cluster_address(w->cluster, MDIST_TASK_WORKER, 0, text, sizeof text, NULL, error);
}
CALL(cluster_task) {
    mdist_task_type_t type = MDIST_TASK_NONE;
    uint32_t index = 0;
    return mdist_cluster_task(w->cluster, &type, &index, error);
}
CALL(cluster_is_chief) {
    int32_t is_chief = 0;
    return mdist_cluster_is_chief(w->cluster, MDIST_TASK_WORKER, 0, &is_chief, error);
}
CALL(cluster_worker_count) {
    uint32_t count = 0;
    return mdist_cluster_worker_count(w->cluster, MDIST_TASK_WORKER, &count, error);
}
CALL(cluster_worker_id) {
    uint32_t id = 0;
    return mdist_cluster_worker_id(w->cluster, MDIST_TASK_WORKER, 0, &id, error);
}
CALL(cluster_leader) {
    mdist_task_type_t type = MDIST_TASK_NONE;
    uint32_t index = 0;
    return mdist_cluster_leader(w->cluster, &type, &index, error);
}
CALL(cluster_master) {
    char text[32];
    return mdist_cluster_master(w->cluster, MDIST_TASK_WORKER, 0, text, sizeof text, NULL, error);
}
CALL(cluster_explain) {
    char text[32];
    return mdist_cluster_explain(w->cluster, text, sizeof text, NULL, error);
}
CALL(strategy_create) {
    mdist_strategy_t *out = NULL;
    const mdist_status_t status = mdist_strategy_create(w->config, &out, error);
    mdist_strategy_destroy(out);
    return status;
}
CALL(strategy_device) {
    char text[16];
    return mdist_strategy_device(w->strategy, 0, text, sizeof text, NULL, error);
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
CALL(value_rows) {
    int64_t indices[2] = {0, 1};
    const mdist_tensor_t tensor = tensor_of(indices, MDIST_INT64, 2);
    mdist_value_t *which = NULL, *out = NULL;
    mdist_value_create(&tensor, &which, NULL);
    const mdist_status_t status = mdist_value_rows(which, w->value, &out, error);
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
CALL(variable_tensor) {
    mdist_tensor_t out;
    return mdist_variable_tensor(w->variable, 0, &out, error);
}
CALL(variable_of) {
    mdist_variable_t *out = NULL;
    mdist_buffer_t arena = {NULL, 0, 0, 0};
    mdist_variable_arena(w->strategy, MDIST_FLOAT32, 0, &arena, NULL);
    const mdist_status_t status = mdist_variable_of(w->strategy, arena.data, &out, NULL, error);
    mdist_variable_destroy(out);
    return status;
}
CALL(variable_arena) {
    mdist_buffer_t out;
    return mdist_variable_arena(w->strategy, MDIST_FLOAT32, 0, &out, error);
}
static mdist_status_t take_theirs(DlLayout layout, World *w, mdist_error_t **error) {
    static Theirs theirs; // deleted with the value, at once
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
    return take_theirs(LEGACY, w, error);
}
CALL(value_from_dlpack_versioned) {
    return take_theirs(VERSIONED, w, error);
}
CALL(value_to_dlpack) {
    return give_ours(LEGACY, w, error);
}
CALL(value_to_dlpack_versioned) {
    return give_ours(VERSIONED, w, error);
}
CALL(dataset_from_tensors) {
    mdist_dataset_t *out = NULL;
    const mdist_tensor_t tensor = tensor_in(w);
    const mdist_status_t status = mdist_dataset_from_tensors(&tensor, 1, NULL, NULL, &out, error);
    return drop_dataset(status, out);
}
CALL(dataset_shard) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_shard(w->dataset, 2, 1, &out, error);
    return drop_dataset(status, out);
}
CALL(dataset_shuffle) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_shuffle(w->dataset, 2, 1, 0, &out, error);
    return drop_dataset(status, out);
}
CALL(dataset_repeat) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_repeat(w->dataset, 2, &out, error);
    return drop_dataset(status, out);
}
CALL(dataset_map) {
    mdist_dataset_t *out = NULL;
    const mdist_tensor_t tensor = tensor_of(NULL, MDIST_FLOAT32, 0);
    const mdist_status_t status = mdist_dataset_map(w->dataset, idle_map, NULL, NULL, &tensor, 1, &out, error);
    return drop_dataset(status, out);
}
CALL(dataset_batch) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_batch(w->dataset, 2, 0, &out, error);
    return drop_dataset(status, out);
}
CALL(dataset_prefetch) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_prefetch(w->dataset, 2, &out, error);
    return drop_dataset(status, out);
}
CALL(dataset_range) {
    (void)w;
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_range(0, 5, 1, &out, error);
    return drop_dataset(status, out);
}
static int32_t idle_generator(uint64_t index, const mdist_tensor_t *outputs, size_t count, void **state, void *data) {
    (void)index, (void)outputs, (void)count, (void)state, (void)data;
    return MDIST_END;
}
CALL(dataset_from_generator) {
    (void)w;
    mdist_dataset_t *out = NULL;
    const mdist_tensor_t tensor = tensor_of(NULL, MDIST_FLOAT32, 0);
    const mdist_status_t status =
        mdist_dataset_from_generator(idle_generator, NULL, NULL, NULL, &tensor, 1, 0, &out, error);
    return drop_dataset(status, out);
}
CALL(dataset_files) {
    (void)w;
    mdist_dataset_t *out = NULL;
    const char *path = folder;
    const mdist_status_t status = mdist_dataset_files(&path, 1, &out, error);
    return drop_dataset(status, out);
}
CALL(dataset_match_files) {
    (void)w;
    mdist_dataset_t *out = NULL;
    const char *pattern = folder;
    const mdist_status_t status = mdist_dataset_match_files(&pattern, 1, &out, error);
    return drop_dataset(status, out);
}
CALL(dataset_text_lines) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_text_lines(w->names, NULL, &out, error);
    return drop_dataset(status, out);
}
CALL(dataset_fixed_records) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_fixed_records(w->names, 4, 0, 0, NULL, &out, error);
    return drop_dataset(status, out);
}
CALL(dataset_tfrecords) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_tfrecords(w->names, NULL, &out, error);
    return drop_dataset(status, out);
}
static int32_t idle_filter(const mdist_tensor_t *inputs, size_t input_count, int32_t *keep, void *user_data) {
    (void)inputs, (void)input_count, (void)keep, (void)user_data;
    return 0;
}
CALL(dataset_filter) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_filter(w->dataset, idle_filter, NULL, NULL, &out, error);
    return drop_dataset(status, out);
}
CALL(dataset_take) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_take(w->dataset, 2, &out, error);
    return drop_dataset(status, out);
}
CALL(dataset_skip) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_skip(w->dataset, 2, &out, error);
    return drop_dataset(status, out);
}
CALL(dataset_concatenate) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_concatenate(w->dataset, w->dataset, &out, error);
    return drop_dataset(status, out);
}
CALL(dataset_zip) {
    mdist_dataset_t *out = NULL;
    const mdist_dataset_t *sources[] = {w->dataset, w->dataset};
    const mdist_status_t status = mdist_dataset_zip(sources, 2, &out, error);
    return drop_dataset(status, out);
}
CALL(dataset_cache) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_cache(w->dataset, &out, error);
    return drop_dataset(status, out);
}
CALL(dataset_padded_batch) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_padded_batch(w->dataset, 2, 0, NULL, 0, &out, error);
    return drop_dataset(status, out);
}
CALL(dataset_unbatch) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_unbatch(w->batched, &out, error);
    return drop_dataset(status, out);
}
CALL(dataset_rebatch) {
    mdist_dataset_t *out = NULL;
    const uint64_t size = 2;
    const mdist_status_t status = mdist_dataset_rebatch(w->batched, &size, 1, 0, &out, error);
    return drop_dataset(status, out);
}
CALL(dataset_map_parallel) {
    mdist_dataset_t *out = NULL;
    const mdist_tensor_t tensor = tensor_of(NULL, MDIST_FLOAT32, 0);
    const mdist_status_t status =
        mdist_dataset_map_parallel(w->dataset, idle_map, NULL, NULL, &tensor, 1, 2, 1, &out, error);
    return drop_dataset(status, out);
}
CALL(iterator_skipped) {
    uint64_t count = 0;
    return mdist_iterator_skipped(w->iterator, &count, error);
}
CALL(distribute_dataset) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_distribute_dataset(w->strategy, w->batched, &out, NULL, error);
    return drop_dataset(status, out);
}
CALL(iterators_settle) {
    (void)w;
    int32_t done = 0;
    return mdist_iterators_settle(0, &done, error);
}
CALL(iterator_create) {
    mdist_iterator_t *out = NULL;
    const mdist_status_t status = mdist_iterator_create(w->dataset, &out, error);
    mdist_iterator_destroy(out);
    return status;
}

CALL(current_strategy) {
    (void)w;
    mdist_strategy_t *out = NULL;
    return mdist_current_strategy(&out, error);
}
CALL(current_replica) {
    (void)w;
    mdist_replica_t *out = NULL;
    return mdist_current_replica(&out, error);
}

CALL(strategy_check_health) {
    return mdist_strategy_check_health(w->strategy, error);
}
CALL(preemption_create) {
    mdist_preemption_t *out = NULL;
    const mdist_status_t status = mdist_preemption_create(w->strategy, &out, NULL, error);
    mdist_preemption_destroy(out);
    return status;
}
CALL(preemption_check) {
    int32_t verdict = -1;
    return mdist_preemption_check(w->preemption, &verdict, NULL, NULL, error);
}

CALL(store_create) {
    (void)w;
    mdist_store_t *out = NULL;
    const mdist_status_t status = mdist_store_create("127.0.0.1:0", 2, NULL, 0, NULL, &out, error);
    mdist_store_destroy(out);
    return status;
}
CALL(store_address) {
    char text[64];
    return mdist_store_address(w->store, text, sizeof text, NULL, error);
}
CALL(store_restart) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // both replicas call it, and the number must go up
    static uint32_t restart = 0;
    pthread_mutex_lock(&lock);
    const mdist_status_t status = mdist_store_restart(w->store, 2, ++restart, error);
    pthread_mutex_unlock(&lock);
    return status;
}
CALL(store_progress) {
    uint32_t joined = 7;
    const mdist_status_t status = mdist_store_progress(w->store, &joined, NULL, 0, NULL, error);
    return status == MDIST_OK && joined != 0 ? MDIST_ERR_INTERNAL : status;
}

CALL(checkpoint_create) {
    mdist_checkpoint_t *out = NULL;
    const mdist_status_t status = mdist_checkpoint_create(w->strategy, folder, 0, &out, error);
    mdist_checkpoint_destroy(out);
    return status;
}
CALL(checkpoint_add) {
    mdist_checkpoint_t *out = NULL;
    mdist_checkpoint_create(w->strategy, folder, 0, &out, NULL); // none where that is not allowed either
    const mdist_status_t status = mdist_checkpoint_add(out == NULL ? w->checkpoint : out, NULL, w->variable, error);
    mdist_checkpoint_destroy(out);
    return status;
}
CALL(checkpoint_set_text) {
    return mdist_checkpoint_set_text(w->checkpoint, "key", "text", error);
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
    return mdist_checkpoint_latest(folder, &number, error);
}

/// Queries and destructors: no error, no place where they would be wrong.
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
    mdist_store_destroy(NULL);
    mdist_preemption_announce(NULL);
    mdist_preemption_destroy(NULL);
    mdist_checkpoint_destroy(NULL);
    mdist_free(NULL);
    mdist_error_free(NULL);
    const int good = mdist_version() == MDIST_VERSION && mdist_has("no such thing") == 0 &&
                     mdist_dtype_size(MDIST_FLOAT64) == 8 && strcmp(mdist_dtype_name(MDIST_INT8), "int8") == 0 &&
                     mdist_strategy_replica_count(w->strategy) == 2 &&
                     mdist_strategy_local_replica_count(w->strategy) == 2 &&
                     mdist_strategy_worker_count(w->strategy) == 1 && mdist_strategy_worker(w->strategy) == 0 &&
                     mdist_strategy_is_chief(w->strategy) == 1 && mdist_error_worker(NULL) == -1 &&
                     mdist_value_kind(w->value) == MDIST_VALUE_PLAIN && mdist_value_count(w->zero) == 2 &&
                     mdist_value_leaf_count(w->value) == 1 && mdist_value_leaf_path(w->value, 0)[0] == '\0' &&
                     strcmp(mdist_variable_name(w->variable), "v") == 0 && mdist_tensor_elements(&tensor) == 2 &&
                     mdist_dataset_component_count(w->dataset) == 1 && mdist_error_status(NULL) == MDIST_OK &&
                     mdist_error_message(NULL)[0] == '\0' && mdist_error_reason(NULL)[0] == '\0' &&
                     mdist_error_operation(NULL)[0] == '\0' && mdist_error_replica(NULL) == -1 &&
                     mdist_error_native(NULL) == 0 && strcmp(mdist_status_name(MDIST_END), "MDIST_END") == 0;
    return good ? MDIST_OK : MDIST_ERR_INTERNAL;
}

typedef struct Entry {
    const char *name;
    Place place;
    Function call;
} Entry;

#define ENTRY(name, place) \
    { "mdist_" #name, place, call_##name }
#define QUERY(name) \
    { "mdist_" #name, AROUND, call_queries }

static const Entry table[] = {
    ENTRY(run, OUTSIDE),
    ENTRY(map, OUTSIDE),
    ENTRY(strategy_all_reduce, OUTSIDE),
    ENTRY(reduce, OUTSIDE),
    ENTRY(reduce_to, OUTSIDE),
    ENTRY(batch_reduce_to, OUTSIDE),
    ENTRY(broadcast_to, OUTSIDE),
    ENTRY(gather, OUTSIDE),
    ENTRY(fetch, OUTSIDE),
    ENTRY(variable_create, OUTSIDE),
    ENTRY(variable_assign, OUTSIDE),
    ENTRY(variable_read, OUTSIDE),
    ENTRY(update, OUTSIDE),
    ENTRY(update_non_slot, OUTSIDE),
    ENTRY(iterator_next, OUTSIDE),
    ENTRY(replica_argument, IN_STEP),
    ENTRY(replica_argument_at, IN_STEP),
    ENTRY(replica_set_result, IN_STEP),
    ENTRY(replica_set_result_at, IN_STEP),
    ENTRY(merge_call, IN_STEP),
    ENTRY(all_reduce, IN_STEP),
    ENTRY(all_reduce_rows, IN_STEP),
    ENTRY(broadcast, IN_STEP),
    ENTRY(all_gather, IN_STEP),
    ENTRY(reduce_scatter, IN_STEP),
    ENTRY(all_to_all, IN_STEP),
    ENTRY(barrier, IN_STEP),
    ENTRY(average_loss, IN_STEP),
    ENTRY(scale_regularization, IN_STEP),
    ENTRY(replica_variable_create, IN_STEP),
    ENTRY(replica_assign, IN_STEP),
    ENTRY(replica_assign_rows, IN_STEP),
    ENTRY(all_reduce_start, IN_STEP),
    ENTRY(broadcast_start, IN_STEP),
    ENTRY(all_gather_start, IN_STEP),
    ENTRY(reduce_scatter_start, IN_STEP),
    ENTRY(all_to_all_start, IN_STEP),
    ENTRY(barrier_start, IN_STEP),
    ENTRY(reduce_to_root, IN_STEP),
    ENTRY(gather_to_root, IN_STEP),
    ENTRY(scatter, IN_STEP),
    ENTRY(reduce_to_root_start, IN_STEP),
    ENTRY(gather_to_root_start, IN_STEP),
    ENTRY(scatter_start, IN_STEP),
    ENTRY(merge_begin, ENTERED),
    ENTRY(merge_end, ENTERED),
    ENTRY(replica_exit, ENTERED),
    ENTRY(run_begin, BRACKET),
    ENTRY(run_end, BRACKET),
    ENTRY(replica_enter, BRACKET),
    ENTRY(work_test, ANYWHERE),
    ENTRY(work_wait, ANYWHERE),
    ENTRY(work_descriptor, ANYWHERE),
    ENTRY(alloc, ANYWHERE),
    ENTRY(value_from_dlpack, ANYWHERE),
    ENTRY(value_from_dlpack_versioned, ANYWHERE),
    ENTRY(value_to_dlpack, ANYWHERE),
    ENTRY(value_to_dlpack_versioned, ANYWHERE),
    ENTRY(config_create, ANYWHERE),
    ENTRY(config_set, ANYWHERE),
    ENTRY(config_get, ANYWHERE),
    ENTRY(config_load_text, ANYWHERE),
    ENTRY(config_load_environment, ANYWHERE),
    ENTRY(config_set_cluster, ANYWHERE),
    ENTRY(cluster_create, ANYWHERE),
    ENTRY(cluster_from_config, ANYWHERE),
    ENTRY(checkpoint_create, OUTSIDE),
    ENTRY(checkpoint_add, OUTSIDE),
    ENTRY(checkpoint_set_text, OUTSIDE),
    ENTRY(checkpoint_text, OUTSIDE),
    ENTRY(checkpoint_save, OUTSIDE),
    ENTRY(checkpoint_restore, OUTSIDE),
    ENTRY(checkpoint_latest, ANYWHERE),
    ENTRY(cluster_from_tf_config, ANYWHERE),
    ENTRY(cluster_union, ANYWHERE),
    ENTRY(cluster_add_task, ANYWHERE),
    ENTRY(cluster_set_task, ANYWHERE),
    ENTRY(cluster_task_count, ANYWHERE),
    ENTRY(cluster_address, ANYWHERE),
    ENTRY(cluster_task, ANYWHERE),
    ENTRY(cluster_is_chief, ANYWHERE),
    ENTRY(cluster_worker_count, ANYWHERE),
    ENTRY(cluster_worker_id, ANYWHERE),
    ENTRY(cluster_leader, ANYWHERE),
    ENTRY(cluster_master, ANYWHERE),
    ENTRY(cluster_explain, ANYWHERE),
    ENTRY(strategy_create, ANYWHERE),
    ENTRY(strategy_check_health, ANYWHERE),
    ENTRY(preemption_create, ANYWHERE),
    ENTRY(preemption_check, OUTSIDE),
    ENTRY(current_strategy, ANYWHERE),
    ENTRY(current_replica, ANYWHERE),
    ENTRY(strategy_device, ANYWHERE),
    ENTRY(tensor_describe, ANYWHERE),
    ENTRY(value_create, ANYWHERE),
    ENTRY(value_wrap, ANYWHERE),
    ENTRY(value_per_replica, ANYWHERE),
    ENTRY(value_tensor, ANYWHERE),
    ENTRY(value_structure, ANYWHERE),
    ENTRY(value_at, ANYWHERE),
    ENTRY(values_from_function, OUTSIDE),
    ENTRY(value_rows, ANYWHERE),
    ENTRY(value_indices, ANYWHERE),
    ENTRY(variable_tensor, ANYWHERE),
    ENTRY(variable_arena, ANYWHERE),
    ENTRY(variable_of, ANYWHERE),
    ENTRY(dataset_from_tensors, ANYWHERE),
    ENTRY(dataset_shard, ANYWHERE),
    ENTRY(dataset_shuffle, ANYWHERE),
    ENTRY(dataset_repeat, ANYWHERE),
    ENTRY(dataset_map, ANYWHERE),
    ENTRY(dataset_batch, ANYWHERE),
    ENTRY(dataset_prefetch, ANYWHERE),
    ENTRY(dataset_range, ANYWHERE),
    ENTRY(dataset_from_generator, ANYWHERE),
    ENTRY(dataset_files, ANYWHERE),
    ENTRY(dataset_match_files, ANYWHERE),
    ENTRY(dataset_text_lines, ANYWHERE),
    ENTRY(dataset_fixed_records, ANYWHERE),
    ENTRY(dataset_tfrecords, ANYWHERE),
    ENTRY(dataset_filter, ANYWHERE),
    ENTRY(dataset_take, ANYWHERE),
    ENTRY(dataset_skip, ANYWHERE),
    ENTRY(dataset_concatenate, ANYWHERE),
    ENTRY(dataset_zip, ANYWHERE),
    ENTRY(dataset_cache, ANYWHERE),
    ENTRY(dataset_padded_batch, ANYWHERE),
    ENTRY(dataset_unbatch, ANYWHERE),
    ENTRY(dataset_rebatch, ANYWHERE),
    ENTRY(dataset_map_parallel, ANYWHERE),
    ENTRY(iterator_skipped, ANYWHERE),
    ENTRY(distribute_dataset, ANYWHERE),
    ENTRY(iterators_settle, ANYWHERE),
    ENTRY(iterator_create, ANYWHERE),
    ENTRY(iterator_close, ANYWHERE),
    ENTRY(store_create, ANYWHERE),
    ENTRY(store_address, ANYWHERE),
    ENTRY(store_restart, ANYWHERE),
    ENTRY(store_progress, ANYWHERE),
    QUERY(version),
    QUERY(has),
    QUERY(dtype_size),
    QUERY(dtype_name),
    QUERY(status_name),
    QUERY(strategy_replica_count),
    QUERY(strategy_local_replica_count),
    QUERY(strategy_worker_count),
    QUERY(strategy_worker),
    QUERY(strategy_is_chief),
    QUERY(value_kind),
    QUERY(value_count),
    QUERY(value_leaf_count),
    QUERY(value_leaf_path),
    QUERY(variable_name),
    QUERY(tensor_elements),
    QUERY(dataset_component_count),
    QUERY(error_status),
    QUERY(error_message),
    QUERY(error_reason),
    QUERY(error_operation),
    QUERY(error_replica),
    QUERY(error_worker),
    QUERY(error_native),
    QUERY(error_free),
    QUERY(config_destroy),
    QUERY(cluster_destroy),
    QUERY(strategy_destroy),
    QUERY(strategy_abort),
    QUERY(value_destroy),
    QUERY(variable_destroy),
    QUERY(dataset_destroy),
    QUERY(store_destroy),
    QUERY(preemption_announce),
    QUERY(preemption_destroy),
    QUERY(checkpoint_destroy),
    QUERY(iterator_destroy),
    QUERY(work_destroy),
    QUERY(free),
    {"mdist_replica_id", NOT_CALLED, NULL},
    {"mdist_replica_local_index", NOT_CALLED, NULL},
    {"mdist_replica_count", NOT_CALLED, NULL},
    {"mdist_config_load", NOT_CALLED, NULL},
    {"mdist_cluster_from_slurm", NOT_CALLED, NULL}, // needs the variables of a step
    {"mdist_scope_enter", NOT_CALLED, NULL},        // scope_test
    {"mdist_scope_exit", NOT_CALLED, NULL},
    {"mdist_set_default_strategy", NOT_CALLED, NULL},
    {"mdist_log_set_level", NOT_CALLED, NULL},
    {"mdist_log_set_sink", NOT_CALLED, NULL},
};
enum { ENTRIES = sizeof table / sizeof *table };

static void the_table_knows_every_function(void **state) {
    (void)state;
    FILE *map = fopen(MDIST_TEST_MAP, "r");
    assert_non_null(map);
    char line[256], name[128];
    int found = 0;
    while (fgets(line, sizeof line, map) != NULL) {
        if (sscanf(line, " %127[a-z_];", name) != 1 || strncmp(name, "mdist_", 6) != 0) continue;
        ++found;
        int known = 0;
        for (int i = 0; i < ENTRIES; ++i) known |= strcmp(table[i].name, name) == 0;
        if (!known) fail_msg("%s stands in no line of this test's table", name);
    }
    fclose(map);
    assert_int_equal(found, ENTRIES);
}

/// What a replica function of the entry's kind is given where no replica belongs.
static int takes_replica(const Entry *entry) {
    return entry->place == IN_STEP || entry->place == ENTERED;
}

/// Of cross-replica context, but whatever the strategy is busy with.
static int is_free(const Entry *entry) {
    return strcmp(entry->name, "mdist_iterator_next") == 0 || strcmp(entry->name, "mdist_values_from_function") == 0;
}

/// Where a run is under way on this very thread: only mdist_run_begin looks at that, the others see that no run is
/// open.
static mdist_status_t wanted_of_bracket(const Entry *entry) {
    return strcmp(entry->name, "mdist_run_begin") == 0 ? MDIST_ERR_WRONG_CONTEXT : MDIST_ERR_FAILED_PRECONDITION;
}

static mdist_work_t *done_work(mdist_strategy_t *strategy) {
    mdist_error_t *error = NULL;
    mdist_work_t *work = NULL;
    int32_t done = 0;
    Entered run;
    begin_and_enter(&run, strategy);
    OK(mdist_barrier_start(run.replicas[0], &work, NULL, &error));
    OK(mdist_barrier(run.replicas[1], NULL, &error));
    OK(mdist_work_test(work, &done, &error));
    exit_all(&run);
    end_with(strategy, MDIST_OK, "");
    return work;
}

static World make_world(void) {
    World world = {.strategy = make_strategy(2, NULL)};
    mdist_error_t *error = NULL;
    const mdist_tensor_t two = tensor_in(&world), twice[2] = {two, two};
    OK(mdist_config_create(&world.config, &error));
    OK(mdist_cluster_create(&world.cluster, &error));
    OK(mdist_cluster_add_task(world.cluster, MDIST_TASK_WORKER, 0, "a:1", &error));
    OK(mdist_cluster_set_task(world.cluster, MDIST_TASK_WORKER, 0, &error));
    OK(mdist_value_create(&two, &world.value, &error));
    OK(mdist_value_per_replica(world.strategy, twice, 2, &world.zero, &error));
    OK(mdist_variable_create(world.strategy, "v", &two, &world.variable, NULL, &error));
    static float rows[64]; // the dataset keeps the array
    const mdist_tensor_t array = tensor_of(rows, MDIST_FLOAT32, 64);
    OK(mdist_dataset_from_tensors(&array, 1, NULL, NULL, &world.dataset, &error));
    OK(mdist_dataset_batch(world.dataset, 2, 0, &world.batched, &error));
    const char *name = folder;
    OK(mdist_dataset_files(&name, 1, &world.names, &error));
    OK(mdist_iterator_create(world.dataset, &world.iterator, &error));
    world.work = done_work(world.strategy);
    OK(mdist_store_create("127.0.0.1:0", 2, "job", 0, NULL, &world.store, &error));
    OK(mdist_preemption_create(world.strategy, &world.preemption, NULL, &error));
    OK(mdist_checkpoint_create(world.strategy, folder, 0, &world.checkpoint, &error));
    OK(mdist_checkpoint_add(world.checkpoint, NULL, world.variable, &error));
    OK(mdist_checkpoint_set_text(world.checkpoint, "kept", "1", &error));
    return world;
}

static void end_world(World *world) {
    mdist_config_destroy(world->config);
    mdist_cluster_destroy(world->cluster);
    mdist_value_destroy(world->value);
    mdist_value_destroy(world->zero);
    mdist_variable_destroy(world->variable);
    mdist_dataset_destroy(world->dataset);
    mdist_dataset_destroy(world->batched);
    mdist_dataset_destroy(world->names);
    mdist_iterator_destroy(world->iterator);
    mdist_work_destroy(world->work);
    mdist_store_destroy(world->store);
    mdist_preemption_destroy(world->preemption);
    mdist_checkpoint_destroy(world->checkpoint);
    mdist_strategy_destroy(world->strategy);
}

// ---- One run per function and place; notes by replica.

typedef struct Trial {
    World world;
    const Entry *entry;
    Note notes[2];
    mdist_replica_t *handles[2];
} Trial;

/// Calls the entry's function as replica `id` and notes it if it does not give `wanted`.
static void try_it(Trial *self, int32_t id, mdist_replica_t *replica, mdist_status_t wanted, const char *operation) {
    World world = self->world;
    world.replica = replica;
    mdist_error_t *error = NULL;
    const mdist_status_t status = self->entry->call(&world, &error);
    const int misnamed = wanted < 0 && status == wanted && strcmp(mdist_error_operation(error), operation) != 0;
    if (misnamed && self->notes[id].text[0] == '\0')
        snprintf(self->notes[id].text, sizeof self->notes[id].text, "operation %s", mdist_error_operation(error));
    note(&self->notes[id], wanted, status, &error, self->entry->name);
}

static int32_t call_in_step(mdist_replica_t *replica, void *user_data) {
    Trial *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    // Configs and iterators are for one thread at a time.
    if (self->entry->place != IN_STEP && id == 1) return 0;
    const Place place = self->entry->place;
    const mdist_status_t wanted = place == OUTSIDE || place == ENTERED ? MDIST_ERR_WRONG_CONTEXT
                                  : place == BRACKET                   ? wanted_of_bracket(self->entry)
                                                                       : MDIST_OK;
    try_it(self, id, replica, wanted, self->entry->name);
    return 0;
}

static void assert_no_notes(const Trial *self) {
    for (int i = 0; i < 2; ++i)
        if (self->notes[i].text[0] != '\0') fail_msg("%s, replica %d: %s", self->entry->name, i, self->notes[i].text);
}

static void in_a_step_only_the_functions_of_a_step_work(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (int i = 0; i < ENTRIES; ++i) {
        if (table[i].place == NOT_CALLED) continue;
        Trial trial = {.world = make_world(), .entry = &table[i]};
        mdist_value_t *result = NULL;
        // One that is refused is refused to everybody, so the run itself goes well.
        const mdist_status_t set = strncmp(table[i].name, "mdist_replica_set_result", 24) == 0;
        OK(mdist_run(trial.world.strategy, call_in_step, &trial, &trial.world.value, 1, &result, set ? 1 : 0, NULL,
                     &error));
        assert_no_notes(&trial);
        mdist_value_destroy(result);
        end_world(&trial.world);
    }
}

static void outside_of_steps_only_the_others_work(void **state) {
    (void)state;
    for (int i = 0; i < ENTRIES; ++i) {
        if (table[i].place == NOT_CALLED) continue;
        Trial trial = {.world = make_world(), .entry = &table[i]};
        const int in_step = takes_replica(&table[i]);
        try_it(&trial, 0, NULL, in_step ? MDIST_ERR_BAD_HANDLE : MDIST_OK, table[i].name);
        if (in_step) try_it(&trial, 0, (mdist_replica_t *)trial.world.strategy, MDIST_ERR_BAD_HANDLE, table[i].name);
        assert_no_notes(&trial);
        end_world(&trial.world);
    }
}

static int32_t keep_handle(mdist_replica_t *replica, void *user_data) {
    Trial *self = user_data;
    self->handles[mdist_replica_id(replica)] = replica;
    return 0;
}

static void a_replica_dies_with_its_step(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (int i = 0; i < ENTRIES; ++i) {
        if (!takes_replica(&table[i])) continue;
        Trial trial = {.world = make_world(), .entry = &table[i]};
        for (int again = 0; again < 2; ++again) {
            OK(mdist_run(trial.world.strategy, keep_handle, &trial, NULL, 0, NULL, 0, NULL, &error));
            for (int id = 0; id < 2; ++id) {
                try_it(&trial, id, trial.handles[id], MDIST_ERR_BAD_HANDLE, table[i].name);
                assert_int_equal(mdist_replica_id(trial.handles[id]), -1);
                assert_int_equal(mdist_replica_local_index(trial.handles[id]), -1);
                assert_int_equal(mdist_replica_count(trial.handles[id]), 0);
            }
        }
        assert_no_notes(&trial);
        end_world(&trial.world);
    }
}

// ---- In a merge, and in a step inside of it.

static int32_t use_outer_handles(mdist_replica_t *replica, void *user_data) {
    Trial *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    try_it(self, id, self->handles[id], MDIST_ERR_WRONG_CONTEXT, self->entry->name);
    return 0;
}

static int32_t call_in_merge(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                             mdist_value_t **results, size_t result_count, void *user_data) {
    Trial *self = user_data;
    (void)arguments, (void)argument_count, (void)results, (void)result_count;
    const int in_step = takes_replica(self->entry);
    const mdist_status_t wanted = in_step                         ? MDIST_ERR_WRONG_CONTEXT
                                  : self->entry->place == BRACKET ? wanted_of_bracket(self->entry)
                                                                  : MDIST_OK;
    try_it(self, 0, self->handles[0], wanted, self->entry->name);
    if (!in_step) return 0;
    try_it(self, 0, self->handles[1], wanted, self->entry->name); // another replica's
    return mdist_run(strategy, use_outer_handles, self, NULL, 0, NULL, 0, NULL, NULL) == MDIST_OK ? 0 : 1;
}

static int32_t merge_and_call(mdist_replica_t *replica, void *user_data) {
    Trial *self = user_data;
    self->handles[mdist_replica_id(replica)] = replica;
    if (mdist_merge_call(replica, call_in_merge, self, NULL, 0, NULL, 0, NULL, NULL) != MDIST_OK) return 1;
    return mdist_barrier(replica, NULL, NULL);
}

static void in_a_merge_the_functions_outside_of_steps_work(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (int i = 0; i < ENTRIES; ++i) {
        if (table[i].place == NOT_CALLED) continue;
        Trial trial = {.world = make_world(), .entry = &table[i]};
        OK(mdist_run(trial.world.strategy, merge_and_call, &trial, NULL, 0, NULL, 0, NULL, &error));
        assert_no_notes(&trial);
        end_world(&trial.world);
    }
}

// ---- Another thread than the step's.

typedef struct Foreign {
    Trial *trial;
    int32_t id;
    mdist_replica_t *replica;
} Foreign;

static void *call_on_thread(void *argument) {
    Foreign *self = argument;
    const mdist_status_t wanted =
        takes_replica(self->trial->entry) ? MDIST_ERR_WRONG_CONTEXT : MDIST_ERR_FAILED_PRECONDITION;
    try_it(self->trial, self->id, self->replica, wanted, self->trial->entry->name);
    return NULL;
}

static int32_t call_elsewhere(mdist_replica_t *replica, void *user_data) {
    Foreign foreign = {user_data, mdist_replica_id(replica), replica};
    pthread_t thread;
    if (pthread_create(&thread, NULL, call_on_thread, &foreign) != 0) return 1;
    pthread_join(thread, NULL);
    return mdist_barrier(replica, NULL, NULL);
}

static void a_step_belongs_to_its_thread(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (int i = 0; i < ENTRIES; ++i) {
        // An iterator belongs to no strategy, so that another thread may well use it.
        if (!takes_replica(&table[i]) && table[i].place != OUTSIDE && table[i].place != BRACKET) continue;
        if (is_free(&table[i])) continue;
        Trial trial = {.world = make_world(), .entry = &table[i]};
        OK(mdist_run(trial.world.strategy, call_elsewhere, &trial, NULL, 0, NULL, 0, NULL, &error));
        assert_no_notes(&trial);
        end_world(&trial.world);
    }
}

// ---- Replicas that were entered.

/// No thread knows that it is in a step, so what takes a strategy finds it busy; an iterator belongs to none.
static int32_t call_entered(mdist_replica_t *replica, void *user_data) {
    Trial *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    const Place place = self->entry->place;
    if (!takes_replica(self->entry) && id == 1) return 0;
    const int busy = (place == OUTSIDE && !is_free(self->entry)) || place == BRACKET;
    try_it(self, id, replica, busy ? MDIST_ERR_FAILED_PRECONDITION : MDIST_OK, self->entry->name);
    return 0;
}

static void entered_replicas_take_the_functions_of_a_step(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (int i = 0; i < ENTRIES; ++i) {
        if (table[i].place == NOT_CALLED) continue;
        Trial trial = {.world = make_world(), .entry = &table[i]};
        mdist_value_t *result = NULL;
        const size_t set = strncmp(table[i].name, "mdist_replica_set_result", 24) == 0;
        OK(run_own(trial.world.strategy, call_entered, &trial, &trial.world.value, 1, &result, set, NULL, &error));
        assert_no_notes(&trial);
        mdist_value_destroy(result);
        end_world(&trial.world);
    }
}

static int32_t call_in_open_merge(mdist_replica_t *replica, void *user_data) {
    Trial *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    if (mdist_merge_begin(replica, NULL, 0, NULL, NULL, NULL) != MDIST_OK) return 1;
    const int in_step = self->entry->place == IN_STEP;
    if (id == 0 || in_step) try_it(self, id, replica, in_step ? MDIST_ERR_WRONG_CONTEXT : MDIST_OK, self->entry->name);
    return mdist_merge_end(replica, 0, NULL, NULL, 0, NULL);
}

static void in_their_merges_the_functions_outside_of_steps_work(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (int i = 0; i < ENTRIES; ++i) {
        if (table[i].place == NOT_CALLED || table[i].place == ENTERED) continue;
        Trial trial = {.world = make_world(), .entry = &table[i]};
        OK(run_own(trial.world.strategy, call_in_open_merge, &trial, NULL, 0, NULL, 0, NULL, &error));
        assert_no_notes(&trial);
        end_world(&trial.world);
    }
}

// ---- Handles that are none.

static int32_t use_neighbour(mdist_replica_t *replica, void *user_data) {
    Trial *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    self->handles[id] = replica;
    if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 1;
    try_it(self, id, self->handles[1 - id], MDIST_ERR_WRONG_CONTEXT, self->entry->name);
    try_it(self, id, (mdist_replica_t *)self->world.strategy, MDIST_ERR_BAD_HANDLE, self->entry->name);
    try_it(self, id, (mdist_replica_t *)(uintptr_t)0xd430000000100001u, MDIST_ERR_BAD_HANDLE, self->entry->name);
    try_it(self, id, NULL, MDIST_ERR_BAD_HANDLE, self->entry->name);
    return mdist_barrier(replica, NULL, NULL);
}

static void a_replica_is_only_its_own(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (int i = 0; i < ENTRIES; ++i) {
        if (!takes_replica(&table[i])) continue;
        Trial trial = {.world = make_world(), .entry = &table[i]};
        OK(mdist_run(trial.world.strategy, use_neighbour, &trial, NULL, 0, NULL, 0, NULL, &error));
        assert_no_notes(&trial);
        end_world(&trial.world);
    }
}

static int takes_no_handle(const char *name) {
    static const char *const names[] = {
        "mdist_config_create",    "mdist_tensor_describe",        "mdist_value_create",
        "mdist_value_wrap",       "mdist_dataset_from_tensors",   "mdist_dataset_from_generator",
        "mdist_dataset_range",    "mdist_dataset_files",          "mdist_dataset_match_files",
        "mdist_iterators_settle", "mdist_store_create",           "mdist_checkpoint_latest",
        "mdist_cluster_create",   "mdist_cluster_from_tf_config", "mdist_current_strategy",
        "mdist_current_replica",  "mdist_value_from_dlpack",      "mdist_value_from_dlpack_versioned",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (strcmp(names[i], name) == 0) return 1;
    return 0;
}

static void stale_handles_are_bad_handles_everywhere(void **state) {
    (void)state;
    for (int i = 0; i < ENTRIES; ++i) {
        if (takes_no_handle(table[i].name)) continue;
        if (table[i].place == NOT_CALLED || table[i].place == AROUND) continue;
        Trial trial = {.world = make_world(), .entry = &table[i]};
        end_world(&trial.world);
        try_it(&trial, 0, NULL, MDIST_ERR_BAD_HANDLE, table[i].name);
        assert_no_notes(&trial);
    }
}

static int save_once(void **state) {
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    World world = make_world();
    const mdist_status_t status = call_checkpoint_save(&world, NULL);
    end_world(&world);
    return status;
}

static int remove_saved(void **state) {
    (void)state;
    static const char *const names[] = {"checkpoint-1.safetensors", "checkpoints.json"};
    for (size_t i = 0; i < 2; ++i) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_knows_every_function),
        cmocka_unit_test(in_a_step_only_the_functions_of_a_step_work),
        cmocka_unit_test(outside_of_steps_only_the_others_work),
        cmocka_unit_test(a_replica_dies_with_its_step),
        cmocka_unit_test(in_a_merge_the_functions_outside_of_steps_work),
        cmocka_unit_test(a_step_belongs_to_its_thread),
        cmocka_unit_test(entered_replicas_take_the_functions_of_a_step),
        cmocka_unit_test(in_their_merges_the_functions_outside_of_steps_work),
        cmocka_unit_test(a_replica_is_only_its_own),
        cmocka_unit_test(stale_handles_are_bad_handles_everywhere),
    };
    return cmocka_run_group_tests(tests, save_once, remove_saved);
}
