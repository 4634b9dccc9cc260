// SPDX-License-Identifier: Apache-2.0
// A table of all functions of the library. Each has a valid call and the place where that call is allowed.
// context_test.c calls all of them from every place, and compares the table with lib/mdist.map.
//
// A new function gets a CALL(name), which leaves nothing behind, and an ENTRY(name, place) at the end of the same file,
// context_<area>.c. A function that cannot fail gets a QUERY(name) and a line in call_queries (context_queries.c).
#pragma once

#include "step_support.h"

typedef struct World {
    mdist_strategy_t *strategy;
    mdist_replica_t *replica;
    mdist_config_t *config;
    mdist_cluster_t *cluster; // one worker: this process
    mdist_value_t *value;     // plain float32 [2]
    mdist_value_t *zero;      // the same, per replica
    mdist_variable_t *variable;
    mdist_dataset_t *dataset, *batched, *names;
    mdist_iterator_t *iterator, *batches, *dealt; // dealt: has given an element
    mdist_loop_t *loop;                           // has ended
    mdist_work_t *work;                           // is done
    mdist_store_t *store;
    mdist_checkpoint_t *checkpoint; // with the variable
    mdist_gradients_t *gradients;   // of one tensor
    mdist_gradients_t *lent;        // the same, with no memory yet
    mdist_prepared_t *calls[2];     // a barrier of each replica
    mdist_record_writer_t *writer, *closed_writer;
    float room[2][16];
} World;

typedef mdist_status_t (*Function)(World *world, mdist_error_t **error);

/// The place where a function is allowed.
typedef enum Place {
    ANYWHERE,
    IN_STEP,    // needs a replica
    ENTERED,    // needs a replica that was entered
    BRACKET,    // begins, ends or enters a run
    OUTSIDE,    // needs a strategy or something that belongs to one
    AROUND,     // destructors and queries that cannot fail: only listed, and called together
    NOT_CALLED, // changes the process, or is tested elsewhere
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

/// Destroys a value that a call returned.
MDIST_TEST_HELPER mdist_status_t drop_value(mdist_status_t status, mdist_value_t *value) {
    mdist_value_destroy(value);
    return status;
}
