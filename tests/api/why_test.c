// SPDX-License-Identifier: Apache-2.0
// Causes that a function gives before it fails, and functions that fail whatever they return (mdist_fail). The failed
// call's message contains the causes, for every kind of function. In nested functions, each call gets only the cause of
// its own function.
#include "dataset_options.h"
#include "variable_support.h"

enum { CODE = 7 };

static char unsaid[] = ""; // the function returns 0 and fails nevertheless

static int32_t fail_because(void *why) {
    if (why == unsaid) {
        mdist_fail(CODE + 1, NULL);
        mdist_fail(CODE, NULL);
        return 0;
    }
    if (why != NULL) mdist_fail(0, why);
    return CODE;
}

typedef struct World {
    mdist_strategy_t *strategy;
    mdist_variable_t *variable;
    mdist_dataset_t *numbers;
    mdist_value_t *value;
} World;

static World make_world(uint32_t replicas) {
    static float numbers[2];
    mdist_error_t *error = NULL;
    World world = {.strategy = make_strategy(replicas, NULL)};
    world.variable = scalar_variable(world.strategy, "v", 0, MDIST_SYNC_AUTO, MDIST_AGGREGATION_NONE);
    world.value = make_value(numbers, MDIST_FLOAT32, 2);
    OK(mdist_dataset_range(0, 8, 1, &world.numbers, NULL, &error));
    return world;
}

static void end_world(const World *world) {
    mdist_dataset_destroy(world->numbers);
    mdist_value_destroy(world->value);
    mdist_variable_destroy(world->variable);
    mdist_strategy_destroy(world->strategy);
}

// ---- One call for each kind of function. Each function fails with the cause that `user_data` points to.

static int32_t step(mdist_replica_t *replica, void *user_data) {
    return mdist_replica_id(replica) == 1 ? fail_because(user_data) : 0;
}
static int32_t element_function(mdist_replica_t *replica, uint64_t element, void *user_data) {
    (void)replica;
    return element == 3 ? fail_because(user_data) : 0;
}
static int32_t merge(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                     mdist_value_t **results, size_t result_count, void *user_data) {
    (void)strategy, (void)arguments, (void)argument_count, (void)results, (void)result_count;
    return fail_because(user_data);
}
static int32_t merging_step(mdist_replica_t *replica, void *user_data) {
    return mdist_merge_call(replica, merge, user_data, NULL, 0, NULL, 0, NULL, NULL) == MDIST_OK ? 0 : 9;
}
static int32_t update(uint32_t local_replica, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                      size_t argument_count, mdist_value_t **results, size_t result_count, void *user_data) {
    (void)copy, (void)arguments, (void)argument_count, (void)results, (void)result_count;
    return local_replica == 1 ? fail_because(user_data) : 0;
}
static int32_t fetch(const mdist_tensor_t *source, mdist_value_t **result, void *user_data) {
    (void)source, (void)result;
    return fail_because(user_data);
}
static int32_t give(uint32_t replica_id, uint32_t replica_count, mdist_value_t **out, void *user_data) {
    (void)replica_id, (void)replica_count, (void)out;
    return fail_because(user_data);
}
static int32_t loop(mdist_strategy_t *strategy, mdist_loop_t *self, mdist_value_t *element, void *user_data) {
    (void)strategy, (void)self, (void)element;
    return fail_because(user_data);
}
static int32_t make_dataset(const mdist_input_context_t *context, mdist_dataset_t **out, void *user_data) {
    (void)context, (void)out;
    return fail_because(user_data);
}
static int32_t map(const mdist_tensor_t *inputs, size_t input_count, const mdist_tensor_t *outputs, size_t output_count,
                   void *user_data) {
    (void)inputs, (void)input_count, (void)outputs, (void)output_count;
    return fail_because(user_data);
}
static int32_t filter(const mdist_tensor_t *inputs, size_t input_count, int32_t *keep, void *user_data) {
    (void)inputs, (void)input_count, (void)keep;
    return fail_because(user_data);
}
static int32_t generate(uint64_t index, const mdist_tensor_t *outputs, size_t output_count, void **state,
                        void *user_data) {
    (void)index, (void)outputs, (void)output_count, (void)state;
    return fail_because(user_data);
}

