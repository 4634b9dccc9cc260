// SPDX-License-Identifier: Apache-2.0
// Random pipelines that drop nothing. All replicas of all workers together must get the numbers that went in, as a
// multiset. This is tried under every policy, with 1 to 3 workers of 1 to 4 replicas each; the numbers of replicas may
// differ. tests/data/pipelines_test.c has a model of each transform; this test only compares counts and sums.
#include "multi.h"

#undef GIVES // data.h defines another one
#include "random_rows.h"

#include <unistd.h>

/// Returns the first seed of this run. A worker gets it from the environment, too.
static uint64_t first_seed(void) {
    return strtoull(getenv("TEST_SEED"), NULL, 0);
}
static uint64_t how_many(void) {
    return strtoull(getenv("TEST_SEEDS"), NULL, 0);
}

// ---- Dealing it out.

enum { OFF, AUTO, FILE_POLICY, DATA, HINT, NO_SPLIT, FUNCTION, WAYS };
static const char *const way_names[] = {"OFF", "AUTO", "FILE", "DATA", "HINT", "NO_SPLIT", "from_function"};

static int32_t make_own(const mdist_input_context_t *context, mdist_dataset_t **out, void *user_data) {
    Pipeline *self = user_data;
    // Each element goes to one input pipeline.
    return mdist_dataset_shard(self->dataset, context->pipeline_count, context->pipeline, out, NULL, NULL) != MDIST_OK;
}

static const char *const uneven_names[] = {"", ", spread", ", weighted"};

static mdist_status_t deal(mdist_strategy_t *strategy, Pipeline *self, uint64_t way, mdist_dataset_t **out,
                           mdist_error_t **error) {
    static const int32_t policies[] = {MDIST_SHARD_OFF,    MDIST_SHARD_AUTO, MDIST_SHARD_FILE, MDIST_SHARD_DATA,
                                       MDIST_SHARD_MARKED, MDIST_SHARD_AUTO, MDIST_SHARD_AUTO};
    static const double weights[] = {1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3};
    mdist_input_options_t options = {.struct_size = sizeof options, .policy = policies[way]};
    options.flags = way == NO_SPLIT ? MDIST_INPUT_NO_SPLIT : 0;
    options.fetch_to_device = draw(3) == 0 ? 1 : -1;
    options.buffer_size = draw(4);
    const uint64_t uneven = way >= NO_SPLIT ? 0 : draw(way == DATA ? 3 : 2);
    if (uneven == 1) options.uneven = MDIST_UNEVEN_SPREAD;
    if (uneven == 2) {
        options.weights = weights;
        options.weight_count = mdist_strategy_replica_count(strategy);
    }
    say(self, way_names[way], options.fetch_to_device == 1 ? 1 : 0, options.buffer_size);
    put(&self->said, uneven_names[uneven]);
    if (way == FUNCTION && mdist_strategy_worker_count(strategy) == 1 && !self->reshuffles) {
        options.replication_mode = MDIST_REPLICATION_PER_REPLICA;
        put(&self->said, ", per replica");
    }
    if (way == FUNCTION) return mdist_distribute_from_function(strategy, make_own, self, out, &options, error);
    return mdist_distribute_dataset(strategy, self->dataset, out, &options, error);
}

/// What is counted: the numbers, their sum, a sum that tells {1, 4} from {2, 3}, and rows if elements have them.
enum { COUNT, SUM, MIXED, ROWS, COUNTERS };

static int64_t mixed(int64_t number) {
    return (int64_t)((uint64_t)number * 0x9e3779b97f4a7c15 >> 40);
}

static void count_numbers(const mdist_tensor_t *tensor, int64_t *counters) {
    for (uint64_t i = 0; i < mdist_tensor_elements(tensor); ++i) {
        const int64_t number = number_at(tensor, i);
        if (number == 0) continue;
        ++counters[COUNT];
        counters[SUM] += number;
        counters[MIXED] += mixed(number);
    }
}

static int says_too_few(mdist_status_t status, const mdist_error_t *error) {
    return status == MDIST_ERR_FAILED_PRECONDITION && strncmp(mdist_error_reason(error), "too_few", 7) == 0;
}

