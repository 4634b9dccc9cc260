// SPDX-License-Identifier: Apache-2.0
// Calls every function of the library from every place: outside of steps, in a step, in a merge, on a thread that runs
// no step, and with invalid handles. Compares the table of functions (see context.h) with the exports of the library.
#include "context.h"

#include <stdatomic.h>
#include <unistd.h>

enum { MOST_ENTRIES = 400 };

static Entry entries[MOST_ENTRIES];
static size_t entry_count;

static void join_tables(void) {
    static const Table *const tables[] = {&strategy_table,  &collectives_table, &values_table,
                                          &variables_table, &data_table,        &sources_table,
                                          &training_table,  &cluster_table,     &queries_table};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; ++t)
        for (size_t i = 0; i < tables[t]->count && entry_count < MOST_ENTRIES; ++i)
            entries[entry_count++] = tables[t]->entries[i];
}

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
        for (size_t i = 0; i < entry_count; ++i) known |= strcmp(entries[i].name, name) == 0;
        if (!known) fail_msg("%s is not in the table of functions", name);
    }
    fclose(map);
    assert_int_equal(found, entry_count);
}

/// Tells whether the function takes a replica.
static int takes_replica(const Entry *entry) {
    return entry->place == IN_STEP || entry->place == ENTERED;
}

/// Tells whether the function needs cross-replica context, but works while the strategy is busy.
static int is_free(const Entry *entry) {
    static const char *const names[] = {"mdist_iterator_next",      "mdist_iterator_next_value",
                                        "mdist_loop_set_output",    "mdist_values_from_function",
                                        "mdist_distribute_dataset", "mdist_distribute_from_function"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (strcmp(entry->name, names[i]) == 0) return 1;
    return 0;
}

/// The status of a bracket function on a thread that runs a step. Only mdist_run_begin checks the context. The others
/// fail because no run is open.
static mdist_status_t wanted_of_bracket(const Entry *entry) {
    return strcmp(entry->name, "mdist_run_begin") == 0 ? MDIST_ERR_WRONG_CONTEXT : MDIST_ERR_FAILED_PRECONDITION;
}

// ---- One run for each function and place. Notes are by replica.

typedef struct Trial {
    World world;
    const Entry *entry;
    Note notes[2];
    mdist_replica_t *handles[2];
} Trial;

/// Calls the entry's function as replica `id`. Notes it if the call does not give `wanted`.
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
    // Only one thread may use a config or an iterator at a time.
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
    for (size_t i = 0; i < entry_count; ++i) {
        if (entries[i].place == NOT_CALLED) continue;
        Trial trial = {.world = make_world(), .entry = &entries[i]};
        mdist_value_t *result = NULL;
        // A refused call is refused on every replica, so the run itself succeeds.
        const mdist_status_t set = strncmp(entries[i].name, "mdist_replica_set_result", 24) == 0;
        OK(mdist_run(trial.world.strategy, call_in_step, &trial,
                     &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &trial.world.value, .argument_count = 1,
                                       .results = &result, .result_count = set ? 1 : 0},
                     &error));
        assert_no_notes(&trial);
        mdist_value_destroy(result);
        end_world(&trial.world);
    }
}

static void outside_of_steps_only_the_others_work(void **state) {
    (void)state;
    for (size_t i = 0; i < entry_count; ++i) {
        if (entries[i].place == NOT_CALLED) continue;
        Trial trial = {.world = make_world(), .entry = &entries[i]};
        const int in_step = takes_replica(&entries[i]);
        try_it(&trial, 0, NULL, in_step ? MDIST_ERR_BAD_HANDLE : MDIST_OK, entries[i].name);
        if (in_step) try_it(&trial, 0, (mdist_replica_t *)trial.world.strategy, MDIST_ERR_BAD_HANDLE, entries[i].name);
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
    for (size_t i = 0; i < entry_count; ++i) {
        if (!takes_replica(&entries[i])) continue;
        Trial trial = {.world = make_world(), .entry = &entries[i]};
        for (int again = 0; again < 2; ++again) {
            OK(mdist_run(trial.world.strategy, keep_handle, &trial, NULL, &error));
            for (int id = 0; id < 2; ++id) {
                try_it(&trial, id, trial.handles[id], MDIST_ERR_BAD_HANDLE, entries[i].name);
                assert_int_equal(mdist_replica_id(trial.handles[id]), MDIST_NONE);
                assert_int_equal(mdist_replica_local_index(trial.handles[id]), MDIST_NONE);
                assert_int_equal(mdist_replica_count(trial.handles[id]), 0);
            }
        }
        assert_no_notes(&trial);
        end_world(&trial.world);
    }
}

// ---- In a merge, and in a step inside the merge.

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
    try_it(self, 0, self->handles[1], wanted, self->entry->name); // the handle of another replica
    return mdist_run(strategy, use_outer_handles, self, NULL, NULL) == MDIST_OK ? 0 : 1;
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
    for (size_t i = 0; i < entry_count; ++i) {
        if (entries[i].place == NOT_CALLED) continue;
        Trial trial = {.world = make_world(), .entry = &entries[i]};
        OK(mdist_run(trial.world.strategy, merge_and_call, &trial, NULL, &error));
        assert_no_notes(&trial);
        end_world(&trial.world);
    }
}

