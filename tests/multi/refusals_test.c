// SPDX-License-Identifier: Apache-2.0
// A call outside of steps that all workers refuse leaves the job as it was, whatever the function and the layout. If
// only some refuse it, each of them gets its own error, and the job ends with that error's words on all others. (Calls
// in a step: step_refusals_test.c.)
//
// The model: after any number of refused calls, a sum is what it would be without them.
#include "multi.h"

#include "random.h"

/// What a misuse needs.
typedef struct Job {
    mdist_strategy_t *strategy;
    mdist_value_t *whole, *scalars, *vectors; // per-replica values: int32[1], float32[] and float32[2]
    mdist_value_t *plain;                     // int32[1]
    mdist_value_t *rows;                      // one row of each replica
    mdist_variable_t *variable;               // "kept"
    mdist_dataset_t *dataset, *dealt;
    mdist_iterator_t *iterator; // of `dealt`
    mdist_checkpoint_t *checkpoint;
} Job;

typedef mdist_status_t (*Misuse)(Job *job, mdist_error_t **error);
typedef struct Case {
    const char *name; // of the function
    Misuse call;
    mdist_status_t wanted;
} Case;

// --- calls that are refused

static mdist_status_t reduce(Job *job, const mdist_value_t *value, mdist_reduce_op_t op, int32_t axis, size_t axes,
                             mdist_error_t **error) {
    mdist_value_t *out = NULL;
    return mdist_strategy_reduce_axes(job->strategy, op, value, &axis, axes, &out, NULL, error);
}

static mdist_status_t mean_of_integers(Job *job, mdist_error_t **error) {
    return reduce(job, job->whole, MDIST_MEAN, 0, 0, error);
}

static mdist_status_t unknown_operation(Job *job, mdist_error_t **error) {
    return reduce(job, job->vectors, 77, 0, 0, error);
}

static mdist_status_t wrong_axis(Job *job, mdist_error_t **error) {
    return reduce(job, job->vectors, MDIST_SUM, 3, 1, error);
}

/// The others may pass per-replica values, and then wait for this worker's.
static mdist_status_t sum_of_plain(Job *job, mdist_error_t **error) {
    return reduce(job, job->plain, MDIST_SUM, 0, 0, error);
}

static mdist_status_t sum_of_plain_to(Job *job, mdist_error_t **error) {
    mdist_value_t *out = NULL;
    return mdist_strategy_reduce_to(job->strategy, MDIST_SUM, &job->plain, NULL, 1, &out, NULL, error);
}

static mdist_status_t mean_of_integers_to(Job *job, mdist_error_t **error) {
    mdist_value_t *out = NULL;
    return mdist_strategy_reduce_to(job->strategy, MDIST_MEAN, &job->whole, NULL, 1, &out, NULL, error);
}

static mdist_status_t unknown_destination(Job *job, mdist_error_t **error) {
    mdist_value_t *out = NULL;
    const char *const nowhere = "tpu:7";
    return mdist_strategy_reduce_to(job->strategy, MDIST_SUM, &job->vectors, &nowhere, 1, &out, NULL, error);
}

static mdist_status_t gather_of_scalars(Job *job, mdist_error_t **error) {
    mdist_value_t *out = NULL;
    return mdist_strategy_gather(job->strategy, job->scalars, 0, &out, NULL, error);
}

static mdist_status_t gather_along_no_axis(Job *job, mdist_error_t **error) {
    mdist_value_t *out = NULL;
    return mdist_strategy_gather(job->strategy, job->vectors, 2, &out, NULL, error);
}

static mdist_status_t name_used_twice(Job *job, mdist_error_t **error) {
    float zero = 0;
    const mdist_tensor_t initial = tensor_of(&zero, MDIST_FLOAT32, 1);
    mdist_variable_t *again = NULL;
    return mdist_variable_create(job->strategy, "kept", &initial, &again, NULL, error);
}