/// Counts one iteration on this worker, then adds up the counters of the job. Returns 0 if there were too few elements,
/// which nobody could know before.
static int count_all(mdist_strategy_t *strategy, const mdist_dataset_t *distributed, const char *said,
                     int64_t *counters) {
    mdist_error_t *error = NULL;
    mdist_iterator_t *iterator = NULL;
    mdist_value_t *value = NULL;
    mdist_status_t status;
    const uint32_t replicas = mdist_strategy_replica_count(strategy);
    uint64_t rows[16], all_rows = 0;
    memset(counters, 0, COUNTERS * sizeof *counters);
    OK(mdist_iterator_create(distributed, &iterator, &error));
    while ((status = mdist_iterator_next(iterator, &value, 1, &error)) == MDIST_OK) {
        for (uint32_t i = 0; i < mdist_strategy_local_replica_count(strategy); ++i) {
            mdist_tensor_t tensor;
            OK(mdist_value_tensor(value, i, &tensor, &error));
            count_numbers(&tensor, counters);
            counters[ROWS] += (int64_t)tensor.shape[0];
        }
        mdist_value_destroy(value);
        OK(mdist_iterator_row_counts(iterator, rows, replicas, &error));
        for (uint32_t i = 0; i < replicas; ++i) all_rows += rows[i];
    }
    if (all_rows == 0 && says_too_few(status, error)) {
        mdist_error_free(error);
        mdist_iterator_destroy(iterator);
        return 0;
    }
    if (status != MDIST_END) fprintf(stderr, "%s\n", said);
    expect_status(MDIST_END, status, error, "mdist_iterator_next", __FILE__, __LINE__);
    mdist_iterator_destroy(iterator);
    // Every local replica gives a part; all but one are zero.
    int64_t parts[4][COUNTERS] = {{0}};
    mdist_buffer_t buffers[4];
    memcpy(parts[0], counters, sizeof parts[0]);
    for (int i = 0; i < 4; ++i) buffers[i] = buffer_of(parts[i], MDIST_INT64, COUNTERS);
    OK(mdist_strategy_all_reduce(strategy, MDIST_SUM, buffers, buffers, 1, NULL, &error));
    memcpy(counters, parts[0], sizeof parts[0]);
    if (counters[ROWS] != (int64_t)all_rows) fprintf(stderr, "%s\n", said);
    assert_int_equal(counters[ROWS], (int64_t)all_rows);
    return 1;
}

static void expected_of(const Pipeline *self, uint64_t copies, int64_t *counters) {
    memset(counters, 0, COUNTERS * sizeof *counters);
    for (int64_t number = 1; number <= (int64_t)self->numbers; ++number) {
        const int64_t shown = self->mapped ? 10 * number : number;
        const int64_t times = (int64_t)(self->times * copies);
        counters[COUNT] += times;
        counters[SUM] += times * shown;
        counters[MIXED] += times * mixed(shown);
    }
}

/// Tries one seed. Returns whether something was dealt out: not if there are too few files or elements for all workers.
static int check_seed(mdist_strategy_t *strategy, uint64_t seed) {
    begin_random(seed * 16 + mdist_strategy_replica_count(strategy));
    const uint64_t way = draw(WAYS);
    Pipeline self = a_pipeline(way == FILE_POLICY || draw(2) == 0);
    // Scalars on one worker come in whole steps: TensorFlow's rule for shapes that are known in advance.
    if (way < NO_SPLIT || self.rank == 0) end_with_rows(&self);
    if (way == HINT) {
        self.dataset = shard(self.dataset, MDIST_ONE_PER_WORKER, 0);
        say(&self, "shard by hint", 0, 0);
    }
    mdist_dataset_t *distributed = NULL;
    mdist_error_t *error = NULL;
    const mdist_status_t status = deal(strategy, &self, way, &distributed, &error);
    const int few = says_too_few(status, error);
    if (status != MDIST_OK && !few)
        fail_msg("seed %llu:%s: %s", (unsigned long long)seed, self.said.data, mdist_error_message(error));
    mdist_error_free(error);
    if (status == MDIST_OK) {
        int64_t wanted[COUNTERS], got[COUNTERS];
        expected_of(&self, way == OFF ? mdist_strategy_worker_count(strategy) : 1, wanted);
        if (count_all(strategy, distributed, self.said.data, got) && memcmp(got, wanted, ROWS * sizeof *got) != 0)
            fail_msg(
                "seed %llu, %u workers of %u replicas:%s\n  %lld numbers came out, adding up to %lld, and went in "
                "%lld, adding up to %lld",
                (unsigned long long)seed, mdist_strategy_worker_count(strategy),
                mdist_strategy_local_replica_count(strategy), self.said.data, (long long)got[COUNT],
                (long long)got[SUM], (long long)wanted[COUNT], (long long)wanted[SUM]);
    }
    mdist_dataset_destroy(distributed);
    mdist_dataset_destroy(self.dataset);
    free(self.said.data);
    return status == MDIST_OK;
}

