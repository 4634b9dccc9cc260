// SPDX-License-Identifier: Apache-2.0
// Rows written into variables: every operation on every type, in a step and outside, and what is refused.
// variable_table_test covers synchronization and aggregation.
#include "value_support.h"

enum { MOST = 3, HEIGHT = 5, WIDTH = 7, MOST_ROWS = 12 };

// ---- Plain arithmetic on one row.

static void negate(int32_t dtype, const unsigned char *from, unsigned char *to, uint64_t elements) {
    const size_t size = mdist_dtype_size((mdist_dtype_t)dtype);
    for (uint64_t i = 0; i < elements; ++i) {
        const uint64_t whole = 0 - load_whole(dtype, from + i * size);
        memcpy(to + i * size, is_integer(dtype) ? (const unsigned char *)&whole : from + i * size, size);
        if (!is_integer(dtype)) to[(i + 1) * size - 1] ^= 0x80;
    }
}

static void divide(int32_t dtype, unsigned char *to, const unsigned char *by, uint64_t elements) {
    const size_t size = mdist_dtype_size((mdist_dtype_t)dtype);
    for (uint64_t i = 0; i < elements; ++i, to += size, by += size) {
        if (is_integer(dtype)) {
            const uint64_t a = load_whole(dtype, to), b = load_whole(dtype, by);
            const uint64_t quotient = !is_signed(dtype)   ? a / b
                                      : b == ~(uint64_t)0 ? 0 - a
                                                          : (uint64_t)((int64_t)a / (int64_t)b);
            memcpy(to, &quotient, size);
        } else {
            const double quotient = load_real(dtype, to) / load_real(dtype, by);
            store_real(dtype, dtype == MDIST_FLOAT64 ? quotient : (double)(float)quotient, to);
        }
    }
}

static int is_arithmetic(int assign) {
    return assign >= MDIST_ASSIGN_ADD && assign <= MDIST_ASSIGN_DIV;
}

static void write_row(int assign, int32_t dtype, unsigned char *to, const unsigned char *from) {
    static const int ops[] = {[MDIST_ASSIGN_ADD] = MDIST_SUM,
                              [MDIST_ASSIGN_SUB] = MDIST_SUM,
                              [MDIST_ASSIGN_MUL] = MDIST_PROD,
                              [MDIST_ASSIGN_MIN] = MDIST_MIN,
                              [MDIST_ASSIGN_MAX] = MDIST_MAX};
    const size_t bytes = WIDTH * mdist_dtype_size((mdist_dtype_t)dtype);
    unsigned char before[WIDTH * 8], negative[WIDTH * 8];
    const unsigned char *sources[2] = {before, assign == MDIST_ASSIGN_SUB ? negative : from};
    memcpy(before, to, bytes);
    negate(dtype, from, negative, WIDTH);
    if (assign == MDIST_ASSIGN_SET)
        memcpy(to, from, bytes);
    else if (assign == MDIST_ASSIGN_DIV)
        divide(dtype, to, from, WIDTH);
    else
        reduce_plainly(ops[assign], dtype, sources, 2, to, WIDTH);
}

/// The rows that one replica writes.
typedef struct Written {
    uint64_t count;
    int64_t indices[MOST_ROWS];
    unsigned char rows[MOST_ROWS * WIDTH * 8];
} Written;

static Written random_rows(int32_t dtype) {
    Written out = {.count = below(MOST_ROWS + 1)};
    const size_t size = mdist_dtype_size((mdist_dtype_t)dtype);
    fill(dtype, out.rows, MOST_ROWS * WIDTH);
    for (uint64_t i = 0; i < MOST_ROWS * WIDTH; ++i)
        if (is_integer(dtype) && load_whole(dtype, out.rows + i * size) == 0) out.rows[i * size] = 3; // not 0
    for (int i = 0; i < MOST_ROWS; ++i) out.indices[i] = (int64_t)below(HEIGHT);
    return out;
}