typedef mdist_status_t Call(const World *w, void *why, mdist_error_t **error);

static mdist_status_t fail_step(const World *w, void *why, mdist_error_t **error) {
    return mdist_run(w->strategy, step, why, NULL, error);
}
static mdist_status_t fail_element(const World *w, void *why, mdist_error_t **error) {
    return mdist_map(w->strategy, 5, element_function, why, NULL, error);
}
static mdist_status_t fail_merge(const World *w, void *why, mdist_error_t **error) {
    return mdist_run(w->strategy, merging_step, why, NULL, error);
}
static mdist_status_t fail_update(const World *w, void *why, mdist_error_t **error) {
    return mdist_update(w->variable, update, why, NULL, error);
}
static mdist_status_t fail_non_slot(const World *w, void *why, mdist_error_t **error) {
    return mdist_update_devices(w->strategy, update, why, NULL, error);
}
static mdist_status_t fail_fetch(const World *w, void *why, mdist_error_t **error) {
    mdist_value_t *out = NULL;
    return mdist_strategy_fetch(w->strategy, w->value, NULL, fetch, why, &out, error);
}
static mdist_status_t fail_value(const World *w, void *why, mdist_error_t **error) {
    mdist_value_t *out = NULL;
    return mdist_values_from_function(w->strategy, give, why, &out, error);
}
static mdist_status_t fail_loop(const World *w, void *why, mdist_error_t **error) {
    mdist_iterator_t *iterator = NULL;
    mdist_loop_t *out = NULL;
    mdist_status_t status = mdist_iterator_create(w->numbers, &iterator, error);
    if (status == MDIST_OK) status = mdist_run_steps(w->strategy, iterator, 2, loop, why, NULL, &out, NULL, error);
    mdist_iterator_destroy(iterator);
    return status;
}
static mdist_status_t fail_dataset(const World *w, void *why, mdist_error_t **error) {
    mdist_dataset_t *out = NULL;
    return mdist_distribute_from_function(w->strategy, make_dataset, why, &out, NULL, error);
}

/// Takes the first element of a dataset. Destroys the dataset.
static mdist_status_t take(mdist_status_t made, mdist_dataset_t **dataset, mdist_error_t **error) {
    mdist_iterator_t *iterator = NULL;
    mdist_value_t *value = NULL;
    mdist_status_t status = made;
    if (status == MDIST_OK) status = mdist_iterator_create(*dataset, &iterator, error);
    if (status == MDIST_OK) status = mdist_iterator_next(iterator, &value, 1, error);
    mdist_value_destroy(value);
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(*dataset);
    return status;
}
static mdist_status_t fail_map(const World *w, void *why, mdist_error_t **error) {
    const mdist_tensor_t scalar = tensor_of(NULL, MDIST_INT64, 0);
    mdist_dataset_t *out = NULL;
    return take(mdist_dataset_map(w->numbers, map, why, NULL, &scalar, 1, &out, NULL, error), &out, error);
}
static mdist_status_t fail_parallel_map(const World *w, void *why, mdist_error_t **error) {
    const mdist_tensor_t scalar = tensor_of(NULL, MDIST_INT64, 0);
    mdist_dataset_t *out = NULL;
    return take(mdist_dataset_map(w->numbers, map, why, NULL, &scalar, 1, &out,
                                  &(const mdist_dataset_options_t){sizeof(mdist_dataset_options_t), 0, 2, 0}, error),
                &out, error);
}
static mdist_status_t fail_filter(const World *w, void *why, mdist_error_t **error) {
    mdist_dataset_t *out = NULL;
    return take(mdist_dataset_filter(w->numbers, filter, why, NULL, &out, NULL, error), &out, error);
}
static mdist_status_t fail_prefetched_generator(const World *w, void *why, mdist_error_t **error) {
    const mdist_tensor_t scalar = tensor_of(NULL, MDIST_INT64, 0);
    mdist_dataset_t *made = NULL, *out = NULL;
    (void)w;
    mdist_status_t status =
        mdist_dataset_from_generator(generate, why, NULL, NULL, &scalar, 1, &made, &any_thread, error);
    if (status == MDIST_OK) status = mdist_dataset_prefetch(made, 2, &out, NULL, error);
    mdist_dataset_destroy(made);
    return take(status, &out, error);
}

