// SPDX-License-Identifier: Apache-2.0
// Memory of variables, their lifetime, and their creation by all replicas together.
#include <pthread.h>

#include "variable_support.h"

static mdist_variable_t *sized_variable(mdist_strategy_t *strategy, const char *name, int32_t dtype, uint64_t elements,
                                        void *data) {
    mdist_error_t *error = NULL;
    mdist_variable_t *variable = NULL;
    mdist_tensor_t tensor = shaped(data, dtype, elements, NO, NO);
    OK(mdist_variable_create(strategy, name, &tensor, &variable, NULL, &error));
    return variable;
}

static mdist_buffer_t arena_of(mdist_strategy_t *strategy, int32_t dtype, uint32_t replica) {
    mdist_error_t *error = NULL;
    mdist_buffer_t buffer;
    OK(mdist_variable_arena(strategy, (mdist_dtype_t)dtype, replica, &buffer, &error));
    assert_int_equal(buffer.dtype, dtype);
    assert_int_equal(buffer.reserved, 0);
    return buffer;
}

static size_t place_of(mdist_strategy_t *strategy, const mdist_variable_t *variable, uint32_t replica) {
    mdist_error_t *error = NULL;
    mdist_tensor_t copy;
    OK(mdist_variable_tensor(variable, replica, &copy, &error));
    const mdist_buffer_t arena = arena_of(strategy, copy.dtype, replica);
    const size_t offset = (size_t)((char *)copy.data - (char *)arena.data);
    const size_t size = mdist_dtype_size((mdist_dtype_t)copy.dtype);
    assert_true(offset + mdist_tensor_elements(&copy) * size <= arena.elements * size);
    assert_int_equal((uintptr_t)copy.data % 64, 0);
    return offset;
}

enum { MANY = 3000, REPLICAS = 3 };

static void thousands_of_variables_lie_in_order_and_never_move(void **state) {
    (void)state;
    seed_random(20240911);
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(REPLICAS, NULL);
    static mdist_variable_t *variables[MANY];
    static mdist_tensor_t first_seen[MANY][REPLICAS];
    static size_t ends[DTYPES + 1];
    memset(ends, 0, sizeof ends);
    for (int32_t dtype = 1; dtype <= DTYPES; ++dtype) assert_int_equal(arena_of(strategy, dtype, 1).elements, 0);
    for (int i = 0; i < MANY; ++i) {
        char name[32];
        snprintf(name, sizeof name, "layer/%d", i);
        const int32_t dtype = (int32_t)(1 + below(DTYPES));
        const uint64_t elements = below(5) == 0 ? 0 : i % 500 == 0 ? 300000 : below(300);
        variables[i] = sized_variable(strategy, name, dtype, elements, NULL);
        const size_t place = place_of(strategy, variables[i], 0);
        assert_int_equal(place, ends[dtype]);
        const size_t bytes = elements * mdist_dtype_size((mdist_dtype_t)dtype);
        ends[dtype] = place + (bytes == 0 ? 64 : (bytes + 63) / 64 * 64);
        for (uint32_t r = 0; r < REPLICAS; ++r) {
            assert_int_equal(place_of(strategy, variables[i], r), place);
            OK(mdist_variable_tensor(variables[i], r, &first_seen[i][r], &error));
            memset(first_seen[i][r].data, i + (int)r, bytes); // would overwrite a variable that overlaps
        }
    }
    for (int i = 0; i < MANY; ++i)
        for (uint32_t r = 0; r < REPLICAS; ++r) {
            mdist_tensor_t now;
            OK(mdist_variable_tensor(variables[i], r, &now, &error));
            assert_memory_equal(&now, &first_seen[i][r], sizeof now);
            const size_t bytes = mdist_tensor_elements(&now) * mdist_dtype_size((mdist_dtype_t)now.dtype);
            for (size_t b = 0; b < bytes; ++b)
                if (((unsigned char *)now.data)[b] != (unsigned char)(i + (int)r)) fail();
        }
    for (int i = 0; i < MANY; ++i) mdist_variable_destroy(variables[i]);
    for (int32_t dtype = 1; dtype <= DTYPES; ++dtype) assert_int_equal(arena_of(strategy, dtype, 2).elements, 0);
    mdist_strategy_destroy(strategy);
}

