// SPDX-License-Identifier: Apache-2.0
// The cause of a failed run. A step can only return a number, so the run also tells which library call had failed in
// it. The cases are beginners' mistakes, each with the words that must be in the message.
#include "variable_support.h"

#include <pthread.h>

typedef struct World {
    mdist_strategy_t *strategy;
    mdist_variable_t *variable;
    int32_t returned; // what the step returns after its mistake
} World;

typedef mdist_status_t (*Mistake)(const World *world, mdist_replica_t *replica);

static float numbers[8];

/// A step in which replica 1 makes the mistake. The others wait for it or return at once.
typedef struct Case {
    Mistake mistake;
    const char *words[3];
    int in_merge, others_wait;
} Case;

typedef struct Step {
    const World *world;
    const Case *tried;
} Step;

static mdist_status_t reduce_in_a_step(const World *world, mdist_replica_t *replica) {
    mdist_value_t *out = NULL;
    (void)replica;
    return mdist_strategy_reduce(world->strategy, MDIST_SUM, NULL, &out, NULL, NULL);
}

static int32_t do_nothing(mdist_replica_t *replica, void *user_data) {
    (void)replica, (void)user_data;
    return 0;
}

static mdist_status_t run_in_a_step(const World *world, mdist_replica_t *replica) {
    (void)replica;
    return mdist_run(world->strategy, do_nothing, NULL, NULL, NULL);
}

static mdist_status_t run_without_a_step(const World *world, mdist_replica_t *replica) {
    (void)replica;
    return mdist_run(world->strategy, NULL, NULL, NULL, NULL);
}

static mdist_status_t create_in_a_step(const World *world, mdist_replica_t *replica) {
    const mdist_tensor_t scalar = tensor_of(numbers, MDIST_FLOAT32, 0);
    mdist_variable_t *out = NULL;
    (void)replica;
    return mdist_variable_create(world->strategy, "late", &scalar, &out, NULL, NULL);
}

static mdist_status_t no_replica(const World *world, mdist_replica_t *replica) {
    (void)world, (void)replica;
    return mdist_barrier(NULL, NULL, NULL);
}

static mdist_status_t a_strategy_for_a_replica(const World *world, mdist_replica_t *replica) {
    (void)replica;
    return mdist_barrier((mdist_replica_t *)world->strategy, NULL, NULL);
}

static mdist_status_t an_index_that_is_not_there(const World *world, mdist_replica_t *replica) {
    mdist_tensor_t tensor;
    (void)replica;
    return mdist_variable_tensor(world->variable, 7, &tensor, NULL);
}

typedef struct Elsewhere {
    mdist_replica_t *replica;
    mdist_status_t status;
} Elsewhere;

static void *wait_elsewhere(void *argument) {
    Elsewhere *self = argument;
    self->status = mdist_barrier(self->replica, NULL, NULL);
    return NULL;
}

static mdist_status_t another_thread(const World *world, mdist_replica_t *replica) {
    (void)world;
    Elsewhere elsewhere = {replica, MDIST_OK};
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_elsewhere, &elsewhere) != 0) return MDIST_OK;
    pthread_join(thread, NULL);
    return elsewhere.status;
}

static int32_t merge(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                     mdist_value_t **results, size_t result_count, void *user_data) {
    const Step *step = user_data;
    (void)strategy, (void)arguments, (void)argument_count, (void)results, (void)result_count;
    return step->tried->mistake(step->world, NULL) == MDIST_OK ? 0 : step->world->returned;
}

static int32_t make_the_mistake(mdist_replica_t *replica, void *user_data) {
    const Step *step = user_data;
    if (step->tried->in_merge)
        return mdist_merge_call(replica, merge, user_data, NULL, 0, NULL, 0, NULL, NULL) == MDIST_OK ? 0 : 5;
    if (mdist_replica_id(replica) != 1)
        return step->tried->others_wait && mdist_barrier(replica, NULL, NULL) != MDIST_OK ? 4 : 0;
    return step->tried->mistake(step->world, replica) == MDIST_OK ? 0 : step->world->returned;
}

static const Case cases[] = {
    {reduce_in_a_step, {"mdist_strategy_reduce cannot be called in a step", "mdist_all_reduce"}, 0, 0},
    {run_in_a_step, {"mdist_run", "mdist_merge_call"}, 0, 0},
    {create_in_a_step, {"mdist_replica_variable_create"}, 0, 0},
    {no_replica, {"mdist_barrier: expected a replica handle, got NULL", "from mdist_run"}, 0, 0},
    {a_strategy_for_a_replica, {"got a strategy handle", "from mdist_run"}, 0, 0},
    {an_index_that_is_not_there, {"mdist_variable_tensor: local_replica is 7; this strategy has 2"}, 0, 0},
    {another_thread,
     {"mdist_barrier: this thread does not run the step of replica 1", "mdist_run_begin (threads.h)"},
     0,
     0},
    {another_thread, {"this thread does not run the step of replica 1", "mdist_run_begin (threads.h)"}, 0, 1},
    {an_index_that_is_not_there, {"the merge function returned", "mdist_variable_tensor: local_replica is 7"}, 1, 0},
    {run_without_a_step, {"the merge function returned", "mdist_run: step is NULL"}, 1, 0},
};