static mdist_status_t group_of_nobody(Job *job, mdist_error_t **error) {
    const uint32_t ids[] = {1000};
    mdist_group_t *group = NULL;
    return mdist_group_create(job->strategy, ids, 1, &group, error);
}

static mdist_status_t mean_of_integer_buffers(Job *job, mdist_error_t **error) {
    int32_t numbers[16] = {0};
    mdist_buffer_t buffers[16];
    for (int i = 0; i < 16; ++i) buffers[i] = buffer_of(&numbers[i], MDIST_INT32, 1);
    return mdist_strategy_all_reduce(job->strategy, MDIST_MEAN, buffers, buffers, 1, NULL, error);
}

static mdist_status_t largest_of_rows(Job *job, mdist_error_t **error) {
    return reduce(job, job->rows, MDIST_MAX, 0, 0, error);
}

static mdist_status_t gather_of_rows(Job *job, mdist_error_t **error) {
    mdist_value_t *out = NULL;
    return mdist_strategy_gather(job->strategy, job->rows, 1, &out, NULL, error);
}

static mdist_status_t loop_of_nothing(Job *job, mdist_error_t **error) {
    mdist_loop_t *loop = NULL;
    return mdist_run_steps(job->strategy, job->iterator, 1, NULL, NULL, NULL, &loop, NULL, error);
}

static mdist_status_t broadcast_of_nothing(Job *job, mdist_error_t **error) {
    mdist_value_t *out = NULL;
    return mdist_strategy_broadcast(job->strategy, NULL, &out, error);
}

static mdist_status_t read_to_nowhere(Job *job, mdist_error_t **error) {
    return mdist_variable_read(job->variable, NULL, NULL, error);
}

static mdist_status_t assign_of_nothing(Job *job, mdist_error_t **error) {
    return mdist_variable_assign(job->variable, MDIST_ASSIGN_SET, NULL, error);
}

static mdist_status_t check_to_nowhere(Job *job, mdist_error_t **error) {
    return mdist_membership_check(job->strategy, NULL, NULL, NULL, error);
}

static mdist_status_t save_with_no_number(Job *job, mdist_error_t **error) {
    return mdist_checkpoint_save(job->checkpoint, UINT64_MAX, NULL, error);
}

static mdist_status_t restore_of_no_number(Job *job, mdist_error_t **error) {
    return mdist_checkpoint_restore(job->checkpoint, UINT64_MAX - 1, NULL, NULL, error);
}

static mdist_status_t distribute_nothing(Job *job, mdist_error_t **error) {
    mdist_dataset_t *out = NULL;
    return mdist_distribute_dataset(job->strategy, NULL, &out, NULL, error);
}

static mdist_status_t distribute_by_no_policy(Job *job, mdist_error_t **error) {
    mdist_dataset_t *out = NULL;
    const mdist_input_options_t options = {.struct_size = sizeof options, .policy = 77};
    return mdist_distribute_dataset(job->strategy, job->dataset, &out, &options, error);
}

static mdist_status_t distribute_from_no_function(Job *job, mdist_error_t **error) {
    mdist_dataset_t *out = NULL;
    return mdist_distribute_from_function(job->strategy, NULL, NULL, &out, NULL, error);
}

static mdist_status_t too_many_components(Job *job, mdist_error_t **error) {
    mdist_value_t *out[2] = {NULL, NULL};
    return mdist_iterator_next(job->iterator, out, 2, error);
}