typedef struct Function {
    Call *call;
    const char *who, *hint;
} Function;

static const Function kinds[] = {
    {fail_step, "the step of replica 1 returned 7", ""},
    {fail_element, "the function of element 3 returned 7", ""},
    {fail_merge, "the merge function returned 7", ""},
    {fail_update, "the update of variable \"v\", copy 1, returned 7", ""},
    {fail_non_slot, "the update of what belongs to no variable, copy 1, returned 7", ""},
    {fail_fetch, "the fetch function returned 7", ""},
    {fail_value, "the value function of replica 0 returned 7", ""},
    {fail_loop, "the loop's function returned 7", ""},
    {fail_dataset, "the dataset function, making dataset 0, returned 7", ""},
    {fail_map, "the map function returned 7", "; it must return 0 to continue"},
    {fail_parallel_map, "the map function returned 7", "; it must return 0 to continue"},
    {fail_filter, "the filter function returned 7", "; it must return 0 to continue"},
    {fail_prefetched_generator, "the generator function returned 7", "; it must return 0 to continue"},
};

/// Checks that the call fails, and that its message is exactly `who` and `rest`.
static void expect_message(const World *world, Call *call, void *why, const char *who, const char *rest) {
    mdist_error_t *error = NULL;
    char wanted[1024];
    snprintf(wanted, sizeof wanted, "%s%s", who, rest);
    const mdist_status_t status = call(world, why, &error);
    expect_status(MDIST_ERR_CALLBACK, status, error, who, __FILE__, __LINE__);
    assert_string_equal(mdist_error_message(error), wanted);
    assert_int_equal(mdist_error_native(error), CODE);
    mdist_error_free(error);
}

static void what_a_function_says_comes_back_and_is_forgotten(void **state) {
    (void)state;
    const World world = make_world(2);
    char why[] = "the loss is NaN at batch 41", nothing[] = "";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        expect_message(&world, kinds[i].call, why, kinds[i].who, ": the loss is NaN at batch 41");
        expect_message(&world, kinds[i].call, NULL, kinds[i].who, kinds[i].hint);
        expect_message(&world, kinds[i].call, nothing, kinds[i].who, kinds[i].hint);
        expect_message(&world, kinds[i].call, unsaid, kinds[i].who, kinds[i].hint);
    }
    end_world(&world);
}

// ---- The text of a cause.

/// Writes `text` into `out`, `times` times.
static char *repeated(char *out, const char *text, size_t times) {
    out[0] = '\0';
    for (char *at = out; times > 0; --times) at = stpcpy(at, text);
    return out;
}

static void expect_said(const World *world, char *why, const char *begin, const char *repeat, size_t times,
                        const char *end) {
    char rest[1024], part[1024];
    snprintf(rest, sizeof rest, ": %s%s%s", begin, repeated(part, repeat, times), end);
    expect_message(world, fail_step, why, "the step of replica 1 returned 7", rest);
}

static void a_long_sentence_is_cut_between_characters(void **state) {
    (void)state;
    const World world = make_world(2);
    char why[4096];
    expect_said(&world, repeated(why, "a", 511), "", "a", 511, "");
    expect_said(&world, repeated(why, "a", 512), "", "a", 508, "...");
    expect_said(&world, repeated(why, "a", 4000), "", "a", 508, "...");
    expect_said(&world, repeated(why, "\xc3\xa9", 255), "", "\xc3\xa9", 255, "");
    expect_said(&world, repeated(why, "\xc3\xa9", 256), "", "\xc3\xa9", 254, "...");
    why[0] = 'b', repeated(why + 1, "\xc3\xa9", 256);
    expect_said(&world, why, "b", "\xc3\xa9", 253, "...");
    why[0] = 'b', repeated(why + 1, "\xf0\x9f\x99\x82", 200);
    expect_said(&world, why, "b", "\xf0\x9f\x99\x82", 126, "...");
    end_world(&world);
}

