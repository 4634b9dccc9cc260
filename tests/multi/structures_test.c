// SPDX-License-Identifier: Apache-2.0
// Structured and mapped values of several workers are reduced over all of them. They are refused if workers differ.
#include "multi.h"

#include "merge_structure.h"

static float at(const mdist_value_t *value, const char *path, size_t index) {
    mdist_value_t *leaf = NULL;
    mdist_tensor_t tensor;
    GIVES(MDIST_OK, mdist_value_at(value, path, &leaf, &error));
    GIVES(MDIST_OK, mdist_value_tensor(leaf, index, &tensor, &error));
    REQUIRE(tensor.dtype == MDIST_FLOAT32);
    const float x = *(const float *)tensor.data;
    mdist_value_destroy(leaf);
    return x;
}

static int set(mdist_replica_t *replica, const char *path, float x, uint64_t elements) {
    float several[8];
    for (int i = 0; i < 8; ++i) several[i] = x;
    const mdist_tensor_t tensor = tensor_of(several, MDIST_FLOAT32, elements);
    return mdist_replica_set_result(replica, 0, path, &tensor, NULL) != MDIST_OK;
}

/// Sets {"loss": id, "rows": [id, id, ...]} with id + 1 rows.
static int32_t set_loss_and_rows(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    const int32_t id = mdist_replica_id(replica);
    return set(replica, "loss", (float)id, 0) || set(replica, "rows", (float)id, (uint64_t)id + 1);
}

static void reduces_leaf_by_leaf(void) {
    mdist_strategy_t *strategy = join();
    const uint32_t n = mdist_strategy_replica_count(strategy);
    const uint32_t locals = mdist_strategy_local_replica_count(strategy);
    const float ids = (float)(n * (n - 1) / 2);
    mdist_value_t *value = NULL, *loss = NULL, *rows = NULL, *both[2], *out = NULL;
    GIVES(MDIST_OK, mdist_run(strategy, set_loss_and_rows, NULL,
                              &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &value, .result_count = 1}, &error));
    GIVES(MDIST_OK, mdist_value_at(value, "loss", &loss, &error));
    GIVES(MDIST_OK, mdist_value_at(value, "rows", &rows, &error));

    // Reduces two leaves in one operation, to one device and to all.
    const char *const twice[] = {"m.0", "m.1"};
    mdist_value_t *const same[] = {loss, loss};
    GIVES(MDIST_OK, mdist_value_structure(twice, same, 2, &both[0], &error));
    GIVES(MDIST_OK, mdist_strategy_reduce(strategy, MDIST_SUM, both[0], &out, NULL, &error));
    REQUIRE(at(out, "m.0", 0) == ids && at(out, "m.1", 0) == ids);
    mdist_value_destroy(out);
    GIVES(MDIST_OK, mdist_strategy_reduce_to(strategy, MDIST_MEAN, &both[0], NULL, 1, &out, NULL, &error));
    for (uint32_t i = 0; i < locals; ++i) REQUIRE(at(out, "m.1", i) == ids / (float)n);
    mdist_value_destroy(out);
    const char *const targets[] = {NULL, device_name(0)};
    mdist_value_t *outs[2];
    both[1] = both[0];
    GIVES(MDIST_OK, mdist_strategy_reduce_to(strategy, MDIST_SUM, both, targets, 2, outs, NULL, &error));
    for (int i = 0; i < 2; ++i) {
        REQUIRE(at(outs[i], "m.0", 0) == ids);
        mdist_value_destroy(outs[i]);
    }

    // Rows differ in length: reduces them over an axis, and gathers them.
    const char *const named[] = {"rows"};
    const int32_t axis = 0;
    mdist_value_t *only = NULL;
    GIVES(MDIST_OK, mdist_value_structure(named, &rows, 1, &only, &error));
    GIVES(MDIST_OK, mdist_strategy_reduce_axes(strategy, MDIST_SUM, only, &axis, 1, &out, NULL, &error));
    float wanted = 0;
    for (uint32_t id = 0; id < n; ++id) wanted += (float)(id * (id + 1));
    REQUIRE(at(out, "rows", 0) == wanted);
    mdist_value_destroy(out);
    GIVES(MDIST_OK, mdist_strategy_gather(strategy, only, 0, &out, NULL, &error));
    mdist_value_t *gathered = NULL;
    mdist_tensor_t all;
    GIVES(MDIST_OK, mdist_value_at(out, "rows", &gathered, &error));
    GIVES(MDIST_OK, mdist_value_tensor(gathered, 0, &all, &error));
    REQUIRE(all.shape[0] == n * (n + 1) / 2);
    REQUIRE(((const float *)all.data)[all.shape[0] - 1] == (float)(n - 1));
    mdist_value_t *const values[] = {value, loss, rows, both[0], out, only, gathered};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; ++i) mdist_value_destroy(values[i]);
    mdist_strategy_destroy(strategy);
}

