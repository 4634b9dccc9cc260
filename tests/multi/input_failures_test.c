// SPDX-License-Identifier: Apache-2.0
// Input fails on one of several workers, or is not the same on all. All workers must be told, and none may wait in
// vain.
#include "dataset_options.h"
#include "multi.h"

#include <signal.h>

#include "dealt.h"

enum { CODE = 23 };

/// A map function that refuses the third row of worker 1.
static int32_t refuse_third(const mdist_tensor_t *inputs, size_t input_count, const mdist_tensor_t *outputs,
                            size_t output_count, void *user_data) {
    (void)input_count, (void)output_count, (void)user_data;
    memcpy(outputs[0].data, inputs[0].data, sizeof(int64_t));
    if (rank != 1 || *(const int64_t *)inputs[0].data != 2) return 0;
    mdist_fail(0, "the row has no label");
    return CODE;
}

static int32_t make_mapped(const mdist_input_context_t *context, mdist_dataset_t **out, void *user_data) {
    (void)user_data;
    mdist_dataset_t *numbers = NULL, *mapped = NULL;
    const mdist_tensor_t scalar = tensor_of(NULL, MDIST_INT64, 0);
    if (mdist_dataset_range(0, 8 + context->pipeline, 1, &numbers, NULL, NULL) != MDIST_OK) return 1;
    if (mdist_dataset_map(numbers, refuse_third, NULL, NULL, &scalar, 1, &mapped, NULL, NULL) != MDIST_OK) return 1;
    mdist_dataset_batch(mapped, 1, out, NULL, NULL);
    mdist_dataset_destroy(numbers);
    mdist_dataset_destroy(mapped);
    return 0;
}

static mdist_iterator_t *iterator_of(mdist_dataset_t *distributed) {
    mdist_iterator_t *iterator = NULL;
    GIVES(MDIST_OK, mdist_iterator_create(distributed, &iterator, &error));
    mdist_dataset_destroy(distributed);
    return iterator;
}

static mdist_iterator_t *mapped_numbers(mdist_strategy_t *strategy) {
    mdist_dataset_t *distributed = NULL;
    GIVES(MDIST_OK, mdist_distribute_from_function(strategy, make_mapped, NULL, &distributed, NULL, &error));
    return iterator_of(distributed);
}

static int32_t meet(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    return mdist_barrier(replica, NULL, NULL) == MDIST_OK ? 0 : 1;
}

/// Checks that collectives still work: all workers do one run together.
static void require_collectives(mdist_strategy_t *strategy) {
    GIVES(MDIST_OK, mdist_run(strategy, meet, NULL, NULL, &error));
}

static mdist_status_t take(mdist_iterator_t *iterator, mdist_error_t **error) {
    mdist_value_t *value = NULL;
    const mdist_status_t status = mdist_iterator_next(iterator, &value, 1, error);
    mdist_value_destroy(value);
    return status;
}

static void a_function_fails_on_one(void) {
    mdist_strategy_t *strategy = join();
    mdist_iterator_t *iterator = mapped_numbers(strategy);
    const int per_step = (int)mdist_strategy_local_replica_count(strategy);
    for (int step = 0; step < 2 / per_step; ++step) GIVES(MDIST_OK, take(iterator, &error));
    for (int again = 0; again < 2; ++again) {
        mdist_error_t *why = NULL;
        REQUIRE(take(iterator, &why) == MDIST_ERR_CALLBACK);
        REQUIRE(mdist_error_native(why) == CODE && mdist_error_rank(why) == 1);
        REQUIRE(strstr(mdist_error_message(why), "worker 1") != NULL);
        REQUIRE(strstr(mdist_error_message(why), "the map function returned 23: the row has no label") != NULL);
        mdist_error_free(why);
    }
    require_collectives(strategy);
    mdist_iterator_t *other = mapped_numbers(strategy);
    GIVES(MDIST_OK, take(other, &error));
    mdist_iterator_destroy(other);
    mdist_iterator_destroy(iterator);
    mdist_strategy_destroy(strategy);
}