// ---- On a thread that does not run the step.

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
    for (size_t i = 0; i < entry_count; ++i) {
        // Another thread may use an iterator, which belongs to no strategy.
        if (!takes_replica(&entries[i]) && entries[i].place != OUTSIDE && entries[i].place != BRACKET) continue;
        if (is_free(&entries[i])) continue;
        Trial trial = {.world = make_world(), .entry = &entries[i]};
        OK(mdist_run(trial.world.strategy, call_elsewhere, &trial, NULL, &error));
        assert_no_notes(&trial);
        end_world(&trial.world);
    }
}

// ---- Replicas that were entered.

/// These threads are not known to be in a step. So a function that takes a strategy finds it busy; iterators still
/// work.
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
    for (size_t i = 0; i < entry_count; ++i) {
        if (entries[i].place == NOT_CALLED) continue;
        Trial trial = {.world = make_world(), .entry = &entries[i]};
        mdist_value_t *result = NULL;
        const size_t set = strncmp(entries[i].name, "mdist_replica_set_result", 24) == 0;
        OK(run_own(trial.world.strategy, call_entered, &trial,
                   &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &trial.world.value, .argument_count = 1,
                                     .results = &result, .result_count = set},
                   &error));
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
    for (size_t i = 0; i < entry_count; ++i) {
        if (entries[i].place == NOT_CALLED || entries[i].place == ENTERED) continue;
        Trial trial = {.world = make_world(), .entry = &entries[i]};
        OK(run_own(trial.world.strategy, call_in_open_merge, &trial, NULL, &error));
        assert_no_notes(&trial);
        end_world(&trial.world);
    }
}

// ---- Invalid handles.

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
    for (size_t i = 0; i < entry_count; ++i) {
        if (!takes_replica(&entries[i])) continue;
        Trial trial = {.world = make_world(), .entry = &entries[i]};
        OK(mdist_run(trial.world.strategy, use_neighbour, &trial, NULL, &error));
        assert_no_notes(&trial);
        end_world(&trial.world);
    }
}

static int takes_no_handle(const char *name) {
    static const char *const names[] = {
        "mdist_config_create",
        "mdist_config_key_describe",
        "mdist_alloc_pinned",
        "mdist_buffer_from_dlpack",
        "mdist_gpu_count",
        "mdist_tensor_copy",
        "mdist_tensor_describe",
        "mdist_value_create",
        "mdist_value_wrap",
        "mdist_dataset_from_tensors",
        "mdist_dataset_from_generator",
        "mdist_dataset_range",
        "mdist_dataset_files",
        "mdist_dataset_match_files",
        "mdist_iterators_wait",
        "mdist_store_create",
        "mdist_store_dismiss",
        "mdist_store_left_behind",
        "mdist_store_worker_ended", // with a store of its own, since that of the table is of a fixed size
        "mdist_checkpoint_latest",
        "mdist_cluster_create",
        "mdist_cluster_from_tf_config",
        "mdist_current_strategy",
        "mdist_current_replica",
        "mdist_value_from_dlpack",
        "mdist_input_context_batch_size",
        "mdist_record_writer_create",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (strcmp(names[i], name) == 0) return 1;
    return 0;
}

static void stale_handles_are_bad_handles_everywhere(void **state) {
    (void)state;
    for (size_t i = 0; i < entry_count; ++i) {
        if (entries[i].place == NOT_CALLED || entries[i].place == AROUND || takes_no_handle(entries[i].name)) continue;
        Trial trial = {.world = make_world(), .entry = &entries[i]};
        end_world(&trial.world);
        try_it(&trial, 0, NULL, MDIST_ERR_BAD_HANDLE, entries[i].name);
        assert_no_notes(&trial);
    }
}

static int save_once(void **state) {
    (void)state;
    join_tables();
    if (mkdtemp(checkpoint_folder) == NULL) return -1;
    World world = make_world();
    const mdist_status_t status = mdist_checkpoint_save(world.checkpoint, 1, NULL, NULL);
    end_world(&world);
    return status;
}

static int remove_saved(void **state) {
    (void)state;
    static const char *const names[] = {"checkpoint-1.safetensors", "checkpoints.json"};
    for (size_t i = 0; i < 2; ++i) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", checkpoint_folder, names[i]);
        unlink(path);
    }
    return rmdir(checkpoint_folder);
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