static void gaps_hold_zeros_and_freed_space_comes_back_zeroed(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    float ones[40];
    for (int i = 0; i < 40; ++i) ones[i] = 1;
    mdist_variable_t *a = sized_variable(strategy, "a", MDIST_FLOAT32, 5, ones);
    mdist_variable_t *b = sized_variable(strategy, "b", MDIST_FLOAT32, 40, ones);
    mdist_variable_t *c = sized_variable(strategy, "c", MDIST_FLOAT32, 3, ones);
    for (uint32_t r = 0; r < 2; ++r) {
        const mdist_buffer_t arena = arena_of(strategy, MDIST_FLOAT32, r);
        assert_int_equal(arena.elements, 16 + 48 + 16);
        for (uint64_t i = 0; i < arena.elements; ++i) {
            const int held = i < 5 || (i >= 16 && i < 56) || (i >= 64 && i < 67);
            assert_true(((const float *)arena.data)[i] == (held ? 1.0f : 0.0f));
        }
    }
    mdist_variable_destroy(b);
    const mdist_buffer_t arena = arena_of(strategy, MDIST_FLOAT32, 1);
    assert_int_equal(arena.elements, 80);
    for (int i = 5; i < 64; ++i) assert_true(((const float *)arena.data)[i] == 0);
    mdist_variable_t *d = sized_variable(strategy, "d", MDIST_FLOAT32, 20, NULL);
    mdist_variable_t *e = sized_variable(strategy, "e", MDIST_FLOAT32, 16, NULL);
    mdist_variable_t *f = sized_variable(strategy, "f", MDIST_FLOAT32, 16, NULL);
    assert_int_equal(place_of(strategy, d, 0), 64);
    assert_int_equal(place_of(strategy, e, 1), 64 + 128);
    assert_int_equal(place_of(strategy, f, 1), 320);
    mdist_variable_destroy(f);
    mdist_variable_destroy(c);
    assert_int_equal(arena_of(strategy, MDIST_FLOAT32, 0).elements, 64);
    mdist_variable_destroy(a);
    mdist_variable_destroy(d);
    mdist_variable_destroy(e);
    mdist_strategy_destroy(strategy);
}