static int32_t fail_on_one(const mdist_input_context_t *context, mdist_dataset_t **out, void *user_data) {
    (void)user_data;
    *out = numbers_in_batches(4, 2, 0);
    return context->pipeline == 1 ? CODE : 0;
}

static int32_t count_up(uint64_t index, const mdist_tensor_t *outputs, size_t output_count, void **state,
                        void *user_data) {
    (void)output_count, (void)state, (void)user_data;
    *(int64_t *)outputs[0].data = (int64_t)index;
    return index < 4 ? MDIST_OK : MDIST_END;
}

/// Makes a dataset of a generator. On worker 1, no thread of the library may call the generator.
static int32_t make_counted(const mdist_input_context_t *context, mdist_dataset_t **out, void *user_data) {
    (void)user_data;
    const mdist_tensor_t scalar = tensor_of(NULL, MDIST_INT64, 0);
    return mdist_dataset_from_generator(count_up, NULL, NULL, NULL, &scalar, 1, out,
                                        context->pipeline == 1 ? NULL : &any_thread, NULL);
}

/// A distribution that fails on one worker fails on all. The job goes on.
static void a_distribution_fails_on_one(void) {
    mdist_strategy_t *strategy = join();
    mdist_dataset_t *source = numbers_in_batches(8, 2, 0), *out = NULL;
    mdist_error_t *why = NULL;
    REQUIRE(mdist_distribute_from_function(strategy, fail_on_one, NULL, &out, NULL, &why) == MDIST_ERR_CALLBACK);
    REQUIRE(mdist_error_native(why) == CODE && mdist_error_rank(why) == 1);
    mdist_error_free(why);
    GIVES(MDIST_ERR_BAD_HANDLE, mdist_distribute_dataset(strategy, rank == 1 ? NULL : source, &out, NULL, &error));
    mdist_input_options_t options = {.struct_size = sizeof options, .policy = rank == 1 ? 9 : 0};
    GIVES(MDIST_ERR_INVALID_ARGUMENT, mdist_distribute_dataset(strategy, source, &out, &options, &error));
    options = (mdist_input_options_t){.struct_size = sizeof options, .replication_mode = MDIST_REPLICATION_PER_REPLICA};
    GIVES(MDIST_ERR_UNSUPPORTED, mdist_distribute_from_function(strategy, fail_on_one, NULL, &out, &options, &error));
    options = (mdist_input_options_t){.struct_size = sizeof options, .fetch_to_device = 1};
    GIVES(MDIST_ERR_FAILED_PRECONDITION,
          mdist_distribute_from_function(strategy, make_counted, NULL, &out, &options, &error));
    REQUIRE(strcmp(reason, "callers_thread") == 0 && guilty_worker == 1);
    REQUIRE(out == NULL);
    require_collectives(strategy);
    mdist_iterator_t *iterator = mapped_numbers(strategy); // all workers still have the same count of datasets
    GIVES(MDIST_OK, take(iterator, &error));
    mdist_iterator_destroy(iterator);
    GIVES(MDIST_OK, mdist_distribute_dataset(strategy, source, &out, NULL, &error));
    mdist_dataset_destroy(out);
    mdist_dataset_destroy(source);
    mdist_strategy_destroy(strategy);
}

static int32_t make_other_kinds(const mdist_input_context_t *context, mdist_dataset_t **out, void *user_data) {
    (void)user_data;
    *out = numbers_in_batches(4, context->pipeline == 1 ? 2 : 0, 0);
    return 0;
}

