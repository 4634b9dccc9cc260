// SPDX-License-Identifier: Apache-2.0
// Values, variables and datasets of several workers follow the rules of TensorFlow's MultiWorkerMirroredStrategy.
#include "multi.h"

#include <math.h>

/// Makes a plain value of one float.
static mdist_value_t *plain(float x) {
    const uint64_t shape[] = {1};
    mdist_tensor_t tensor;
    mdist_value_t *value = NULL;
    GIVES(MDIST_OK, mdist_tensor_describe(&x, MDIST_FLOAT32, shape, 1, &tensor, &error));
    GIVES(MDIST_OK, mdist_value_create(&tensor, &value, &error));
    return value;
}

static float first(mdist_value_t *value) {
    mdist_tensor_t tensor;
    GIVES(MDIST_OK, mdist_value_tensor(value, 0, &tensor, &error));
    REQUIRE(tensor.dtype == MDIST_FLOAT32);
    return *(const float *)tensor.data;
}

/// Sets result 0: id + 1 elements, each of which is id + 1.
static int32_t ids_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    const int32_t id = mdist_replica_id(replica);
    float numbers[16];
    for (int i = 0; i <= id; ++i) numbers[i] = (float)(id + 1);
    const uint64_t shape[] = {(uint64_t)id + 1};
    mdist_tensor_t tensor;
    if (mdist_tensor_describe(numbers, MDIST_FLOAT32, shape, 1, &tensor, NULL) != MDIST_OK) return 1;
    return mdist_replica_set_result(replica, 0, NULL, &tensor, NULL);
}

static void reduces_over_all(void) {
    mdist_strategy_t *strategy = join();
    const uint32_t n = mdist_strategy_replica_count(strategy);
    const uint32_t locals = mdist_strategy_local_replica_count(strategy);
    REQUIRE(n == first_replica_of[worker_count] && locals == first_replica_of[rank + 1] - first_replica_of[rank]);
    REQUIRE(mdist_strategy_worker_count(strategy) == worker_count);
    REQUIRE(mdist_strategy_rank(strategy) == rank);
    REQUIRE(mdist_strategy_first_replica_id(strategy) == first_replica_of[rank]);
    REQUIRE(mdist_strategy_is_chief(strategy) == (rank == 0));

    mdist_value_t *ids = NULL, *out = NULL;
    GIVES(MDIST_OK, mdist_run(strategy, ids_step, NULL,
                              &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &ids, .result_count = 1}, &error));
    const int32_t axis = 0;
    // sum of (id + 1)^2 over sum of (id + 1)
    float sum = 0, count = 0;
    for (uint32_t id = 0; id < n; ++id) {
        sum += (float)((id + 1) * (id + 1));
        count += (float)(id + 1);
    }
    GIVES(MDIST_OK, mdist_strategy_reduce_axes(strategy, MDIST_SUM, ids, &axis, 1, &out, NULL, &error));
    REQUIRE(first(out) == sum);
    mdist_value_destroy(out);
    GIVES(MDIST_OK, mdist_strategy_reduce_axes(strategy, MDIST_MEAN, ids, &axis, 1, &out, NULL, &error));
    REQUIRE(fabsf(first(out) - sum / count) < 1e-5f);
    mdist_value_destroy(out);

    GIVES(MDIST_OK, mdist_strategy_gather(strategy, ids, 0, &out, NULL, &error));
    mdist_tensor_t all;
    GIVES(MDIST_OK, mdist_value_tensor(out, 0, &all, &error));
    REQUIRE(all.rank == 1 && all.shape[0] == n * (n + 1) / 2);
    const float *gathered = all.data;
    for (uint32_t id = 0, i = 0; id < n; ++id)
        for (uint32_t k = 0; k <= id; ++k, ++i) REQUIRE(gathered[i] == (float)(id + 1));
    mdist_value_destroy(out);
    mdist_value_destroy(ids);

    // What each worker has on the host.
    float mine[8];
    mdist_tensor_t tensors[8];
    for (uint32_t local = 0; local < locals; ++local) {
        mine[local] = (float)(first_replica_of[rank] + local + 1);
        GIVES(MDIST_OK, mdist_tensor_describe(&mine[local], MDIST_FLOAT32, NULL, 0, &tensors[local], &error));
    }
    mdist_value_t *each = NULL;
    GIVES(MDIST_OK, mdist_value_per_replica(strategy, tensors, locals, &each, &error));
    GIVES(MDIST_OK, mdist_strategy_reduce(strategy, MDIST_SUM, each, &out, NULL, &error));
    REQUIRE(first(out) == (float)(n * (n + 1)) / 2);
    mdist_value_destroy(out);
    mdist_value_destroy(each);

    // A plain value has one meaning in every layout: that it is the same on all replicas.
    mdist_value_t *own = plain((float)rank + 1);
    GIVES(MDIST_ERR_INVALID_ARGUMENT, mdist_strategy_reduce(strategy, MDIST_SUM, own, &out, NULL, &error));
    GIVES(MDIST_OK, mdist_strategy_reduce(strategy, MDIST_MEAN, own, &out, NULL, &error));
    REQUIRE(first(out) == (float)rank + 1);
    mdist_value_destroy(out);
    mdist_value_destroy(own);
    mdist_strategy_destroy(strategy);
}