static void an_arena_is_one_buffer_to_reduce(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    float data[3] = {1, 2, 3};
    mdist_variable_t *a = sized_variable(strategy, "a", MDIST_FLOAT32, 3, data);
    mdist_variable_t *b = sized_variable(strategy, "b", MDIST_FLOAT32, 1, data);
    mdist_buffer_t arenas[2] = {arena_of(strategy, MDIST_FLOAT32, 0), arena_of(strategy, MDIST_FLOAT32, 1)};
    OK(mdist_strategy_all_reduce(strategy, MDIST_SUM, arenas, arenas, 1, NULL, &error));
    expect_copies(b, 2, 2);
    expect_copies(a, 2, 2);
    mdist_buffer_t out;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_variable_arena(strategy, MDIST_FLOAT32, 2, &out, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_variable_arena(strategy, (mdist_dtype_t)0, 0, &out, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_variable_arena(strategy, MDIST_FLOAT32, 0, NULL, &error));
    mdist_variable_destroy(b);
    mdist_variable_destroy(a);
    mdist_strategy_destroy(strategy);
}

static void variables_outlive_their_strategy(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_variable_t *a = scalar_variable(strategy, "a", 1, MDIST_SYNC_ON_READ, MDIST_AGGREGATION_SUM);
    mdist_variable_t *b = scalar_variable(strategy, "b", 2, MDIST_SYNC_AUTO, MDIST_AGGREGATION_SUM);
    mdist_strategy_destroy(strategy);
    expect_copies(a, 1, 1);
    expect_read(a, 2);
    assign_outside(b, MDIST_ASSIGN_ADD, 3);
    expect_read(b, 5);
    mdist_variable_destroy(a);
    expect_copies(b, 5, 5);
    mdist_variable_destroy(b);
}

typedef struct Maker {
    mdist_strategy_t *strategy;
    int index, wrong;
} Maker;

static void *make_and_destroy(void *user_data) {
    Maker *const maker = user_data;
    for (int i = 0; i < 200; ++i) {
        char name[32];
        float number = (float)i;
        const mdist_tensor_t tensor = tensor_of(&number, MDIST_FLOAT32, 0);
        mdist_variable_t *variable = NULL;
        snprintf(name, sizeof name, "thread %d/%d", maker->index, i);
        mdist_status_t status;
        do status = mdist_variable_create(maker->strategy, name, &tensor, &variable, NULL, NULL);
        while (status == MDIST_ERR_FAILED_PRECONDITION); // another thread uses the strategy
        mdist_tensor_t copy;
        if (status != MDIST_OK || mdist_variable_tensor(variable, 1, &copy, NULL) != MDIST_OK ||
            memcmp(copy.data, &number, sizeof number) != 0)
            ++maker->wrong;
        mdist_variable_destroy(variable);
    }
    return NULL;
}

static void threads_may_create_and_destroy_at_the_same_time(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    Maker makers[3];
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i) makers[i] = (Maker){strategy, i, 0};
    for (int i = 0; i < 3; ++i) assert_int_equal(pthread_create(&threads[i], NULL, make_and_destroy, &makers[i]), 0);
    for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
    for (int i = 0; i < 3; ++i) assert_int_equal(makers[i].wrong, 0);
    assert_int_equal(arena_of(strategy, MDIST_FLOAT32, 0).elements, 0);
    mdist_strategy_destroy(strategy);
}

// ---- In steps.

typedef struct Creation {
    const char *names[REPLICAS];
    mdist_tensor_t initials[REPLICAS];
    mdist_variable_options_t options[REPLICAS];
    mdist_variable_t *made[REPLICAS];
    mdist_status_t status[REPLICAS];
    char messages[REPLICAS][512];
} Creation;

static int32_t creating_step(mdist_replica_t *replica, void *user_data) {
    Creation *const c = user_data;
    const int32_t id = mdist_replica_id(replica);
    mdist_error_t *error = NULL;
    c->status[id] =
        mdist_replica_variable_create(replica, c->names[id], &c->initials[id], &c->made[id], &c->options[id], &error);
    snprintf(c->messages[id], sizeof c->messages[id], "%s", mdist_error_message(error));
    mdist_error_free(error);
    return 0;
}

static void fill_creation(Creation *c, float *data) {
    memset(c, 0, sizeof *c);
    for (int r = 0; r < REPLICAS; ++r) {
        c->names[r] = "made";
        c->initials[r] = tensor_of(data + 2 * r, MDIST_FLOAT32, 2);
        c->options[r].struct_size = sizeof c->options[r];
    }
}

static void creation_in_a_step_takes_replica_zeros_values(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(REPLICAS, NULL);
    float data[2 * REPLICAS] = {1, 2, 3, 4, 5, 6};
    Creation c;
    for (int turn = 0; turn < 20; ++turn) {
        fill_creation(&c, data);
        OK(mdist_run(strategy, creating_step, &c, NULL, &error));
        for (uint32_t r = 0; r < REPLICAS; ++r) {
            mdist_tensor_t copy;
            assert_int_equal(c.status[r], MDIST_OK);
            for (uint32_t other = 0; other < r; ++other) assert_ptr_not_equal(c.made[r], c.made[other]);
            for (uint32_t local = 0; local < REPLICAS; ++local) {
                OK(mdist_variable_tensor(c.made[r], local, &copy, &error));
                assert_memory_equal(copy.data, data, 2 * sizeof(float));
            }
        }
        // The variable ended with its last handle, so the name can be used again.
        for (int r = 0; r < REPLICAS; ++r) mdist_variable_destroy(c.made[(r + turn) % REPLICAS]);
    }
    mdist_strategy_destroy(strategy);
}