static void workers_disagree(void) {
    mdist_strategy_t *strategy = join();
    mdist_dataset_t *source = numbers_in_batches(8, 2, 0), *out = NULL;
    const mdist_input_options_t options = {.struct_size = sizeof options,
                                           .flags = rank == 1 ? MDIST_INPUT_WHOLE_STEPS : 0};
    GIVES(MDIST_ERR_MISMATCH, mdist_distribute_dataset(strategy, source, &out, &options, &error));
    REQUIRE(strstr(message, "flags 0") != NULL && strstr(message, "flags 2") != NULL);
    REQUIRE(strcmp(reason, "different_calls") == 0 && guilty_worker == 1);
    GIVES(MDIST_ERR_MISMATCH, mdist_distribute_from_function(strategy, make_other_kinds, NULL, &out, NULL, &error));
    REQUIRE(strstr(message, "of rank 0") != NULL && strstr(message, "of rank 1") != NULL);
    REQUIRE(out == NULL);
    require_collectives(strategy);
    mdist_dataset_destroy(source);
    mdist_strategy_destroy(strategy);
}

/// One worker takes an element while the other has gone on. That ends the job for both.
static void one_asks_alone(void) {
    mdist_strategy_t *strategy = join();
    mdist_iterator_t *iterator = mapped_numbers(strategy), *other = mapped_numbers(strategy);
    GIVES(MDIST_OK, take(iterator, &error));
    GIVES(MDIST_ERR_MISMATCH, take(rank == 0 ? iterator : other, &error));
    REQUIRE(strstr(message, "mdist_iterator_next(0.0, element 1)") != NULL);
    REQUIRE(strstr(message, "mdist_iterator_next(1.0, element 0)") != NULL);
    GIVES(MDIST_ERR_MISMATCH, take(rank == 0 ? iterator : other, &error));
    // The job is over. The error is the cause itself, or says that there was one.
    mdist_error_t *last = NULL;
    const mdist_status_t status = take(rank == 0 ? other : iterator, &last);
    REQUIRE(status == MDIST_ERR_ABORTED || status == MDIST_ERR_MISMATCH);
    mdist_error_free(last);
    mdist_iterator_destroy(iterator);
    mdist_iterator_destroy(other);
    mdist_strategy_destroy(strategy);
}

typedef struct Asked {
    mdist_iterator_t *iterator;
    int wrong[2]; // by local replica
} Asked;

static int32_t take_in_step(mdist_replica_t *replica, void *user_data) {
    Asked *const self = user_data;
    mdist_error_t *error = NULL;
    self->wrong[mdist_replica_local_index(replica)] = take(self->iterator, &error) != MDIST_ERR_WRONG_CONTEXT;
    mdist_error_free(error);
    return mdist_barrier(replica, NULL, NULL) == MDIST_OK ? 0 : 1;
}

static void iterators_end_with_their_strategy(void) {
    mdist_strategy_t *strategy = join();
    Asked asked = {.iterator = mapped_numbers(strategy)};
    GIVES(MDIST_OK, mdist_run(strategy, take_in_step, &asked, NULL, &error));
    REQUIRE(asked.wrong[0] == 0 && asked.wrong[1] == 0);
    GIVES(MDIST_OK, mdist_run_begin(strategy, NULL, &error));
    GIVES(MDIST_ERR_FAILED_PRECONDITION, take(asked.iterator, &error));
    REQUIRE(strcmp(reason, "busy") == 0);
    for (uint32_t i = 0; i < mdist_strategy_local_replica_count(strategy); ++i) {
        mdist_replica_t *replica = NULL;
        GIVES(MDIST_OK, mdist_replica_enter(strategy, i, &replica, &error));
        GIVES(MDIST_ERR_FAILED_PRECONDITION, take(asked.iterator, &error));
        GIVES(MDIST_OK, mdist_replica_exit(replica, 0, &error));
    }
    GIVES(MDIST_OK, mdist_run_end(strategy, NULL, 0, &error));
    GIVES(MDIST_OK, take(asked.iterator, &error)); // the iterator still works
    require_collectives(strategy);
    mdist_strategy_destroy(strategy);
    GIVES(MDIST_ERR_FAILED_PRECONDITION, take(asked.iterator, &error));
    mdist_iterator_destroy(asked.iterator);
}

