// SPDX-License-Identifier: Apache-2.0
// Operators of the program: their bits are those of the tree, and every way to misuse one is refused in words.
#include "../support/operators.h"
#include "started.h"

#include <stdatomic.h>

static void any_operator_follows_the_tree(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    OperatorRun run = {.rounds = is_long() ? 200 : 12};
    assert_int_equal(create_operators(run.ops), 0);
    for (uint32_t replicas = 1; replicas <= 9; ++replicas) {
        mdist_strategy_t *strategy = make_strategy(replicas, NULL);
        run.seed = test_seed(100) + replicas;
        OK(mdist_run(strategy, operators_step, &run, NULL, &error));
        mdist_strategy_destroy(strategy);
    }
    destroy_operators(run.ops);
}

static void outside_of_steps_too(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    OperatorRun run = {0};
    assert_int_equal(create_operators(run.ops), 0);
    for (uint32_t replicas = 1; replicas <= 5; ++replicas) {
        mdist_strategy_t *strategy = make_strategy(replicas, NULL);
        for (uint64_t elements = 10; elements < 100000; elements *= 100) { // by this thread, and by all
            const Reduction reduction = {
                .kind = TO_ALL, .count = 1, .seed = elements, .in_place = elements > 10, .elements = {elements}};
            Arrays arrays[5];
            mdist_buffer_t inputs[5], outputs[5];
            for (uint32_t r = 0; r < replicas; ++r) {
                make_arrays(&reduction, r, replicas, &arrays[r]);
                inputs[r] = arrays[r].inputs[0];
                outputs[r] = arrays[r].outputs[0];
            }
            const mdist_call_options_t packs = {.struct_size = sizeof packs, .bytes_per_pack = 1000};
            OK(mdist_strategy_all_reduce(strategy, run.ops[0], inputs, outputs, 1, elements > 10 ? NULL : &packs,
                                         &error));
            for (uint32_t r = 0; r < replicas; ++r) assert_true(outputs_right(&reduction, r, replicas, &arrays[r]));
            for (uint32_t r = 0; r < replicas; ++r) free_arrays(&arrays[r]);
        }
        mdist_strategy_destroy(strategy);
    }
    destroy_operators(run.ops);
}

// ---- Misuse.

typedef struct Misuse {
    mdist_reduce_op_t ops[2]; // of the replicas
    size_t bytes;
    int32_t dtype;
    mdist_status_t statuses[2];
    char messages[2][600];
    int started, scatters;
} Misuse;

static int32_t misuse_step(mdist_replica_t *replica, void *user_data) {
    Misuse *const self = user_data;
    const uint32_t id = mdist_replica_id(replica);
    mdist_error_t *error = NULL;
    mdist_work_t *work = NULL;
    int32_t done = 0;
    char *const memory = calloc(1, self->bytes + 1);
    const mdist_dtype_t dtype = (mdist_dtype_t)self->dtype;
    const mdist_buffer_t whole = {memory, self->bytes / mdist_dtype_size(dtype), dtype, 0};
    const mdist_buffer_t part = {memory + id * self->bytes / 2, self->bytes / 2, MDIST_UINT8, 0};
    const mdist_reduce_op_t op = self->ops[id];
    mdist_status_t status;
    if (self->scatters)
        status = mdist_reduce_scatter(replica, op, &whole, &part, 1, NULL, &error);
    else if (self->started)
        status = start_all_reduce(replica, op, &whole, &whole, 1, &work, NULL, &error);
    else
        status = mdist_all_reduce(replica, op, &whole, &whole, 1, NULL, &error);
    if (work != NULL && status == MDIST_OK) status = mdist_work_wait(work, MDIST_FOREVER, &done, &error);
    mdist_work_destroy(work);
    self->statuses[id] = status;
    snprintf(self->messages[id], sizeof self->messages[id], "%s", mdist_error_message(error));
    mdist_error_free(error);
    free(memory);
    return 0;
}

/// Both replicas make the call. Some replica's message must have the words; the other may have got ABORTED.
static void expect_misuse(Misuse *self, mdist_status_t wanted, const char *words) {
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    if (self->dtype == 0) self->dtype = MDIST_UINT8;
    FAILS(wanted, mdist_run(strategy, misuse_step, self, NULL, &error));
    int found = 0;
    for (int r = 0; r < 2; ++r) {
        assert_true(self->statuses[r] == wanted || self->statuses[r] == MDIST_ERR_ABORTED);
        found |= shows_call(self->messages[r], words);
    }
    if (!found) print_error("no \"%s\" in: %s\n", words, self->messages[0]);
    assert_true(found);
    mdist_strategy_destroy(strategy);
}