static const Case outside[] = {
    {"mdist_strategy_reduce", mean_of_integers, MDIST_ERR_INVALID_ARGUMENT},
    {"mdist_strategy_reduce", unknown_operation, MDIST_ERR_INVALID_ARGUMENT},
    {"mdist_strategy_reduce", wrong_axis, MDIST_ERR_INVALID_ARGUMENT},
    {"mdist_strategy_reduce", sum_of_plain, MDIST_ERR_INVALID_ARGUMENT},
    {"mdist_strategy_reduce_to", sum_of_plain_to, MDIST_ERR_INVALID_ARGUMENT},
    {"mdist_strategy_reduce_to", mean_of_integers_to, MDIST_ERR_INVALID_ARGUMENT},
    {"mdist_strategy_reduce_to", unknown_destination, MDIST_ERR_INVALID_ARGUMENT},
    {"mdist_strategy_gather", gather_of_scalars, MDIST_ERR_INVALID_ARGUMENT},
    {"mdist_strategy_gather", gather_along_no_axis, MDIST_ERR_INVALID_ARGUMENT},
    {"mdist_variable_create", name_used_twice, MDIST_ERR_INVALID_ARGUMENT},
    {"mdist_group_create", group_of_nobody, MDIST_ERR_INVALID_ARGUMENT},
    {"mdist_strategy_all_reduce", mean_of_integer_buffers, MDIST_ERR_INVALID_ARGUMENT},
    {"mdist_strategy_reduce", largest_of_rows, MDIST_ERR_UNSUPPORTED},
    {"mdist_strategy_gather", gather_of_rows, MDIST_ERR_UNSUPPORTED},
    {"mdist_run_steps", loop_of_nothing, MDIST_ERR_INVALID_ARGUMENT},
    // If only some refuse the following, the others are not told, or all reach one outcome.
    {"mdist_strategy_broadcast", broadcast_of_nothing, MDIST_ERR_INVALID_ARGUMENT},
    {"mdist_variable_read", read_to_nowhere, MDIST_ERR_INVALID_ARGUMENT},
    {"mdist_variable_assign", assign_of_nothing, MDIST_ERR_BAD_HANDLE},
    {"mdist_membership_check", check_to_nowhere, MDIST_ERR_INVALID_ARGUMENT},
    {"mdist_checkpoint_save", save_with_no_number, MDIST_ERR_INVALID_ARGUMENT},
    {"mdist_checkpoint_restore", restore_of_no_number, MDIST_ERR_INVALID_ARGUMENT},
    {"mdist_distribute_dataset", distribute_nothing, MDIST_ERR_BAD_HANDLE},
    {"mdist_distribute_dataset", distribute_by_no_policy, MDIST_ERR_INVALID_ARGUMENT},
    {"mdist_distribute_from_function", distribute_from_no_function, MDIST_ERR_INVALID_ARGUMENT},
    {"mdist_iterator_next", too_many_components, MDIST_ERR_INVALID_ARGUMENT},
};
enum { TOLD = 15, OUTSIDE = sizeof outside / sizeof outside[0] };

// --- a job and what it can do

static int32_t values_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    int32_t number = 3;
    float pair[2] = {1, 2};
    const mdist_tensor_t whole = tensor_of(&number, MDIST_INT32, 1), vector = tensor_of(pair, MDIST_FLOAT32, 2);
    mdist_tensor_t scalar = tensor_of(pair, MDIST_FLOAT32, 1);
    scalar.rank = 0;
    return mdist_replica_set_result(replica, 0, NULL, &whole, NULL) != MDIST_OK ||
           mdist_replica_set_result(replica, 1, NULL, &scalar, NULL) != MDIST_OK ||
           mdist_replica_set_result(replica, 2, NULL, &vector, NULL) != MDIST_OK;
}

static void begin_rows(Job *job) {
    const uint32_t locals = mdist_strategy_local_replica_count(job->strategy);
    int64_t index = 3;
    float number = 1;
    mdist_tensor_t indices[8], numbers[8];
    mdist_value_t *which = NULL, *what = NULL;
    for (uint32_t i = 0; i < locals; ++i) {
        indices[i] = tensor_of(&index, MDIST_INT64, 1);
        numbers[i] = tensor_of(&number, MDIST_FLOAT32, 1);
    }
    GIVES(MDIST_OK, mdist_value_per_replica(job->strategy, indices, locals, &which, &error));
    GIVES(MDIST_OK, mdist_value_per_replica(job->strategy, numbers, locals, &what, &error));
    GIVES(MDIST_OK, mdist_value_sparse(which, what, &job->rows, &error));
    mdist_value_destroy(which);
    mdist_value_destroy(what);
}