static int32_t assign_step(mdist_replica_t *replica, void *user_data) {
    mdist_variable_t *const *variables = user_data;
    float mine = (float)mdist_replica_id(replica);
    mdist_tensor_t tensor;
    const uint64_t shape[] = {1};
    if (mdist_tensor_describe(&mine, MDIST_FLOAT32, shape, 1, &tensor, NULL) != MDIST_OK) return 1;
    for (int i = 0; i < 3; ++i)
        if (mdist_replica_assign(replica, variables[i], MDIST_ASSIGN_ADD, &tensor, NULL, NULL) != MDIST_OK) return 2;
    return 0;
}

static float read_variable(mdist_variable_t *variable) {
    mdist_value_t *value = NULL;
    GIVES(MDIST_OK, mdist_variable_read(variable, &value, NULL, &error));
    const float x = first(value);
    mdist_value_destroy(value);
    return x;
}

static mdist_variable_t *variable(mdist_strategy_t *strategy, const char *name, float initial,
                                  mdist_synchronization_t synchronization, mdist_aggregation_t aggregation) {
    const mdist_variable_options_t options = {
        .struct_size = sizeof options, .synchronization = synchronization, .aggregation = aggregation};
    const uint64_t shape[] = {1};
    mdist_tensor_t tensor;
    mdist_variable_t *out = NULL;
    GIVES(MDIST_OK, mdist_tensor_describe(&initial, MDIST_FLOAT32, shape, 1, &tensor, &error));
    GIVES(MDIST_OK, mdist_variable_create(strategy, name, &tensor, &out, &options, &error));
    return out;
}

static void keeps_variables_equal(void) {
    mdist_strategy_t *strategy = join();
    const float n = (float)mdist_strategy_replica_count(strategy);
    // Each worker gives its own initial value; the chief's counts.
    mdist_variable_t *variables[] = {
        variable(strategy, "sum", (float)rank + 100, MDIST_SYNC_ON_WRITE, MDIST_AGGREGATION_SUM),
        variable(strategy, "mean", (float)rank + 100, MDIST_SYNC_ON_WRITE, MDIST_AGGREGATION_MEAN),
        variable(strategy, "first", (float)rank + 100, MDIST_SYNC_ON_WRITE, MDIST_AGGREGATION_ONLY_FIRST_REPLICA),
        variable(strategy, "total", 1, MDIST_SYNC_ON_READ, MDIST_AGGREGATION_SUM),
    };
    for (int i = 0; i < 3; ++i) REQUIRE(read_variable(variables[i]) == 100);
    REQUIRE(read_variable(variables[3]) == n); // TensorFlow: every copy has it, and reading sums them up

    GIVES(MDIST_OK, mdist_run(strategy, assign_step, variables, NULL, &error));
    REQUIRE(read_variable(variables[0]) == 100 + n * (n - 1) / 2);
    REQUIRE(read_variable(variables[1]) == 100 + (n - 1) / 2);
    REQUIRE(read_variable(variables[2]) == 100);

    mdist_value_t *six = plain(6);
    GIVES(MDIST_OK, mdist_variable_assign(variables[3], MDIST_ASSIGN_SET, six, &error));
    REQUIRE(fabsf(read_variable(variables[3]) - 6) < 1e-5f);
    mdist_value_destroy(six);
    for (int i = 0; i < 4; ++i) mdist_variable_destroy(variables[i]);
    mdist_strategy_destroy(strategy);
}