static void replicas_that_create_different_variables_are_all_told(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(REPLICAS, NULL);
    float data[2 * REPLICAS] = {1, 2, 3, 4, 5, 6};
    for (int kind = 0; kind < 6; ++kind)
        for (int odd = 0; odd < REPLICAS; ++odd) {
            Creation c;
            fill_creation(&c, data);
            if (kind == 0) c.names[odd] = "other";
            if (kind == 1) c.initials[odd] = tensor_of(data, MDIST_FLOAT32, 1);
            if (kind == 2) c.initials[odd] = shaped(data, MDIST_FLOAT32, 2, 1, NO);
            if (kind == 3) c.initials[odd].dtype = MDIST_INT32;
            if (kind == 4) c.options[odd].synchronization = MDIST_SYNC_ON_READ;
            if (kind == 5) c.options[odd].aggregation = MDIST_AGGREGATION_SUM;
            FAILS(MDIST_ERR_MISMATCH, mdist_run(strategy, creating_step, &c, NULL, &error));
            for (int r = 0; r < REPLICAS; ++r) {
                assert_int_equal(c.status[r], MDIST_ERR_MISMATCH);
                assert_string_equal(c.messages[r], c.messages[0]);
                assert_null(c.made[r]);
            }
        }
    expect_usable(strategy);
    // AUTO means ON_WRITE, so these two agree. The failed creations have not used up the name.
    Creation c;
    fill_creation(&c, data);
    c.options[1].synchronization = MDIST_SYNC_ON_WRITE;
    OK(mdist_run(strategy, creating_step, &c, NULL, &error));
    // A second variable with the same name fails on all replicas in the same way.
    Creation again;
    fill_creation(&again, data);
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_run(strategy, creating_step, &again, NULL, &error));
    for (int r = 0; r < REPLICAS; ++r) {
        assert_int_equal(again.status[r], MDIST_ERR_INVALID_ARGUMENT);
        assert_non_null(strstr(again.messages[r], "\"made\""));
    }
    for (int r = 0; r < REPLICAS; ++r) mdist_variable_destroy(c.made[r]);
    expect_usable(strategy);
    mdist_strategy_destroy(strategy);
}

// Writes on every replica, with different variables or operations.
static int32_t disagreeing_step(mdist_replica_t *replica, void *user_data) {
    mdist_variable_t *const *const variables = user_data;
    float number = 9;
    const mdist_tensor_t tensor = tensor_of(&number, MDIST_FLOAT32, 0);
    const int odd = mdist_replica_id(replica) == 1;
    const mdist_assign_t assign = odd && variables[1] == NULL ? MDIST_ASSIGN_ADD : MDIST_ASSIGN_SET;
    mdist_variable_t *const variable = odd && variables[1] != NULL ? variables[1] : variables[0];
    return mdist_replica_assign(replica, variable, assign, &tensor, NULL, NULL) == MDIST_ERR_MISMATCH ? 0 : 1;
}

static void replicas_that_write_differently_change_nothing(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    for (int aggregation = MDIST_AGGREGATION_SUM; aggregation <= MDIST_AGGREGATION_ONLY_FIRST_REPLICA; ++aggregation) {
        mdist_variable_t *two[2] = {scalar_variable(strategy, "a", 1, 0, aggregation),
                                    scalar_variable(strategy, "b", 2, 0, aggregation)};
        FAILS(MDIST_ERR_MISMATCH, mdist_run(strategy, disagreeing_step, two, NULL, &error));
        mdist_variable_t *one[2] = {two[0], NULL};
        FAILS(MDIST_ERR_MISMATCH, mdist_run(strategy, disagreeing_step, one, NULL, &error));
        expect_copies(two[0], 1, 1);
        expect_copies(two[1], 2, 2);
        mdist_variable_destroy(two[0]);
        mdist_variable_destroy(two[1]);
    }
    expect_usable(strategy);
    mdist_strategy_destroy(strategy);
}