static int32_t set_name(mdist_replica_t *replica, void *user_data) {
    return set(replica, user_data, 1, 0);
}

/// The workers' paths differ. That is an error on all, although shapes are alike.
static void differs_between_workers(void) {
    mdist_strategy_t *strategy = join();
    static char names[][4] = {"a", "b"};
    mdist_value_t *value = NULL, *out = NULL;
    GIVES(MDIST_OK, mdist_run(strategy, set_name, names[rank == 1],
                              &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &value, .result_count = 1}, &error));
    GIVES(MDIST_ERR_MISMATCH, mdist_strategy_reduce(strategy, MDIST_SUM, value, &out, NULL, &error));
    REQUIRE(strstr(message, "\"a\"") != NULL && strstr(message, "\"b\"") != NULL);
    mdist_value_destroy(value);
    mdist_strategy_destroy(strategy);
}

/// The replicas of one worker set different paths. Its run fails, and nobody waits for it.
static int32_t set_other_name(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    return set(replica, rank == 1 && mdist_replica_local_index(replica) == 1 ? "b" : "a", 1, 0);
}

static void differs_within_a_worker(void) {
    mdist_strategy_t *strategy = join();
    mdist_value_t *value = NULL, *out = NULL;
    mdist_error_t *error = NULL;
    const mdist_status_t status =
        mdist_run(strategy, set_other_name, NULL,
                  &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &value, .result_count = 1}, &error);
    mdist_error_free(error);
    // The other worker learns of it in its run, as the cause or as ABORTED, or only after the run.
    REQUIRE(status == MDIST_ERR_MISMATCH || (rank == 0 && (status == MDIST_OK || status == MDIST_ERR_ABORTED)));
    if (rank != 1 && status == MDIST_OK) {
        error = NULL;
        REQUIRE(mdist_strategy_reduce(strategy, MDIST_SUM, value, &out, NULL, &error) < 0);
        REQUIRE(strstr(mdist_error_message(error), "\"a\" on replica 2 and not on replica 3") != NULL);
        mdist_error_free(error);
    }
    mdist_value_destroy(value);
    mdist_strategy_destroy(strategy);
}

/// Sets the square of the element as a leaf.
static int32_t square(mdist_replica_t *replica, uint64_t element, void *user_data) {
    (void)user_data;
    return set(replica, "square", (float)(element * element), 0);
}

/// The elements are those of the job, not of each worker. So a mean over them is the same in every layout.
static void maps_elements(void) {
    mdist_strategy_t *strategy = join();
    const uint64_t fewest = first_replica_of[worker_count - 1] + 1;
    const int32_t axis = 0;
    mdist_value_t *value = NULL, *out = NULL;
    for (uint64_t count = fewest; count < fewest + 6; ++count) {
        float sum = 0;
        for (uint64_t i = 0; i < count; ++i) sum += (float)(i * i);
        GIVES(MDIST_OK,
              mdist_map(strategy, count, square, NULL,
                        &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &value, .result_count = 1}, &error));
        GIVES(MDIST_OK, mdist_strategy_reduce_axes(strategy, MDIST_SUM, value, &axis, 1, &out, NULL, &error));
        REQUIRE(at(out, "square", 0) == sum);
        mdist_value_destroy(out);
        GIVES(MDIST_OK, mdist_strategy_reduce_axes(strategy, MDIST_MEAN, value, &axis, 1, &out, NULL, &error));
        REQUIRE(at(out, "square", 0) == (float)((double)sum / (double)count));
        mdist_value_destroy(out);
        mdist_value_destroy(value);
    }
    GIVES(MDIST_ERR_INVALID_ARGUMENT,
          mdist_map(strategy, fewest - 1, square, NULL,
                    &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &value, .result_count = 1}, &error));
    REQUIRE(strstr(message, "Each worker must get one") != NULL);
    mdist_strategy_destroy(strategy);
}