static void write_plainly(int assign, int32_t dtype, unsigned char *copy, const Written *written) {
    const size_t bytes = WIDTH * mdist_dtype_size((mdist_dtype_t)dtype);
    for (uint64_t i = 0; i < written->count; ++i)
        write_row(assign, dtype, copy + (size_t)written->indices[i] * bytes, written->rows + i * bytes);
}

typedef struct World {
    mdist_strategy_t *strategy;
    mdist_variable_t *variable;
    int32_t dtype;
    int assign;
    Written written[MOST];
    Note notes[MOST];
} World;

static mdist_tensor_t indices_of(Written *written) {
    return shaped(written->indices, MDIST_INT64, written->count, NO, NO);
}
static mdist_tensor_t rows_of(const World *world, Written *written) {
    return shaped(written->rows, world->dtype, written->count, WIDTH, NO);
}

/// Makes a variable with random content, copies the content to `model`, and makes random rows for each replica.
static void begin(World *world, int aggregation, unsigned char *model) {
    mdist_error_t *error = NULL;
    fill(world->dtype, model, HEIGHT * WIDTH);
    const mdist_tensor_t initial = shaped(model, world->dtype, HEIGHT, WIDTH, NO);
    const mdist_variable_options_t options = {.struct_size = sizeof options, .aggregation = aggregation};
    OK(mdist_variable_create(world->strategy, "table", &initial, &world->variable, &options, &error));
    for (int r = 0; r < MOST; ++r) world->written[r] = random_rows(world->dtype);
}

static void expect_copy(const World *world, uint32_t local, const unsigned char *model) {
    mdist_error_t *error = NULL;
    mdist_tensor_t copy;
    OK(mdist_variable_tensor(world->variable, local, &copy, &error));
    const size_t bytes = HEIGHT * WIDTH * mdist_dtype_size((mdist_dtype_t)world->dtype);
    if (memcmp(copy.data, model, bytes) != 0)
        fail_msg("%s, assign %d, copy %u differs from plain arithmetic", mdist_dtype_name((mdist_dtype_t)world->dtype),
                 world->assign, (unsigned)local);
}

static mdist_value_t *value_of_rows(const World *world) {
    mdist_error_t *error = NULL;
    mdist_tensor_t indices[MOST], rows[MOST];
    mdist_value_t *out = NULL;
    for (int r = 0; r < MOST; ++r) {
        indices[r] = indices_of((Written *)&world->written[r]);
        rows[r] = rows_of(world, (Written *)&world->written[r]);
    }
    mdist_value_t *which = per_replica(world->strategy, indices), *values = per_replica(world->strategy, rows);
    OK(mdist_value_sparse(which, values, &out, &error));
    mdist_value_destroy(which);
    mdist_value_destroy(values);
    return out;
}

static void outside_each_copy_gets_its_own_rows(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    seed_random(20261122);
    World world = {.strategy = make_strategy(MOST, NULL)};
    for (world.dtype = 1; world.dtype <= DTYPES; ++world.dtype)
        for (world.assign = MDIST_ASSIGN_SET; world.assign <= MDIST_ASSIGN_MAX; ++world.assign) {
            unsigned char model[MOST][HEIGHT * WIDTH * 8];
            if (world.dtype == MDIST_BOOL && is_arithmetic(world.assign)) continue;
            begin(&world, MDIST_AGGREGATION_NONE, model[0]);
            mdist_value_t *value = value_of_rows(&world);
            OK(mdist_variable_assign(world.variable, (mdist_assign_t)world.assign, value, &error));
            for (uint32_t r = 1; r < MOST; ++r) memcpy(model[r], model[0], sizeof model[0]);
            for (uint32_t r = 0; r < MOST; ++r) {
                write_plainly(world.assign, world.dtype, model[r], &world.written[r]);
                expect_copy(&world, r, model[r]);
            }
            mdist_value_destroy(value);
            mdist_variable_destroy(world.variable);
        }
    mdist_strategy_destroy(world.strategy);
}