static void a_strategy_that_was_aborted_still_reads_and_writes_its_own_memory(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_variable_t *v = scalar_variable(strategy, "v", 1, MDIST_SYNC_AUTO, MDIST_AGGREGATION_SUM);
    mdist_strategy_abort(strategy);
    const float written[2] = {1, 2};
    Writing writing = {v, MDIST_ASSIGN_SET, written};
    FAILS(MDIST_ERR_ABORTED, mdist_run(strategy, writing_step, &writing, NULL, &error));
    expect_copies(v, 1, 1);
    expect_read(v, 1);
    assign_outside(v, MDIST_ASSIGN_SET, 8);
    expect_copies(v, 8, 8);
    assert_int_equal(arena_of(strategy, MDIST_FLOAT32, 0).elements, 16);
    mdist_strategy_destroy(strategy);
    expect_read(v, 8);
    mdist_variable_destroy(v);
}

// Outside functions fail in a step. The message names the function to use instead.
typedef struct Misplaced {
    mdist_variable_t *variable;
    mdist_value_t *value;
    mdist_strategy_t *strategy;
    _Atomic int wrong;
} Misplaced;

static void want_words(Misplaced *m, mdist_status_t status, mdist_error_t **error, const char *words) {
    if (status != MDIST_ERR_WRONG_CONTEXT || strstr(mdist_error_message(*error), words) == NULL) ++m->wrong;
    mdist_error_free(*error);
    *error = NULL;
}

static int32_t misplaced_step(mdist_replica_t *replica, void *user_data) {
    (void)replica;
    Misplaced *const m = user_data;
    float number = 1;
    const mdist_tensor_t tensor = tensor_of(&number, MDIST_FLOAT32, 0);
    mdist_variable_t *variable = NULL;
    mdist_value_t *out = NULL;
    mdist_error_t *error = NULL;
    want_words(m, mdist_variable_create(m->strategy, "x", &tensor, &variable, NULL, &error), &error,
               "mdist_replica_variable_create");
    want_words(m, mdist_variable_assign(m->variable, MDIST_ASSIGN_SET, m->value, &error), &error,
               "mdist_replica_assign");
    want_words(m, mdist_variable_read(m->variable, &out, NULL, &error), &error, "mdist_variable_tensor");
    want_words(m, mdist_strategy_reduce(m->strategy, MDIST_MEAN, m->value, &out, NULL, &error), &error,
               "mdist_all_reduce");
    want_words(m, mdist_strategy_gather(m->strategy, m->value, 0, &out, NULL, &error), &error, "mdist_all_gather");
    want_words(m, mdist_strategy_broadcast(m->strategy, &tensor, &out, &error), &error, "mdist_broadcast");
    return 0;
}

static void calls_in_the_wrong_context_name_the_right_one(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    float number = 1;
    Misplaced m = {.strategy = make_strategy(2, NULL)};
    m.variable = scalar_variable(m.strategy, "v", 1, 0, 0);
    m.value = make_value(&number, MDIST_FLOAT32, 0);
    OK(mdist_run(m.strategy, misplaced_step, &m, NULL, &error));
    assert_int_equal(m.wrong, 0);
    mdist_value_destroy(m.value);
    mdist_variable_destroy(m.variable);
    mdist_strategy_destroy(m.strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousands_of_variables_lie_in_order_and_never_move),
        cmocka_unit_test(gaps_hold_zeros_and_freed_space_comes_back_zeroed),
        cmocka_unit_test(an_arena_is_one_buffer_to_reduce),
        cmocka_unit_test(variables_outlive_their_strategy),
        cmocka_unit_test(threads_may_create_and_destroy_at_the_same_time),
        cmocka_unit_test(creation_in_a_step_takes_replica_zeros_values),
        cmocka_unit_test(replicas_that_create_different_variables_are_all_told),
        cmocka_unit_test(replicas_that_write_differently_change_nothing),
        cmocka_unit_test(a_strategy_that_was_aborted_still_reads_and_writes_its_own_memory),
        cmocka_unit_test(calls_in_the_wrong_context_name_the_right_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
