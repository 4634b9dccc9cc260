// SPDX-License-Identifier: Apache-2.0
// The current strategy and replica of a thread: in scopes, steps and merges, and by default.
#include "step_support.h"

/// Returns the thread's current replica; NULL if there is none.
static mdist_replica_t *current_replica(void) {
    mdist_replica_t *replica = NULL;
    return mdist_current_replica(&replica, NULL) == MDIST_OK ? replica : NULL;
}

static mdist_strategy_t *current_strategy(void) {
    mdist_strategy_t *strategy = NULL;
    return mdist_current_strategy(&strategy, NULL) == MDIST_OK ? strategy : NULL;
}

static void scopes_of_one_strategy_nest(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *const strategy = make_strategy(2, NULL), *const bottom = current_strategy();
    assert_ptr_not_equal(bottom, strategy);
    OK(mdist_scope_enter(strategy, &error));
    OK(mdist_scope_enter(strategy, &error));
    assert_ptr_equal(current_strategy(), strategy);
    assert_null(current_replica());
    OK(mdist_scope_exit(strategy, &error));
    assert_ptr_equal(current_strategy(), strategy);
    OK(mdist_scope_exit(strategy, &error));
    assert_ptr_equal(current_strategy(), bottom);
    mdist_strategy_destroy(strategy);
}

static void strategies_do_not_mix(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *const a = make_strategy(2, NULL), *const b = make_strategy(1, NULL);
    OK(mdist_scope_enter(a, &error));
    assert_int_equal(mdist_scope_enter(b, &error), MDIST_ERR_FAILED_PRECONDITION);
    assert_string_equal(mdist_error_reason(error), "other_strategy");
    WORDS(error, "strategies do not mix");
    mdist_error_free(error);
    assert_int_equal(mdist_scope_exit(b, &error), MDIST_ERR_FAILED_PRECONDITION);
    assert_string_equal(mdist_error_reason(error), "no_scope");
    mdist_error_free(error);
    assert_ptr_equal(current_strategy(), a);
    OK(mdist_scope_exit(a, &error));
    FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_scope_exit(a, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_scope_enter(NULL, &error));
    FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_scope_exit(NULL, &error));
    mdist_strategy_destroy(a);
    mdist_strategy_destroy(b);
}

static void a_scope_outlives_its_strategys_handle(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *const strategy = make_strategy(2, NULL);
    OK(mdist_scope_enter(strategy, &error));
    mdist_strategy_destroy(strategy);
    assert_ptr_equal(current_strategy(), strategy);
    assert_int_equal(mdist_strategy_replica_count(strategy), 0);
    OK(mdist_scope_exit(strategy, &error));
    assert_ptr_not_equal(current_strategy(), strategy);
}

static void *strategy_of_another_thread(void *unused) {
    (void)unused;
    return current_strategy();
}

static void *leave_it_open(void *strategy) {
    if (mdist_scope_enter(strategy, NULL) != MDIST_OK || mdist_scope_enter(strategy, NULL) != MDIST_OK) return NULL;
    return current_strategy();
}

static void scopes_belong_to_their_thread(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    pthread_t thread;
    void *seen = NULL;
    mdist_strategy_t *const strategy = make_strategy(2, NULL), *const bottom = current_strategy();
    OK(mdist_scope_enter(strategy, &error));
    assert_int_equal(pthread_create(&thread, NULL, strategy_of_another_thread, NULL), 0);
    pthread_join(thread, &seen);
    assert_ptr_equal(seen, bottom);
    OK(mdist_scope_exit(strategy, &error));
    assert_int_equal(pthread_create(&thread, NULL, leave_it_open, strategy), 0);
    pthread_join(thread, &seen);
    assert_ptr_equal(seen, strategy);
    assert_ptr_equal(current_strategy(), bottom);
    mdist_strategy_destroy(strategy);
}

typedef struct Look {
    mdist_strategy_t *strategy;
    Note notes[2], merge_note;
} Look;

static void say(Note *self, int good, const char *what) {
    if (!good && self->text[0] == '\0') snprintf(self->text, sizeof self->text, "%s", what);
}

