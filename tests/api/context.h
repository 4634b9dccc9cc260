// SPDX-License-Identifier: Apache-2.0
// Every function of the library, each with a call that is good where it belongs, and the place where that is.
// context_test.c calls all of them from everywhere and holds their list against lib/mdist.map.
//
// A new function gets a CALL(name), which leaves nothing behind, and an ENTRY(name, place) at the end of the same file,
// context_<area>.c; one that cannot fail a QUERY(name), and a line in call_queries (context_queries.c).
#pragma once

#include "step_support.h"

typedef struct World {
    mdist_strategy_t *strategy;
    mdist_replica_t *replica;
    mdist_config_t *config;
    mdist_cluster_t *cluster; // one worker, this process
    mdist_value_t *value;     // plain float32 [2]
    mdist_value_t *zero;      // the same, per replica
    mdist_variable_t *variable;
    mdist_dataset_t *dataset, *batched, *names;
    mdist_iterator_t *iterator, *batches, *dealt; // the last has given an element
    mdist_loop_t *loop;                           // over
    mdist_work_t *work;                           // done
    mdist_store_t *store;
    mdist_preemption_t *preemption;
    mdist_checkpoint_t *checkpoint; // of the variable
    mdist_gradients_t *gradients;   // one
    mdist_record_writer_t *writer, *closed_writer;
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

typedef struct Entry {
    const char *name;
    Place place;
    Function call;
} Entry;

/// The functions of one area.
typedef struct Table {
    const Entry *entries;
    size_t count;
} Table;

extern const Table strategy_table, collectives_table, values_table, variables_table, data_table, sources_table,
    training_table, cluster_table, queries_table;

#define CALL(name) static mdist_status_t call_##name(World *w, mdist_error_t **error)
#define ENTRY(name, place) \
    { "mdist_" #name, place, call_##name }
#define QUERY(name) \
    { "mdist_" #name, AROUND, call_queries }

extern char checkpoint_folder[]; // holds checkpoint 1 of the variable

int32_t idle_step(mdist_replica_t *replica, void *user_data);
int32_t idle_update(uint32_t local, const mdist_tensor_t *copy, const mdist_tensor_t *arguments, size_t argument_count,
                    mdist_value_t **results, size_t result_count, void *user_data);
int32_t idle_loop(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element, void *user_data);

World make_world(void);
void end_world(World *world);

MDIST_TEST_HELPER mdist_buffer_t in_of(World *world) {
    return buffer_of(world->room[0], MDIST_FLOAT32, 2);
}
MDIST_TEST_HELPER mdist_buffer_t out_of(World *world, uint64_t elements) {
    return buffer_of(world->room[1], MDIST_FLOAT32, elements);
}
MDIST_TEST_HELPER mdist_tensor_t tensor_in(World *world) {
    return tensor_of(world->room[0], MDIST_FLOAT32, 2);
}

/// What a function gave in good faith is destroyed at once.
MDIST_TEST_HELPER mdist_status_t drop_value(mdist_status_t status, mdist_value_t *value) {
    mdist_value_destroy(value);
    return status;
}