static void begin_input(Job *job) {
    const int64_t end = 10000;
    mdist_dataset_t *numbers = NULL;
    GIVES(MDIST_OK, mdist_dataset_range(0, end, 1, &numbers, NULL, &error));
    GIVES(MDIST_OK, mdist_dataset_batch(numbers, 30, &job->dataset, NULL, &error));
    GIVES(MDIST_OK, mdist_distribute_dataset(job->strategy, job->dataset, &job->dealt, NULL, &error));
    GIVES(MDIST_OK, mdist_iterator_create(job->dealt, &job->iterator, &error));
    mdist_dataset_destroy(numbers);
}

static Job begin(void) {
    Job job = {.strategy = join()};
    mdist_value_t *values[3];
    float zero = 0;
    const mdist_tensor_t initial = tensor_of(&zero, MDIST_FLOAT32, 1);
    GIVES(MDIST_OK, mdist_run(job.strategy, values_step, NULL,
                              &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = values, .result_count = 3}, &error));
    GIVES(MDIST_OK, mdist_variable_create(job.strategy, "kept", &initial, &job.variable, NULL, &error));
    int32_t number = 3;
    const mdist_tensor_t whole = tensor_of(&number, MDIST_INT32, 1);
    GIVES(MDIST_OK, mdist_value_create(&whole, &job.plain, &error));
    job.whole = values[0], job.scalars = values[1], job.vectors = values[2];
    begin_rows(&job);
    begin_input(&job);
    GIVES(MDIST_OK, mdist_checkpoint_create(job.strategy, "/nowhere/to/be/found", 0, &job.checkpoint, &error));
    GIVES(MDIST_OK, mdist_checkpoint_add(job.checkpoint, "kept", job.variable, &error));
    return job;
}

static void end(Job *job) {
    mdist_value_destroy(job->whole);
    mdist_value_destroy(job->scalars);
    mdist_value_destroy(job->vectors);
    mdist_value_destroy(job->plain);
    mdist_value_destroy(job->rows);
    mdist_checkpoint_destroy(job->checkpoint);
    mdist_iterator_destroy(job->iterator);
    mdist_dataset_destroy(job->dealt);
    mdist_dataset_destroy(job->dataset);
    mdist_variable_destroy(job->variable);
    mdist_strategy_destroy(job->strategy);
}

static mdist_status_t sum_of_ids(mdist_replica_t *replica) {
    const uint32_t n = (uint32_t)mdist_replica_count(replica);
    uint64_t sum = (uint64_t)mdist_replica_id(replica);
    const mdist_buffer_t buffer = buffer_of(&sum, MDIST_UINT64, 1);
    const mdist_status_t status = mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL);
    if (status == MDIST_OK) REQUIRE(sum == (uint64_t)n * (n - 1) / 2);
    return status;
}

static int32_t sum_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    return sum_of_ids(replica) != MDIST_OK;
}

static mdist_status_t sum_outside(Job *job, mdist_error_t **error) {
    mdist_value_t *out = NULL;
    mdist_tensor_t tensor;
    const mdist_status_t status = mdist_strategy_reduce(job->strategy, MDIST_SUM, job->whole, &out, NULL, error);
    if (status != MDIST_OK) return status;
    REQUIRE(mdist_value_tensor(out, 0, &tensor, NULL) == MDIST_OK);
    REQUIRE(*(const int32_t *)tensor.data == 3 * (int32_t)mdist_strategy_replica_count(job->strategy));
    mdist_value_destroy(out);
    return MDIST_OK;
}