static int32_t look_in_a_merge(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                               mdist_value_t **results, size_t result_count, void *user_data) {
    (void)arguments, (void)argument_count, (void)results, (void)result_count;
    Look *look = user_data;
    say(&look->merge_note, current_strategy() == strategy && strategy == look->strategy, "a merge's strategy");
    say(&look->merge_note, current_replica() == NULL, "a merge has no replica");
    say(&look->merge_note, mdist_scope_enter(strategy, NULL) == MDIST_OK, "a scope in a merge"); // never left
    say(&look->merge_note, mdist_set_default_strategy(NULL, NULL) == MDIST_ERR_WRONG_CONTEXT, "a default in a merge");
    return 0;
}

static int32_t look_in_a_step(mdist_replica_t *replica, void *user_data) {
    Look *look = user_data;
    Note *self = &look->notes[mdist_replica_local_index(replica)];
    say(self, current_replica() == replica, "a step's replica");
    say(self, current_strategy() == look->strategy, "a step's strategy");
    say(self, mdist_scope_enter(look->strategy, NULL) == MDIST_ERR_WRONG_CONTEXT, "a scope in a step");
    say(self, mdist_scope_exit(look->strategy, NULL) == MDIST_ERR_FAILED_PRECONDITION, "no scope to leave");
    say(self, mdist_set_default_strategy(NULL, NULL) == MDIST_ERR_WRONG_CONTEXT, "a default in a step");
    say(self, mdist_merge_call(replica, look_in_a_merge, look, NULL, 0, NULL, 0, NULL, NULL) == MDIST_OK, "a merge");
    say(self, current_replica() == replica, "a step's replica after a merge");
    return 0;
}

static int32_t look_in_an_update(uint32_t local, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                                 size_t argument_count, mdist_value_t **results, size_t result_count, void *user_data) {
    (void)local, (void)copy, (void)arguments, (void)argument_count, (void)results, (void)result_count;
    Look *look = user_data;
    say(&look->merge_note, current_strategy() == look->strategy && current_replica() == NULL, "an update function");
    return 0;
}

static void steps_merges_and_updates_have_their_own(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    Look look = {.strategy = make_strategy(2, NULL)};
    mdist_strategy_t *const bottom = current_strategy();
    mdist_variable_t *variable = NULL;
    const mdist_tensor_t zero = tensor_of(NULL, MDIST_FLOAT32, 3);
    OK(mdist_run(look.strategy, look_in_a_step, &look, NULL, &error));
    OK(mdist_variable_create(look.strategy, "v", &zero, &variable, NULL, &error));
    OK(mdist_update(variable, look_in_an_update, &look, NULL, &error));
    for (int i = 0; i < 2; ++i) assert_string_equal(look.notes[i].text, "");
    assert_string_equal(look.merge_note.text, "");
    assert_ptr_equal(current_strategy(), bottom); // the merge's scope ended with the merge
    mdist_variable_destroy(variable);
    mdist_strategy_destroy(look.strategy);
}

static void a_default_strategy_is_current_where_nothing_else_is(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *const chosen = make_strategy(2, NULL), *const other = make_strategy(1, NULL);
    mdist_strategy_t *const built_in = current_strategy();
    pthread_t thread;
    void *seen = NULL;
    OK(mdist_set_default_strategy(chosen, &error));
    assert_ptr_equal(current_strategy(), chosen);
    assert_null(current_replica());
    assert_int_equal(pthread_create(&thread, NULL, strategy_of_another_thread, NULL), 0);
    pthread_join(thread, &seen);
    assert_ptr_equal(seen, chosen);
    OK(mdist_scope_enter(other, &error));
    assert_ptr_equal(current_strategy(), other);
    FAILS(MDIST_ERR_WRONG_CONTEXT, mdist_set_default_strategy(other, &error));
    OK(mdist_scope_exit(other, &error));
    assert_ptr_equal(current_strategy(), chosen);
    mdist_strategy_destroy(chosen);
    assert_ptr_equal(current_strategy(), built_in);
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_set_default_strategy(chosen, &error));
    OK(mdist_set_default_strategy(NULL, &error));
    mdist_strategy_destroy(other);
}