static mdist_reduce_op_t create(const char *name, size_t bytes, mdist_combine_fn combine, void *user_data) {
    mdist_error_t *error = NULL;
    mdist_reduce_op_t op = 0;
    OK(mdist_operator_register(name, bytes, combine, user_data, &op, &error));
    return op;
}

static void names_and_sizes_are_compared(void **state) {
    (void)state;
    static const size_t eight = 8, four = 4;
    const mdist_reduce_op_t a = create("one", 8, combine_hashes, (void *)&eight),
                            b = create("another", 8, combine_hashes, (void *)&eight),
                            c = create("one", 4, combine_hashes, (void *)&four),
                            again = create("one", 8, combine_hashes, (void *)&eight);
    for (int started = 0; started < 2; ++started) {
        Misuse names = {.ops = {a, b}, .bytes = 80, .started = started};
        expect_misuse(&names, MDIST_ERR_MISMATCH, "OPERATOR, 8-byte another, 1 buffer: elements x 10");
        Misuse sizes = {.ops = {a, c}, .bytes = 80, .started = started};
        expect_misuse(&sizes, MDIST_ERR_MISMATCH, "OPERATOR, 4-byte one, 1 buffer: elements x 20");
        Misuse sum = {.ops = {a, MDIST_SUM}, .bytes = 80, .started = started};
        expect_misuse(&sum, MDIST_ERR_MISMATCH, "SUM, 1 buffer: uint8 x 80");
    }
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    Misuse fine = {.ops = {a, again}, .bytes = 80, .dtype = MDIST_FLOAT64};
    OK(mdist_run(strategy, misuse_step, &fine, NULL, &error));
    assert_int_equal(fine.statuses[0], MDIST_OK);
    mdist_strategy_destroy(strategy);
    const mdist_reduce_op_t all[] = {a, b, c, again};
    for (int i = 0; i < 4; ++i) mdist_operator_unregister(all[i]);
}

