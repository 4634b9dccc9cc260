// SPDX-License-Identifier: Apache-2.0
#include "context.h"
#include "started.h"

#include <unistd.h>

char checkpoint_folder[] = "/tmp/mdist-context-XXXXXX";

int32_t idle_step(mdist_replica_t *replica, void *user_data) {
    (void)replica, (void)user_data;
    return 0;
}

int32_t idle_update(uint32_t local, const mdist_tensor_t *copy, const mdist_tensor_t *arguments, size_t argument_count,
                    mdist_value_t **results, size_t result_count, void *user_data) {
    (void)local, (void)copy, (void)arguments, (void)argument_count, (void)results, (void)result_count, (void)user_data;
    return 0;
}

int32_t idle_loop(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element, void *user_data) {
    (void)strategy, (void)loop, (void)element, (void)user_data;
    return 0;
}

static mdist_work_t *done_work(mdist_strategy_t *strategy) {
    mdist_error_t *error = NULL;
    mdist_work_t *work = NULL;
    int32_t done = 0;
    Entered run;
    begin_and_enter(&run, strategy);
    OK(start_barrier(run.replicas[0], &work, NULL, &error));
    OK(mdist_barrier(run.replicas[1], NULL, &error));
    OK(mdist_work_test(work, &done, &error));
    exit_all(&run);
    end_with(strategy, MDIST_OK, "");
    return work;
}

static mdist_record_writer_t *new_writer(int closed) {
    char path[128];
    mdist_error_t *error = NULL;
    mdist_record_writer_t *out = NULL;
    snprintf(path, sizeof path, "%s/records%d", checkpoint_folder, closed);
    OK(mdist_record_writer_create(path, &out, NULL, &error));
    if (closed) OK(mdist_record_writer_close(out, &error));
    unlink(path);
    return out;
}

World make_world(void) {
    World world = {.strategy = make_strategy(2, NULL)};
    mdist_error_t *error = NULL;
    const mdist_tensor_t two = tensor_in(&world), twice[2] = {two, two};
    OK(mdist_config_create(&world.config, &error));
    const mdist_task_t worker = {MDIST_TASK_WORKER, 0, "a:1"};
    OK(mdist_cluster_create(&worker, 1, MDIST_TASK_WORKER, 0, &world.cluster, &error));
    OK(mdist_value_create(&two, &world.value, &error));
    OK(mdist_value_per_replica(world.strategy, twice, 2, &world.zero, &error));
    OK(mdist_variable_create(world.strategy, "v", &two, &world.variable, NULL, &error));
    static float rows[64]; // the dataset refers to this array
    const mdist_tensor_t array = tensor_of(rows, MDIST_FLOAT32, 64);
    OK(mdist_dataset_from_tensors(&array, 1, NULL, NULL, &world.dataset, NULL, &error));
    OK(mdist_dataset_batch(world.dataset, 2, &world.batched, NULL, &error));
    const char *name = checkpoint_folder;
    OK(mdist_dataset_files(&name, 1, &world.names, NULL, &error));
    OK(mdist_iterator_create(world.dataset, &world.iterator, &error));
    OK(mdist_iterator_create(world.batched, &world.batches, &error));
    mdist_dataset_t *distributed = NULL;
    mdist_value_t *element = NULL;
    OK(mdist_distribute_dataset(world.strategy, world.batched, &distributed, NULL, &error));
    OK(mdist_iterator_create(distributed, &world.dealt, &error));
    OK(mdist_iterator_next(world.dealt, &element, 1, &error));
    mdist_value_destroy(element);
    mdist_dataset_destroy(distributed);
    OK(mdist_step_register(world.strategy, "idle", idle_step, NULL, &error));
    OK(mdist_update_register(world.strategy, "idle", idle_update, NULL, &error));
    OK(mdist_run_steps(world.strategy, world.batches, 0, idle_loop, NULL, NULL, &world.loop, NULL, &error));
    OK(mdist_loop_set_object(world.loop, "object", 1, &error, &error));
    world.work = done_work(world.strategy);
    const mdist_store_options_t of_two = {.struct_size = sizeof of_two, .worker_count = 2};
    OK(mdist_store_create("127.0.0.1:0", &world.store, &of_two, &error));
    OK(mdist_checkpoint_create(world.strategy, checkpoint_folder, 0, &world.checkpoint, &error));
    OK(mdist_checkpoint_add(world.checkpoint, NULL, world.variable, &error));
    OK(mdist_checkpoint_set_text(world.checkpoint, "kept", "1", &error));
    const mdist_gradients_options_t missing = {.struct_size = sizeof missing, .flags = MDIST_GRADIENTS_ZERO_MISSING};
    OK(mdist_gradients_create(world.strategy, &two, 1, &world.gradients, &missing, &error));
    const mdist_tensor_t unplaced[2] = {tensor_of(NULL, MDIST_FLOAT32, 2), tensor_of(NULL, MDIST_FLOAT32, 2)};
    OK(mdist_gradients_create_lent(world.strategy, unplaced, 1, &world.lent, &missing, &error));
    const mdist_collective_description_t barrier = {.struct_size = sizeof barrier, .kind = MDIST_COLLECTIVE_BARRIER};
    for (uint32_t r = 0; r < 2; ++r)
        OK(mdist_prepared_create(world.strategy, r, &barrier, &world.calls[r], NULL, &error));
    world.writer = new_writer(0);
    world.closed_writer = new_writer(1);
    return world;
}

void end_world(World *world) {
    mdist_config_destroy(world->config);
    mdist_cluster_destroy(world->cluster);
    mdist_value_destroy(world->value);
    mdist_value_destroy(world->zero);
    mdist_variable_destroy(world->variable);
    mdist_dataset_destroy(world->dataset);
    mdist_dataset_destroy(world->batched);
    mdist_dataset_destroy(world->names);
    mdist_iterator_destroy(world->iterator);
    mdist_iterator_destroy(world->batches);
    mdist_iterator_destroy(world->dealt);
    mdist_loop_destroy(world->loop);
    mdist_work_destroy(world->work);
    mdist_store_destroy(world->store);
    mdist_checkpoint_destroy(world->checkpoint);
    mdist_gradients_destroy(world->gradients);
    mdist_gradients_destroy(world->lent);
    for (int r = 0; r < 2; ++r) mdist_prepared_destroy(world->calls[r]);
    mdist_record_writer_destroy(world->writer);
    mdist_record_writer_destroy(world->closed_writer);
    mdist_strategy_destroy(world->strategy);
}