static void expect_reduced(mdist_reduce_op_t op, mdist_value_t *value, const int32_t *axes, size_t axis_count,
                           size_t elements, const float *wanted) {
    mdist_error_t *error = NULL;
    mdist_value_t *out = NULL;
    mdist_tensor_t tensor;
    OK(mdist_strategy_reduce_axes(current_strategy(), op, value, axes, axis_count, &out, NULL, &error));
    OK(mdist_value_tensor(out, 0, &tensor, &error));
    assert_int_equal(mdist_tensor_elements(&tensor), elements);
    assert_memory_equal(tensor.data, wanted, elements * sizeof *wanted);
    mdist_value_destroy(out);
}

static void the_built_in_default_reduces_as_one_replica(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_value_t *x = NULL;
    float data[4] = {1, 2, 3, 4};
    mdist_tensor_t tensor = tensor_of(data, MDIST_FLOAT32, 2);
    tensor.rank = 2, tensor.shape[1] = 2;
    OK(mdist_value_per_replica(current_strategy(), &tensor, 1, &x, &error));
    const int32_t both[] = {0, 1};
    expect_reduced(MDIST_MEAN, x, both, 1, 2, (const float[]){2, 3});
    expect_reduced(MDIST_MEAN, x, both, 2, 1, (const float[]){2.5f});
    expect_reduced(MDIST_MEAN, x, NULL, 0, 4, data);
    expect_reduced(MDIST_SUM, x, both, 1, 2, (const float[]){4, 6});
    expect_reduced(MDIST_SUM, x, both, 2, 1, (const float[]){10});
    mdist_value_destroy(x);
}

static int32_t count_calls(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                           mdist_value_t **results, size_t result_count, void *user_data) {
    (void)arguments, (void)argument_count, (void)results, (void)result_count;
    *(int *)user_data += mdist_strategy_replica_count(strategy) == 1 ? 1 : 100;
    return 0;
}

static void code_written_for_steps_runs_where_nothing_is_current(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_replica_t *const replica = current_replica();
    float three = 3;
    int merges = 0;
    const mdist_buffer_t buffer = buffer_of(&three, MDIST_FLOAT32, 1);
    assert_non_null(replica);
    assert_int_equal(mdist_replica_id(replica), 0);
    assert_int_equal(mdist_replica_count(replica), 1);
    OK(mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, &error));
    assert_float_equal(three, 3, 0);
    OK(mdist_merge_call(replica, count_calls, &merges, NULL, 0, NULL, 0, NULL, &error));
    assert_int_equal(merges, 1);
    assert_ptr_equal(current_replica(), replica);
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_all_reduce(replica, (mdist_reduce_op_t)99, &buffer, &buffer, 1, NULL, &error));
    OK(mdist_barrier(current_replica(), NULL, &error)); // the default replica works after a failure
    OK(mdist_replica_exit(current_replica(), 0, &error));
    OK(mdist_barrier(current_replica(), NULL, &error));
}

static void the_built_in_default_comes_back_if_it_is_destroyed(void **state) {
    (void)state;
    mdist_strategy_t *const before = current_strategy();
    mdist_strategy_destroy(before);
    assert_int_equal(mdist_strategy_replica_count(current_strategy()), 1);
    assert_ptr_not_equal(current_strategy(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scopes_of_one_strategy_nest),
        cmocka_unit_test(strategies_do_not_mix),
        cmocka_unit_test(a_scope_outlives_its_strategys_handle),
        cmocka_unit_test(scopes_belong_to_their_thread),
        cmocka_unit_test(steps_merges_and_updates_have_their_own),
        cmocka_unit_test(a_default_strategy_is_current_where_nothing_else_is),
        cmocka_unit_test(the_built_in_default_reduces_as_one_replica),
        cmocka_unit_test(code_written_for_steps_runs_where_nothing_is_current),
        cmocka_unit_test(the_built_in_default_comes_back_if_it_is_destroyed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