static void what_is_no_operator_is_refused(void **state) {
    (void)state;
    static const size_t eight = 8;
    mdist_error_t *error = NULL;
    mdist_reduce_op_t op = create("gone", 8, combine_hashes, (void *)&eight);
    const mdist_reduce_op_t gone = op;
    mdist_operator_unregister(gone);
    mdist_operator_unregister(gone); // ignored, as these are
    mdist_operator_unregister(MDIST_SUM);
    mdist_operator_unregister((mdist_reduce_op_t)0);
    mdist_operator_unregister((mdist_reduce_op_t)0x7fffffff);
    op = create("new", 8, combine_hashes, (void *)&eight); // takes the place, but not the number
    assert_int_not_equal(op, gone);
    Misuse destroyed = {.ops = {gone, gone}, .bytes = 80};
    expect_misuse(&destroyed, MDIST_ERR_INVALID_ARGUMENT, "no operator of this process");
    Misuse inner = {.ops = {(mdist_reduce_op_t)9, (mdist_reduce_op_t)9}, .bytes = 80};
    expect_misuse(&inner, MDIST_ERR_INVALID_ARGUMENT, "op is 9");
    Misuse part_of_one = {.ops = {op, op}, .bytes = 81};
    expect_misuse(&part_of_one, MDIST_ERR_INVALID_ARGUMENT, "input 0 has 81 bytes");
    Misuse cut = {.ops = {op, op}, .bytes = 88, .scatters = 1};
    expect_misuse(&cut, MDIST_ERR_INVALID_ARGUMENT, "output 0 has 44 bytes");

    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_value_t *out = NULL, *value = NULL;
    float x = 1;
    const mdist_tensor_t tensors[2] = {tensor_of(&x, MDIST_FLOAT32, 0), tensor_of(&x, MDIST_FLOAT32, 0)};
    OK(mdist_value_per_replica(strategy, tensors, 2, &value, &error));
    assert_int_equal(mdist_strategy_reduce(strategy, op, value, &out, NULL, &error), MDIST_ERR_INVALID_ARGUMENT);
    WORDS(error, "an operator (mdist_operator_register), which only mdist_all_reduce");
    mdist_error_free(error);
    mdist_value_destroy(value);
    mdist_strategy_destroy(strategy);

    char long_name[66];
    memset(long_name, 'n', 65);
    long_name[65] = '\0';
    const char *const names[] = {NULL, "", "two\nlines", long_name};
    for (int i = 0; i < 4; ++i)
        FAILS(MDIST_ERR_INVALID_ARGUMENT,
              mdist_operator_register(names[i], 8, combine_hashes, (void *)&eight, &op, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_operator_register("x", 0, combine_hashes, NULL, &op, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_operator_register("x", (size_t)MDIST_OPERATOR_MAX_BYTES + 1, combine_hashes, NULL, &op, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_operator_register("x", 8, NULL, NULL, &op, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_operator_register("x", 8, combine_hashes, NULL, NULL, &error));
    mdist_operator_unregister(op);
}

static void numbers_are_given_out_again_and_again(void **state) {
    (void)state;
    static const size_t eight = 8;
    mdist_error_t *error = NULL;
    enum { MOST = 1024 };
    mdist_reduce_op_t ops[MOST], one_more = 0;
    for (int i = 0; i < 3000; ++i) mdist_operator_unregister(create("short", 8, combine_hashes, (void *)&eight));
    for (int i = 0; i < MOST; ++i) ops[i] = create("many", 8, combine_hashes, (void *)&eight);
    FAILS(MDIST_ERR_RESOURCE, mdist_operator_register("x", 8, combine_hashes, (void *)&eight, &one_more, &error));
    for (int i = 0; i < MOST; ++i) mdist_operator_unregister(ops[i]);
}

// ---- A function that fails.

static atomic_int calls_left;

static int32_t fails_at_last(const void *left, const void *right, void *out, uint64_t count, void *user_data) {
    (void)left, (void)right, (void)user_data;
    memset(out, 0, count * 8);
    if (atomic_fetch_sub(&calls_left, 1) > 0) return 0;
    mdist_fail(0, "a singular matrix");
    return 42;
}

static void a_failed_function_fails_the_call(void **state) {
    (void)state;
    const mdist_reduce_op_t op = create("inverse", 8, fails_at_last, NULL);
    for (int calls = 0; calls < 60; calls += 20) // small, and in the midst of several chunks
        for (int form = 0; form < 3; ++form) {
            atomic_store(&calls_left, calls);
            Misuse self = {
                .ops = {op, op}, .bytes = calls == 0 ? 80 : 4000000, .started = form == 1, .scatters = form == 2};
            expect_misuse(&self, MDIST_ERR_CALLBACK, "operator \"inverse\" returned 42");
            assert_true(strstr(self.messages[0], "a singular matrix") != NULL ||
                        strstr(self.messages[1], "a singular matrix") != NULL);
            // All replicas share the work of a large call, and fail alike.
            if (calls != 0) assert_string_equal(self.messages[0], self.messages[1]);
        }
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    char memory[2][16] = {{0}};
    mdist_buffer_t buffers[2] = {{memory[0], 16, MDIST_UINT8, 0}, {memory[1], 16, MDIST_UINT8, 0}};
    atomic_store(&calls_left, 0);
    FAILS(MDIST_ERR_CALLBACK, mdist_strategy_all_reduce(strategy, op, buffers, buffers, 1, NULL, &error));
    atomic_store(&calls_left, 1000);
    OK(mdist_strategy_all_reduce(strategy, op, buffers, buffers, 1, NULL, &error)); // it is still usable
    mdist_strategy_destroy(strategy);
    mdist_operator_unregister(op);
}

/// A work keeps its operator.
static int32_t destroying_step(mdist_replica_t *replica, void *user_data) {
    static const size_t eight = 8;
    atomic_int *const wrong = user_data;
    uint64_t number = mdist_replica_id(replica);
    const mdist_buffer_t buffer = {&number, 8, MDIST_UINT8, 0};
    mdist_reduce_op_t op = 0;
    mdist_work_t *work = NULL;
    int32_t done = 0;
    if (mdist_operator_register("short-lived", 8, combine_hashes, (void *)&eight, &op, NULL) != MDIST_OK) ++*wrong;
    if (start_all_reduce(replica, op, &buffer, &buffer, 1, &work, NULL, NULL) != MDIST_OK) ++*wrong;
    mdist_operator_unregister(op);
    if (mdist_work_wait(work, MDIST_FOREVER, &done, NULL) != MDIST_OK) ++*wrong;
    mdist_work_destroy(work);
    return 0;
}

static void works_outlive_their_operator(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    atomic_int wrong = 0;
    for (int i = 0; i < 50; ++i) OK(mdist_run(strategy, destroying_step, &wrong, NULL, &error));
    assert_int_equal(wrong, 0);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_operator_follows_the_tree),         cmocka_unit_test(outside_of_steps_too),
        cmocka_unit_test(names_and_sizes_are_compared),          cmocka_unit_test(what_is_no_operator_is_refused),
        cmocka_unit_test(numbers_are_given_out_again_and_again), cmocka_unit_test(a_failed_function_fails_the_call),
        cmocka_unit_test(works_outlive_their_operator),
    };
    quiet_log();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