static void require_sound(Job *job) {
    GIVES(MDIST_OK, mdist_strategy_check_health(job->strategy, &error));
    GIVES(MDIST_OK, sum_outside(job, &error));
    GIVES(MDIST_OK, mdist_run(job->strategy, sum_step, NULL, NULL, &error));
    mdist_value_t *element = NULL;
    GIVES(MDIST_OK, mdist_iterator_next(job->iterator, &element, 1, &error));
    mdist_value_destroy(element);
}

// --- all refuse

static void all_refuse_alike(void) {
    Job job = begin();
    uint64_t random = test_seed(7);
    for (int round = 0; round < 60; ++round) {
        const Case *each = &outside[draw_from(&random, OUTSIDE)];
        GIVES(each->wanted, each->call(&job, &error));
        if (draw_from(&random, 3) == 0) require_sound(&job);
    }
    require_sound(&job);
    end(&job);
}

/// Each once, so that none is left out by chance.
static void all_refuse_each(void) {
    Job job = begin();
    for (int i = 0; i < OUTSIDE; ++i) {
        GIVES(outside[i].wanted, outside[i].call(&job, &error));
        require_sound(&job);
    }
    end(&job);
}

// --- one refuses

static void one_refuses_outside(void) {
    for (int i = 0; i < TOLD; ++i) {
        Job job = begin();
        if (rank == victim) {
            GIVES(outside[i].wanted, outside[i].call(&job, &error));
        } else {
            mdist_error_t *error = NULL;
            REQUIRE(sum_outside(&job, &error) == MDIST_ERR_ABORTED || mdist_error_status(error) == outside[i].wanted);
            REQUIRE(strstr(mdist_error_message(error), outside[i].name) != NULL);
            mdist_error_free(error);
        }
        mdist_error_t *error = NULL;
        REQUIRE(sum_outside(&job, &error) == MDIST_ERR_ABORTED);
        REQUIRE(strstr(mdist_error_message(error), outside[i].name) != NULL);
        mdist_error_free(error);
        end(&job);
    }
}

// --- the tests

static void check(const char *scenario, uint32_t workers, const char *devices, const char *const *environment) {
    const Workers job = {
        .scenario = scenario, .count = workers, .devices = devices, .environment = environment, .victim = workers - 1};
    if (run_workers(&job) == 0) return;
    print_error("%s: %u workers with %s\n", scenario, workers, devices);
    fail();
}

static const char *const apart[] = {"MDIST_COMMUNICATION_IMPLEMENTATION=tcp", NULL};

static void check_layouts(const char *scenario) {
    check(scenario, 1, "cpu*2", NULL);
    check(scenario, 2, "cpu*1", NULL);
    check(scenario, 2, "cpu*2", apart);
    check(scenario, 3, "cpu*2", NULL);
    check(scenario, 5, "cpu*1", apart); // by relays
}

static void what_all_refuse_leaves_the_job_as_it_was(void **unused) {
    (void)unused;
    check_layouts("all_refuse_alike");
    check_layouts("all_refuse_each");
}

static void what_one_refuses_ends_the_job_for_its_reason(void **unused) {
    (void)unused;
    check("one_refuses_outside", 2, "cpu*1", NULL);
    check("one_refuses_outside", 2, "cpu*2", apart);
    check("one_refuses_outside", 5, "cpu*1", apart);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_all_refuse_leaves_the_job_as_it_was),
        cmocka_unit_test(what_one_refuses_ends_the_job_for_its_reason),
    };
    return cmocka_run_group_tests_name("refusals", tests, NULL, NULL);
}

int main(int argc, char **argv) {
    static const NamedScenario scenarios[] = {
        {"all_refuse_alike", all_refuse_alike},
        {"all_refuse_each", all_refuse_each},
        {"one_refuses_outside", one_refuses_outside},
    };
    return multi_main(argc, argv, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