static int32_t write_step(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    const int32_t id = mdist_replica_id(replica);
    mdist_error_t *error = NULL;
    const mdist_tensor_t indices = indices_of(&world->written[id]), rows = rows_of(world, &world->written[id]);
    return note(&world->notes[id], MDIST_OK,
                mdist_replica_assign_sparse(replica, world->variable, (mdist_assign_t)world->assign, &indices, &rows,
                                            NULL, &error),
                &error, "mdist_replica_assign_sparse");
}

static void in_a_step_every_copy_gets_the_rows_of_all(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    seed_random(20261123);
    for (uint32_t replicas = 1; replicas <= MOST; ++replicas) {
        World world = {.strategy = make_strategy(replicas, NULL)};
        for (world.dtype = 1; world.dtype < MDIST_BOOL; ++world.dtype) // a bool has no sum
            for (world.assign = MDIST_ASSIGN_ADD; world.assign <= MDIST_ASSIGN_DIV; ++world.assign) {
                unsigned char model[HEIGHT * WIDTH * 8];
                begin(&world, MDIST_AGGREGATION_SUM, model);
                OK(mdist_run(world.strategy, write_step, &world, NULL, &error));
                for (uint32_t r = 0; r < replicas; ++r)
                    write_plainly(world.assign, world.dtype, model, &world.written[r]);
                for (uint32_t r = 0; r < replicas; ++r) expect_copy(&world, r, model);
                mdist_variable_destroy(world.variable);
            }
        mdist_strategy_destroy(world.strategy);
    }
}

// ---- What is refused.