static void what_is_no_utf8_becomes_numbers(void **state) {
    (void)state;
    const World world = make_world(2);
    char bad[] = "bad \xff, half \xc3", lines[] = "one\n\ttwo", many[600];
    expect_said(&world, bad, "bad \\xff, half \\xc3", "", 0, "");
    expect_said(&world, repeated(many, "\xff", 500), "", "\\xff", 127, "...");
    expect_said(&world, lines, "one\n\ttwo", "", 0, "");
    end_world(&world);
}

// ---- Functions inside functions.

typedef struct Nest {
    const World *world;
    int32_t update_code, merge_code;
    char *update_why;
    const char *merge_why, *step_why;
    int repeats; // the merge gives the inner message as its cause
} Nest;

static int32_t nested_update(uint32_t local_replica, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                             size_t argument_count, mdist_value_t **results, size_t result_count, void *user_data) {
    const Nest *nest = user_data;
    (void)local_replica, (void)copy, (void)arguments, (void)argument_count, (void)results, (void)result_count;
    mdist_fail(0, nest->update_why);
    return nest->update_code;
}

static int32_t nested_merge(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                            mdist_value_t **results, size_t result_count, void *user_data) {
    const Nest *nest = user_data;
    mdist_error_t *error = NULL;
    (void)strategy, (void)arguments, (void)argument_count, (void)results, (void)result_count;
    mdist_fail(0, nest->merge_why);
    mdist_update(nest->world->variable, nested_update, user_data, NULL, &error);
    if (nest->repeats) mdist_fail(0, mdist_error_message(error));
    mdist_error_free(error);
    return nest->merge_code;
}

static int32_t nested_step(mdist_replica_t *replica, void *user_data) {
    const Nest *nest = user_data;
    mdist_fail(0, nest->step_why);
    if (mdist_merge_call(replica, nested_merge, user_data, NULL, 0, NULL, 0, NULL, NULL) != MDIST_OK) return 9;
    return mdist_replica_id(replica) == 1 ? CODE : 0;
}

static void expect_nested(Nest nest, const char *message) {
    mdist_error_t *error = NULL;
    assert_int_equal(mdist_run(nest.world->strategy, nested_step, &nest, NULL, &error), MDIST_ERR_CALLBACK);
    assert_string_equal(mdist_error_message(error), message);
    mdist_error_free(error);
}

static void each_function_speaks_for_itself(void **state) {
    (void)state;
    const World world = make_world(2);
    char inner[] = "no such row";
    const char *const outer = "cannot apply the gradients", *const top = "giving up";
#define UPDATE_FAILED \
    "A call in it had failed: mdist_update: the update of variable \"v\", copy 0, returned 5: no such row"
    expect_nested((Nest){&world, 0, 0, inner, outer, top, 0}, "the step of replica 1 returned 7: giving up");
    expect_nested((Nest){&world, 0, 0, inner, outer, NULL, 0}, "the step of replica 1 returned 7");
    expect_nested((Nest){&world, 5, 6, inner, NULL, top, 0}, "the merge function returned 6. " UPDATE_FAILED);
    expect_nested((Nest){&world, 5, 6, inner, outer, top, 0},
                  "the merge function returned 6: cannot apply the gradients. " UPDATE_FAILED);
    expect_nested((Nest){&world, 5, 6, inner, "it is over.", top, 0},
                  "the merge function returned 6: it is over. " UPDATE_FAILED);
    expect_nested((Nest){&world, 5, 6, inner, outer, top, 1}, "the merge function returned 6. " UPDATE_FAILED);
    end_world(&world);
}