/// The victim dies between two steps. It waits until all are in a run, so that all have taken an element. Others may
/// notice its end in that run.
static void a_worker_is_killed(void) {
    mdist_strategy_t *strategy = join();
    mdist_iterator_t *iterator = mapped_numbers(strategy);
    GIVES(MDIST_OK, take(iterator, &error));
    const mdist_status_t met = mdist_run(strategy, meet, NULL, NULL, NULL);
    if (rank == victim) raise(SIGKILL);
    REQUIRE(met == MDIST_OK || met == MDIST_ERR_PEER_LOST || met == MDIST_ERR_ABORTED || met == MDIST_ERR_CALLBACK);
    mdist_error_t *why = NULL;
    const mdist_status_t status = take(iterator, &why);
    REQUIRE(status == MDIST_ERR_PEER_LOST); // whether they learn of it before the call or in the call
    REQUIRE(mdist_error_rank(why) == victim);
    mdist_error_free(why);
    mdist_iterator_destroy(iterator);
    mdist_strategy_destroy(strategy);
}

static int32_t idle(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element, void *user_data) {
    (void)strategy, (void)loop, (void)element, (void)user_data;
    return 0;
}

static void a_loop_fails_on_one(void) {
    mdist_strategy_t *strategy = join();
    mdist_iterator_t *iterator = mapped_numbers(strategy);
    mdist_loop_t *loop = NULL;
    mdist_error_t *why = NULL;
    const mdist_status_t status =
        mdist_run_steps(strategy, iterator, MDIST_FOREVER, idle, NULL, NULL, &loop, NULL, &why);
    // A worker may learn that the other's loop has failed before it learns why.
    REQUIRE(status == MDIST_ERR_CALLBACK || status == MDIST_ERR_ABORTED);
    REQUIRE(strstr(mdist_error_message(why), "worker 1") != NULL && loop == NULL);
    mdist_error_free(why);
    mdist_iterator_destroy(iterator);
    mdist_strategy_destroy(strategy);
}

static void check(const char *scenario, const char *devices) {
    const Workers job = {.scenario = scenario, .count = 2, .devices = devices};
    assert_int_equal(run_workers(&job), 0);
}

static void what_fails_on_one_worker_fails_on_all(void **unused) {
    (void)unused;
    check("a_function_fails_on_one", "cpu*1");
    check("a_function_fails_on_one", "cpu*2");
    check("a_distribution_fails_on_one", "cpu*1");
    check("a_loop_fails_on_one", "cpu*1");
}

static void workers_that_distribute_differently_are_told_so(void **unused) {
    (void)unused;
    check("workers_disagree", "cpu*2");
}

static void a_worker_that_asks_alone_is_told_so(void **unused) {
    (void)unused;
    check("one_asks_alone", "cpu*1");
}

static void iterators_belong_outside_of_steps_of_a_living_strategy(void **unused) {
    (void)unused;
    check("iterators_end_with_their_strategy", "cpu*1");
    check("iterators_end_with_their_strategy", "cpu*2");
}

static void nobody_waits_for_a_worker_that_is_lost(void **unused) {
    (void)unused;
    const Workers job = {.scenario = "a_worker_is_killed", .count = 3, .devices = "cpu*1", .victim = 1, .killed = 1};
    assert_int_equal(run_workers(&job), 0);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fails_on_one_worker_fails_on_all),
        cmocka_unit_test(workers_that_distribute_differently_are_told_so),
        cmocka_unit_test(a_worker_that_asks_alone_is_told_so),
        cmocka_unit_test(iterators_belong_outside_of_steps_of_a_living_strategy),
        cmocka_unit_test(nobody_waits_for_a_worker_that_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {
        {"a_function_fails_on_one", a_function_fails_on_one},
        {"a_distribution_fails_on_one", a_distribution_fails_on_one},
        {"a_loop_fails_on_one", a_loop_fails_on_one},
        {"workers_disagree", workers_disagree},
        {"one_asks_alone", one_asks_alone},
        {"iterators_end_with_their_strategy", iterators_end_with_their_strategy},
        {"a_worker_is_killed", a_worker_is_killed},
    };
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