/// If one row does not fit one copy, no copy is written.
static void rows_that_do_not_fit_are_refused_and_nothing_is_written(void **state) {
    (void)state;
    float initial[4] = {1, 2, 3, 4}, numbers[6] = {9, 9, 9, 9, 9, 9};
    int32_t wholes[4] = {1, 1, 0, 1};
    int64_t right[2] = {1, 0}, past[2] = {0, 2}, negative[2] = {-1, 0};
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    mdist_error_t *error = NULL;
    mdist_variable_t *matrix = NULL, *scalar = NULL, *whole = NULL;
    const mdist_tensor_t tensors[] = {shaped(initial, MDIST_FLOAT32, 2, 2, NO), tensor_of(initial, MDIST_FLOAT32, 0),
                                      shaped(wholes, MDIST_INT32, 2, 2, NO)};
    OK(mdist_variable_create(strategy, "matrix", &tensors[0], &matrix, NULL, &error));
    OK(mdist_variable_create(strategy, "scalar", &tensors[1], &scalar, NULL, &error));
    OK(mdist_variable_create(strategy, "whole", &tensors[2], &whole, NULL, &error));
    const mdist_tensor_t good = shaped(numbers, MDIST_FLOAT32, 2, 2, NO);
    const struct {
        mdist_variable_t *variable;
        int assign;
        int64_t *indices;
        mdist_tensor_t rows;
        const char *words;
    } cases[] = {
        {matrix, MDIST_ASSIGN_ADD, past, good, "index 1 of the rows is 2; variable \"matrix\" has 2 rows"},
        {matrix, MDIST_ASSIGN_SET, negative, good, "index 0 of the rows is -1"},
        {matrix, MDIST_ASSIGN_ADD, right, shaped(numbers, MDIST_FLOAT32, 2, 3, NO), "float32 [*, 3]"},
        {matrix, MDIST_ASSIGN_ADD, right, tensor_of(numbers, MDIST_FLOAT32, 2), "float32 [*] and"},
        {matrix, MDIST_ASSIGN_ADD, right, shaped(wholes, MDIST_INT32, 2, 2, NO), "int32 [*, 2]"},
        {matrix, 8, right, good, "assign is 8"},
        {matrix, 0, right, good, "assign is 0"},
        {scalar, MDIST_ASSIGN_ADD, right, tensor_of(numbers, MDIST_FLOAT32, 2), "\"scalar\" is float32 []"},
        {whole, MDIST_ASSIGN_DIV, right, shaped(wholes, MDIST_INT32, 2, 2, NO), "contain a 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        mdist_value_t *which = make_value(cases[i].indices, MDIST_INT64, 2), *values = plain(cases[i].rows),
                      *rows = NULL;
        OK(mdist_value_sparse(which, values, &rows, &error));
        const mdist_status_t status =
            mdist_variable_assign(cases[i].variable, (mdist_assign_t)cases[i].assign, rows, &error);
        WORDS(error, cases[i].words);
        assert_int_equal(status, MDIST_ERR_INVALID_ARGUMENT);
        mdist_error_free(error);
        error = NULL;
        mdist_value_destroy(which);
        mdist_value_destroy(values);
        mdist_value_destroy(rows);
    }
    mdist_tensor_t copy;
    OK(mdist_variable_tensor(matrix, 0, &copy, &error));
    assert_memory_equal(copy.data, initial, sizeof initial);
    // Whole tensors can only be SET, ADDed and SUBtracted.
    mdist_value_t *value = plain(good);
    const mdist_status_t status = mdist_variable_assign(matrix, MDIST_ASSIGN_MUL, value, &error);
    WORDS(error, "the others work only with rows");
    assert_int_equal(status, MDIST_ERR_INVALID_ARGUMENT);
    mdist_error_free(error);
    mdist_value_destroy(value);
    mdist_variable_destroy(matrix);
    mdist_variable_destroy(scalar);
    mdist_variable_destroy(whole);
    mdist_strategy_destroy(strategy);
}

typedef struct Odd {
    mdist_variable_t *variable;
    int kind;
} Odd;

/// Replica 1 adds while the other subtracts, or passes a bad index, or passes rows in the variable's own memory.
static int32_t odd_step(mdist_replica_t *replica, void *user_data) {
    const Odd *const self = user_data;
    const int odd = mdist_replica_id(replica) == 1;
    int64_t index = odd && self->kind == 1 ? 9 : 0;
    float number = 1;
    mdist_tensor_t which = tensor_of(&index, MDIST_INT64, 1), row = tensor_of(&number, MDIST_FLOAT32, 1), copy;
    if (mdist_variable_tensor(self->variable, 1, &copy, NULL) != MDIST_OK) return 1;
    if (odd && self->kind == 2) row.data = copy.data;
    mdist_replica_assign_sparse(replica, self->variable, odd && self->kind == 0 ? MDIST_ASSIGN_ADD : MDIST_ASSIGN_SUB,
                                &which, &row, NULL, NULL);
    return 0;
}

static void what_one_replica_does_otherwise_is_told(void **state) {
    (void)state;
    static const struct {
        mdist_status_t status;
        const char *words;
    } wanted[] = {{MDIST_ERR_MISMATCH, "SUM, ADD"},
                  {MDIST_ERR_INVALID_ARGUMENT, "index 0 of the rows is 9"},
                  {MDIST_ERR_INVALID_ARGUMENT, "must be separate memory"}};
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_error_t *error = NULL;
    float zeros[2] = {0, 0};
    const mdist_tensor_t initial = tensor_of(zeros, MDIST_FLOAT32, 2);
    const mdist_variable_options_t options = {.struct_size = sizeof options, .aggregation = MDIST_AGGREGATION_SUM};
    Odd odd = {NULL, 0};
    OK(mdist_variable_create(strategy, "v", &initial, &odd.variable, &options, &error));
    for (odd.kind = 0; odd.kind < 3; ++odd.kind) {
        const mdist_status_t status = mdist_run(strategy, odd_step, &odd, NULL, &error);
        WORDS(error, wanted[odd.kind].words);
        assert_int_equal(status, wanted[odd.kind].status);
        mdist_error_free(error);
        error = NULL;
        for (uint32_t r = 0; r < 2; ++r) {
            mdist_tensor_t copy;
            OK(mdist_variable_tensor(odd.variable, r, &copy, &error));
            assert_memory_equal(copy.data, zeros, sizeof zeros);
        }
    }
    mdist_variable_destroy(odd.variable);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outside_each_copy_gets_its_own_rows),
        cmocka_unit_test(in_a_step_every_copy_gets_the_rows_of_all),
        cmocka_unit_test(rows_that_do_not_fit_are_refused_and_nothing_is_written),
        cmocka_unit_test(what_one_replica_does_otherwise_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