static int32_t say_and_take_back(mdist_replica_t *replica, void *user_data) {
    (void)replica;
    mdist_fail(0, "forget this");
    mdist_fail(0, user_data);
    return CODE;
}

static mdist_status_t fail_after_second_thoughts(const World *w, void *why, mdist_error_t **error) {
    return mdist_run(w->strategy, say_and_take_back, why, NULL, error);
}

static void the_last_sentence_counts(void **state) {
    (void)state;
    const World world = make_world(1);
    char why[] = "this is it", nothing[] = "";
    expect_message(&world, fail_after_second_thoughts, why, "the step of replica 0 returned 7", ": this is it");
    expect_message(&world, fail_after_second_thoughts, NULL, "the step of replica 0 returned 7", ": forget this");
    expect_message(&world, fail_after_second_thoughts, nothing, "the step of replica 0 returned 7", "");
    end_world(&world);
}

static int32_t say_own_id(mdist_replica_t *replica, void *user_data) {
    char why[32];
    (void)user_data;
    snprintf(why, sizeof why, "I am %d", (int)mdist_replica_id(replica));
    mdist_fail(0, why);
    return CODE;
}

static void of_replicas_that_all_fail_the_one_that_is_told_has_its_own_sentence(void **state) {
    (void)state;
    for (int caller = 0; caller < 2; ++caller) {
        mdist_strategy_t *strategy = make_strategy(4, caller ? "caller" : NULL);
        for (int again = 0; again < 20; ++again) {
            mdist_error_t *error = NULL;
            char wanted[64];
            mdist_fail(0, "outside of all"); // belongs to no function
            mdist_run(strategy, say_own_id, NULL, NULL, &error);
            const int id = mdist_error_replica(error);
            snprintf(wanted, sizeof wanted, "the step of replica %d returned 7: I am %d", id, id);
            assert_string_equal(mdist_error_message(error), wanted);
            mdist_error_free(error);
        }
        mdist_strategy_destroy(strategy);
    }
}

static int32_t inner_one_fails(uint32_t local_replica, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                               size_t argument_count, mdist_value_t **results, size_t result_count, void *user_data) {
    (void)local_replica, (void)copy, (void)arguments, (void)argument_count, (void)results, (void)result_count;
    return fail_filter(user_data, unsaid, NULL) == MDIST_ERR_CALLBACK ? 0 : CODE;
}

static int32_t take_number_back(mdist_replica_t *replica, void *user_data) {
    (void)replica, (void)user_data;
    mdist_fail(CODE, "forget this");
    mdist_fail(0, NULL);
    return 0;
}

static int32_t give_both(mdist_replica_t *replica, void *user_data) {
    (void)replica;
    mdist_fail(CODE + 1, "forget this");
    mdist_fail(CODE + 1, user_data);
    mdist_fail(CODE, NULL);
    return CODE + 2;
}

static mdist_status_t fail_with_both(const World *w, void *why, mdist_error_t **error) {
    return mdist_run(w->strategy, give_both, why, NULL, error);
}

static void a_number_counts_in_its_own_function_until_it_is_taken_back(void **state) {
    (void)state;
    World world = make_world(1);
    mdist_error_t *error = NULL;
    mdist_fail(CODE, NULL); // belongs to no function
    OK(mdist_update_devices(world.strategy, inner_one_fails, &world, NULL, &error));
    OK(mdist_run(world.strategy, take_number_back, NULL, NULL, &error));
    char why[] = "it is lost";
    expect_message(&world, fail_with_both, why, "the step of replica 0 returned 7", ": it is lost");
    end_world(&world);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_function_says_comes_back_and_is_forgotten),
        cmocka_unit_test(a_long_sentence_is_cut_between_characters),
        cmocka_unit_test(what_is_no_utf8_becomes_numbers),
        cmocka_unit_test(each_function_speaks_for_itself),
        cmocka_unit_test(the_last_sentence_counts),
        cmocka_unit_test(a_number_counts_in_its_own_function_until_it_is_taken_back),
        cmocka_unit_test(of_replicas_that_all_fail_the_one_that_is_told_has_its_own_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