/// Checks what replicas get of range(11).batch(5), by `data.order`.
static void deals_out_batches(void) {
    mdist_strategy_t *strategy = join();
    const uint32_t locals = mdist_strategy_local_replica_count(strategy);
    const uint32_t n = mdist_strategy_replica_count(strategy);
    const int uneven = strchr(getenv("TEST_DEVICES"), '|') != NULL;
    const int by_replica = uneven || strcmp(getenv("MDIST_DATA_ORDER"), "replica") == 0;
    float numbers[11];
    for (int i = 0; i < 11; ++i) numbers[i] = (float)i;
    const uint64_t shape[] = {11};
    mdist_tensor_t tensor;
    mdist_dataset_t *range = NULL, *batches = NULL, *dealt = NULL;
    mdist_iterator_t *iterator = NULL;
    GIVES(MDIST_OK, mdist_tensor_describe(numbers, MDIST_FLOAT32, shape, 1, &tensor, &error));
    GIVES(MDIST_OK, mdist_dataset_from_tensors(&tensor, 1, NULL, NULL, &range, NULL, &error));
    GIVES(MDIST_OK, mdist_dataset_batch(range, 5, &batches, NULL, &error));
    GIVES(MDIST_OK, mdist_distribute_dataset(strategy, batches, &dealt, NULL, &error));
    GIVES(MDIST_OK, mdist_iterator_create(dealt, &iterator, &error));
    for (uint32_t begin = 0; begin < 11; begin += 5) {
        mdist_value_t *value = NULL;
        GIVES(MDIST_OK, mdist_iterator_next(iterator, &value, 1, &error));
        const uint32_t rows = 11 - begin < 5 ? 11 - begin : 5, most = (rows + n - 1) / n;
        for (uint32_t local = 0; local < locals; ++local) {
            const uint32_t slice = by_replica ? first_replica_of[rank] + local : local * worker_count + rank;
            const uint32_t from = slice * most < rows ? slice * most : rows;
            const uint32_t to = from + most < rows ? from + most : rows;
            mdist_tensor_t part;
            GIVES(MDIST_OK, mdist_value_tensor(value, local, &part, &error));
            REQUIRE(part.shape[0] == to - from);
            for (uint32_t i = from; i < to; ++i) REQUIRE(((const float *)part.data)[i - from] == (float)(begin + i));
        }
        mdist_value_destroy(value);
    }
    mdist_value_t *none = NULL;
    GIVES(MDIST_END, mdist_iterator_next(iterator, &none, 1, &error));
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(dealt);
    mdist_dataset_destroy(batches);
    mdist_dataset_destroy(range);
    mdist_strategy_destroy(strategy);
}

/// A sparse TF_CONFIG gives the worker's place. The test still says where they meet.
static void takes_sparse_indices(void) {
    static const char *const tasks[] = {"\"chief\",\"index\":0", "\"worker\",\"index\":2", "\"worker\",\"index\":7"};
    char json[256];
    snprintf(
        json, sizeof json,
        "{\"cluster\":{\"chief\":[\"h0:1\"],\"worker\":{\"7\":\"h7:1\",\"2\":\"h2:1\"},\"evaluator\":{\"4\":\"e:1\"}},"
        "\"task\":{\"type\":%s}}",
        tasks[rank]);
    REQUIRE(setenv("TF_CONFIG", json, 1) == 0);
    REQUIRE(unsetenv("MDIST_RANK") == 0 && unsetenv("MDIST_SIZE") == 0);
    reduces_over_all();
}

static void check(const char *scenario, const char *const *environment) {
    static const struct {
        uint32_t workers;
        const char *devices;
    } layouts[] = {{2, "cpu*1"}, {2, "cpu*2"}, {3, "cpu*1"}, {2, "cpu*3"}, {3, "cpu*2|cpu*1|cpu*2"}};
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; ++i) {
        const Workers job = {.scenario = scenario,
                             .count = layouts[i].workers,
                             .devices = layouts[i].devices,
                             .environment = environment};
        assert_int_equal(run_workers(&job), 0);
    }
}

static void values_are_reduced_and_gathered_over_all_workers(void **unused) {
    (void)unused;
    check("reduces_over_all", NULL);
}

static void a_sparse_tf_config_makes_a_job(void **unused) {
    (void)unused;
    const Workers job = {.scenario = "takes_sparse_indices", .count = 3, .devices = "cpu*1"};
    assert_int_equal(run_workers(&job), 0);
}

static void variables_begin_with_the_chiefs_value_and_stay_equal(void **unused) {
    (void)unused;
    check("keeps_variables_equal", NULL);
}

static void batches_are_dealt_as_tensorflow_does_or_by_replica(void **unused) {
    (void)unused;
    static const char *const tf[] = {"MDIST_DATA_ORDER=tf", NULL}, *const replica[] = {"MDIST_DATA_ORDER=replica",
                                                                                       NULL};
    check("deals_out_batches", tf);
    check("deals_out_batches", replica);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_reduced_and_gathered_over_all_workers),
        cmocka_unit_test(a_sparse_tf_config_makes_a_job),
        cmocka_unit_test(variables_begin_with_the_chiefs_value_and_stay_equal),
        cmocka_unit_test(batches_are_dealt_as_tensorflow_does_or_by_replica),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {
        {"reduces_over_all", reduces_over_all},
        {"takes_sparse_indices", takes_sparse_indices},
        {"keeps_variables_equal", keeps_variables_equal},
        {"deals_out_batches", deals_out_batches},
    };
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