static void check_seeds(mdist_strategy_t *strategy) {
    uint64_t dealt = 0;
    for (uint64_t i = 0; i < how_many(); ++i) dealt += (uint64_t)check_seed(strategy, first_seed() + i);
    assert_true(2 * dealt >= how_many() || how_many() < 40);
}

static void random_pipelines(void) {
    mdist_strategy_t *strategy = join();
    check_seeds(strategy);
    mdist_strategy_destroy(strategy);
}

// ---- In one worker, and in several.

static void set_number(const char *name, uint64_t number) {
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    assert_int_equal(setenv(name, text, 1), 0);
}

static int prepare(void **state) {
    (void)state;
    char folder[] = "/tmp/mdist-rows-XXXXXX", path[128];
    if (mkdtemp(folder) == NULL || setenv("TEST_FOLDER", folder, 1) != 0) return -1;
    int64_t number = 1;
    for (uint64_t file = 0; file < FILES; ++file) {
        file_name(path, sizeof path, file);
        FILE *out = fopen(path, "wb");
        if (out == NULL) return -1;
        for (uint64_t i = 0; i < numbers_in_file(file); ++i, ++number) fwrite(&number, sizeof number, 1, out);
        if (fclose(out) != 0) return -1;
    }
    set_number("TEST_SEED", test_seed(1));
    set_number("TEST_SEEDS", seed_count(40, 1000));
    return 0;
}

static int clean_up(void **state) {
    (void)state;
    char path[128];
    for (uint64_t file = 0; file < FILES; ++file) {
        file_name(path, sizeof path, file);
        unlink(path);
    }
    return rmdir(getenv("TEST_FOLDER"));
}

static void no_row_is_lost_on_one_worker(void **state) {
    (void)state;
    for (uint32_t replicas = 1; replicas <= 4; ++replicas) {
        mdist_strategy_t *strategy = make_strategy(replicas, "threads");
        check_seeds(strategy);
        mdist_strategy_destroy(strategy);
    }
}

static void check_layout(uint32_t count, const char *devices, const char *order) {
    static const char *const names[] = {"TEST_FOLDER", "TEST_SEED", "TEST_SEEDS"};
    char lines[3][160];
    for (int i = 0; i < 3; ++i) snprintf(lines[i], sizeof lines[i], "%s=%s", names[i], getenv(names[i]));
    const char *const environment[] = {order, lines[0], lines[1], lines[2], NULL};
    const Workers job = {
        .scenario = "random_pipelines", .count = count, .devices = devices, .environment = environment};
    assert_int_equal(run_workers(&job), 0);
}

static void check_workers(uint32_t count) {
    char devices[16];
    for (uint32_t replicas = 1; replicas <= 4; ++replicas) {
        snprintf(devices, sizeof devices, "cpu*%u", replicas);
        check_layout(count, devices, replicas % 2 == 0 ? "MDIST_DATA_ORDER=replica" : "MDIST_DATA_ORDER=tf");
    }
}

static void no_row_is_lost_on_two_workers(void **state) {
    (void)state;
    check_workers(2);
}
static void no_row_is_lost_on_three_workers(void **state) {
    (void)state;
    check_workers(3);
}

static void no_row_is_lost_where_workers_have_different_numbers_of_replicas(void **state) {
    (void)state;
    check_layout(2, "cpu*1|cpu*2", "MDIST_DATA_ORDER=tf");
    check_layout(3, "cpu*3|cpu*3|cpu*1", "MDIST_DATA_ORDER=replica");
    check_layout(3, "cpu*1|cpu*4|cpu*2", "MDIST_DATA_ORDER=tf");
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_row_is_lost_on_one_worker),
        cmocka_unit_test(no_row_is_lost_on_two_workers),
        cmocka_unit_test(no_row_is_lost_on_three_workers),
        cmocka_unit_test(no_row_is_lost_where_workers_have_different_numbers_of_replicas),
    };
    return cmocka_run_group_tests(tests, prepare, clean_up);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {{"random_pipelines", random_pipelines}};
    return multi_main(argument_count, arguments, scenarios, 1, test_all);
}