static World make_world(void) {
    World world = {.strategy = make_strategy(2, NULL), .returned = 3};
    world.variable = scalar_variable(world.strategy, "v", 0, MDIST_SYNC_AUTO, MDIST_AGGREGATION_NONE);
    return world;
}

static void end_world(const World *world) {
    mdist_variable_destroy(world->variable);
    mdist_strategy_destroy(world->strategy);
}

static void the_call_that_failed_in_a_step_comes_back_from_the_run(void **state) {
    (void)state;
    const World world = make_world();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        mdist_error_t *error = NULL;
        Step step = {&world, &cases[i]};
        const mdist_status_t status = mdist_run(world.strategy, make_the_mistake, &step, NULL, &error);
        assert_int_equal(status, MDIST_ERR_CALLBACK);
        assert_int_equal(mdist_error_native(error), world.returned);
        for (size_t w = 0; w < 3 && cases[i].words[w] != NULL; ++w) WORDS(error, cases[i].words[w]);
        mdist_error_free(error);
    }
    end_world(&world);
}

/// The step ignores the failed call's status. The run fails anyway, because other replicas waited for that call.
static void a_failed_call_that_the_step_forgot_is_told_to_those_who_waited_for_it(void **state) {
    (void)state;
    World world = make_world();
    const Case forgotten = {another_thread, {NULL}, 0, 1};
    Step step = {&world, &forgotten};
    mdist_error_t *error = NULL;
    world.returned = 0;
    const mdist_status_t status = mdist_run(world.strategy, make_the_mistake, &step, NULL, &error);
    assert_int_equal(status, MDIST_ERR_MISMATCH);
    assert_string_equal(mdist_error_reason(error), "step_returned");
    WORDS(error, "replica 1 returned from its step after 0 operations");
    WORDS(error, "this thread does not run the step of replica 1");
    mdist_error_free(error);
    end_world(&world);
}

static int32_t fail_without_a_word(mdist_replica_t *replica, void *user_data) {
    (void)replica;
    return *(int32_t *)user_data;
}

/// A failure in one run must not appear as the cause of the next.
static void a_run_knows_nothing_of_the_one_before(void **state) {
    (void)state;
    const World world = make_world();
    int32_t code = 9;
    for (int i = 0; i < 2; ++i) {
        mdist_error_t *error = NULL;
        Step step = {&world, &cases[6]};
        CHECK(MDIST_ERR_CALLBACK, mdist_run(world.strategy, make_the_mistake, &step, NULL, &error), error);
        mdist_run(world.strategy, fail_without_a_word, &code, NULL, &error);
        assert_null(strstr(mdist_error_message(error), "had failed"));
        mdist_error_free(error);
    }
    end_world(&world);
}

static int32_t scatter_in_place(mdist_replica_t *replica, void *user_data) {
    static float whole[2][200];
    float *const own = whole[mdist_replica_local_index(replica)];
    const mdist_buffer_t in = buffer_of(own, MDIST_FLOAT32, 200), out = buffer_of(own, MDIST_FLOAT32, 100);
    (void)user_data;
    return mdist_reduce_scatter(replica, MDIST_SUM, &in, &out, 1, NULL, NULL) == MDIST_OK ? 0 : 1;
}

static void work_in_place_at_the_wrong_place_says_where_the_right_one_is(void **state) {
    (void)state;
    const World world = make_world();
    mdist_error_t *error = NULL;
    mdist_run(world.strategy, scatter_in_place, NULL, NULL, &error);
    assert_int_equal(mdist_error_status(error), MDIST_ERR_INVALID_ARGUMENT);
    WORDS(error, "mdist_reduce_scatter: in-place output 0 of replica 1 must start at element 100 of input 0, not at ");
    mdist_error_free(error);
    end_world(&world);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_call_that_failed_in_a_step_comes_back_from_the_run),
        cmocka_unit_test(a_failed_call_that_the_step_forgot_is_told_to_those_who_waited_for_it),
        cmocka_unit_test(a_run_knows_nothing_of_the_one_before),
        cmocka_unit_test(work_in_place_at_the_wrong_place_says_where_the_right_one_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