static void merges_structures(void) {
    mdist_strategy_t *strategy = join();
    GIVES(MDIST_OK, mdist_run(strategy, merge_structures, NULL, NULL, &error));
    mdist_strategy_destroy(strategy);
}

static int32_t give_id(uint32_t replica_id, uint32_t replica_count, mdist_value_t **out, void *user_data) {
    *(uint32_t *)user_data = replica_count;
    float x = (float)replica_id;
    const mdist_tensor_t tensor = tensor_of(&x, MDIST_FLOAT32, 0);
    return mdist_value_create(&tensor, out, NULL) != MDIST_OK;
}

static void makes_values_by_function(void) {
    mdist_strategy_t *strategy = join();
    const uint32_t n = mdist_strategy_replica_count(strategy);
    mdist_value_t *value = NULL, *out = NULL;
    uint32_t seen = 0;
    GIVES(MDIST_OK, mdist_values_from_function(strategy, give_id, &seen, &value, &error));
    REQUIRE(seen == n && mdist_value_kind(value) == MDIST_VALUE_PER_REPLICA);
    GIVES(MDIST_OK, mdist_strategy_reduce(strategy, MDIST_SUM, value, &out, NULL, &error));
    REQUIRE(at(out, "", 0) == (float)(n * (n - 1) / 2));
    mdist_value_destroy(out);
    mdist_value_destroy(value);
    mdist_strategy_destroy(strategy);
}

static void check(const char *scenario, uint32_t workers, const char *devices) {
    const Workers job = {.scenario = scenario, .count = workers, .devices = devices};
    assert_int_equal(run_workers(&job), 0);
}

static void structures_are_reduced_over_all_workers(void **unused) {
    (void)unused;
    check("reduces_leaf_by_leaf", 2, "cpu*1");
    check("reduces_leaf_by_leaf", 2, "cpu*2");
    check("reduces_leaf_by_leaf", 3, "cpu*1");
    check("reduces_leaf_by_leaf", 3, "cpu*2|cpu*1|cpu*3");
}

static void different_paths_are_an_error_on_all_workers(void **unused) {
    (void)unused;
    check("differs_between_workers", 2, "cpu*1");
    check("differs_between_workers", 2, "cpu*2");
    check("differs_within_a_worker", 2, "cpu*2");
}

static void elements_are_mapped_once_in_the_job(void **unused) {
    (void)unused;
    check("maps_elements", 2, "cpu*1");
    check("maps_elements", 2, "cpu*2");
    check("maps_elements", 3, "cpu*1");
    check("maps_elements", 3, "cpu*1|cpu*3|cpu*1");
}

static void merges_reduce_structures_over_all_workers(void **unused) {
    (void)unused;
    check("merges_structures", 2, "cpu*1");
    check("merges_structures", 2, "cpu*2");
    check("merges_structures", 2, "cpu*2|cpu*1");
}

static void functions_see_replicas_of_the_whole_job(void **unused) {
    (void)unused;
    check("makes_values_by_function", 2, "cpu*1");
    check("makes_values_by_function", 2, "cpu*2");
    check("makes_values_by_function", 2, "cpu*1|cpu*2");
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structures_are_reduced_over_all_workers),
        cmocka_unit_test(elements_are_mapped_once_in_the_job),
        cmocka_unit_test(merges_reduce_structures_over_all_workers),
        cmocka_unit_test(functions_see_replicas_of_the_whole_job),
        cmocka_unit_test(different_paths_are_an_error_on_all_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {
        {"reduces_leaf_by_leaf", reduces_leaf_by_leaf},         {"maps_elements", maps_elements},
        {"makes_values_by_function", makes_values_by_function}, {"differs_between_workers", differs_between_workers},
        {"differs_within_a_worker", differs_within_a_worker},   {"merges_structures", merges_structures},
    };
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
