// SPDX-License-Identifier: Apache-2.0
// mdist_all_reduce and mdist_strategy_all_reduce give the bits of the reduction tree that the header describes.
#include "collective_support.h"

typedef struct Plan {
    uint32_t replicas;
    int op;
    size_t count;
    int32_t dtypes[MAX_BUFFERS];
    uint64_t elements[MAX_BUFFERS];
    int in_place;
    int aligned;
    int odd_modes;
} Plan;

typedef struct Data {
    Block inputs[MAX_REPLICAS][MAX_BUFFERS];
    Block outputs[MAX_REPLICAS][MAX_BUFFERS];
    Block expected[MAX_BUFFERS];
} Data;

static Data make_data(const Plan *plan) {
    Data data;
    for (size_t b = 0; b < plan->count; ++b) {
        const unsigned char *sources[MAX_REPLICAS];
        for (uint32_t r = 0; r < plan->replicas; ++r) {
            Block *const input = &data.inputs[r][b];
            *input = make_block(plan->dtypes[b], plan->elements[b], plan->aligned ? 0 : below(64));
            fill(plan->dtypes[b], input->data, plan->elements[b]);
            data.outputs[r][b] = make_block(plan->dtypes[b], plan->elements[b], plan->aligned ? 0 : below(64));
            sources[r] = input->data;
        }
        data.expected[b] = make_block(plan->dtypes[b], plan->elements[b], 0);
        reduce_plainly(plan->op, plan->dtypes[b], sources, plan->replicas, data.expected[b].data, plan->elements[b]);
    }
    return data;
}

static void check_data(const Plan *plan, const Data *data) {
    for (size_t b = 0; b < plan->count; ++b) {
        const size_t bytes = data->expected[b].bytes;
        for (uint32_t r = 0; r < plan->replicas; ++r) {
            const Block *const result = plan->in_place ? &data->inputs[r][b] : &data->outputs[r][b];
            if (bytes != 0 && memcmp(result->data, data->expected[b].data, bytes) != 0) {
                const size_t size = mdist_dtype_size((mdist_dtype_t)plan->dtypes[b]);
                size_t i = 0;
                while (memcmp(result->data + i * size, data->expected[b].data + i * size, size) == 0) ++i;
                uint64_t got = 0, wanted = 0;
                memcpy(&got, result->data + i * size, size);
                memcpy(&wanted, data->expected[b].data + i * size, size);
                print_error("%u replicas, op %d, %s x %llu, replica %u, element %zu: %llx, not %llx\n",
                            (unsigned)plan->replicas, plan->op, mdist_dtype_name((mdist_dtype_t)plan->dtypes[b]),
                            (unsigned long long)plan->elements[b], (unsigned)r, i, (unsigned long long)got,
                            (unsigned long long)wanted);
                fail();
            }
            assert_true(guards_intact(&data->inputs[r][b]));
            assert_true(guards_intact(&data->outputs[r][b]));
        }
    }
}

static void free_data(const Plan *plan, Data *data) {
    for (size_t b = 0; b < plan->count; ++b) {
        for (uint32_t r = 0; r < plan->replicas; ++r) {
            free(data->inputs[r][b].base);
            free(data->outputs[r][b].base);
        }
        free(data->expected[b].base);
    }
}

// The buffers of all replicas, by replica and then by buffer.
typedef struct Lists {
    mdist_buffer_t inputs[MAX_REPLICAS * MAX_BUFFERS];
    mdist_buffer_t outputs[MAX_REPLICAS * MAX_BUFFERS];
} Lists;

static Lists lists_of(const Plan *plan, const Data *data) {
    Lists lists;
    memset(&lists, 0, sizeof lists);
    for (uint32_t r = 0; r < plan->replicas; ++r)
        for (size_t b = 0; b < plan->count; ++b) {
            lists.inputs[r * plan->count + b] = data->inputs[r][b].buffer;
            lists.outputs[r * plan->count + b] =
                plan->in_place ? data->inputs[r][b].buffer : data->outputs[r][b].buffer;
        }
    return lists;
}

static void all_reduce_in_step(mdist_strategy_t *strategy, const Plan *plan) {
    Data data = make_data(plan);
    const Lists lists = lists_of(plan, &data);
    Request requests[MAX_REPLICAS];
    memset(requests, 0, sizeof requests);
    for (uint32_t r = 0; r < plan->replicas; ++r) {
        requests[r].kind = ALL_REDUCE;
        requests[r].op = plan->op;
        requests[r].inputs = lists.inputs + r * plan->count;
        requests[r].outputs = lists.outputs + r * plan->count;
        requests[r].count = plan->count;
        requests[r].odd_modes = plan->odd_modes && r % 2 == 0;
    }
    expect_requests(strategy, requests, MDIST_OK, 1);
    check_data(plan, &data);
    free_data(plan, &data);
}

static void all_reduce_by_strategy(mdist_strategy_t *strategy, const Plan *plan) {
    mdist_error_t *error = NULL;
    Data data = make_data(plan);
    const Lists lists = lists_of(plan, &data);
    OK(mdist_strategy_all_reduce(strategy, (mdist_reduce_op_t)plan->op, lists.inputs, lists.outputs, plan->count, NULL,
                                 &error));
    check_data(plan, &data);
    free_data(plan, &data);
}

typedef void (*Way)(mdist_strategy_t *, const Plan *);

static Plan plan_one(uint32_t replicas, int op, int32_t dtype, uint64_t elements) {
    Plan plan = {.replicas = replicas, .op = op, .count = 1, .dtypes = {dtype}, .elements = {elements}};
    plan.in_place = below(2) == 0;
    plan.aligned = below(2) == 0;
    plan.odd_modes = below(4) == 0;
    return plan;
}

// Draws a size near those at which the library changes its algorithm: per call, or per replica.
static uint64_t border_size(uint32_t replicas, size_t element_bytes) {
    static const uint64_t borders[] = {8192, 16384, 32768, 65536};
    uint64_t bytes = borders[below(4)];
    if (below(2) == 0) bytes /= replicas;
    return bytes / element_bytes + below(5) - 2;
}

static void try_all_types(mdist_strategy_t *strategy, uint32_t replicas, Way way) {
    for (int32_t dtype = 1; dtype <= DTYPES; ++dtype) {
        const size_t size = mdist_dtype_size((mdist_dtype_t)dtype);
        for (int op = 1; op <= OPS; ++op) {
            if (!takes(op, dtype)) continue;
            const uint64_t sizes[] = {0, 1, 2 * below(16) + 3, 63, 64, 65, border_size(replicas, size)};
            const size_t count = sizeof sizes / sizeof *sizes;
            for (size_t i = 0; i < count; ++i) {
                const Plan plan = plan_one(replicas, op, dtype, sizes[i]);
                way(strategy, &plan);
            }
        }
    }
}

static void all_reduce_follows_the_tree_for_all_types_and_replica_counts(void **state) {
    (void)state;
    seed_random(20240801);
    for (int turn = 0; turn < (is_long() ? 4 : 1); ++turn)
        for (uint32_t replicas = 1; replicas <= MAX_REPLICAS; ++replicas) {
            mdist_strategy_t *strategy = make_strategy(replicas, NULL);
            try_all_types(strategy, replicas, all_reduce_in_step);
            mdist_strategy_destroy(strategy);
        }
}

static void strategy_all_reduce_follows_the_tree_with_both_executors(void **state) {
    (void)state;
    seed_random(20240802);
    static const char *const executors[] = {"threads", "caller"};
    for (int turn = 0; turn < (is_long() ? 4 : 1); ++turn)
        for (uint32_t replicas = 1; replicas <= MAX_REPLICAS; ++replicas) {
            mdist_strategy_t *strategy = make_strategy(replicas, executors[(replicas + (uint32_t)turn) % 2]);
            try_all_types(strategy, replicas, all_reduce_by_strategy);
            mdist_strategy_destroy(strategy);
        }
}

// Tests several chunks of the largest size for every replica.
static void many_chunks_give_the_same_bits(void **state) {
    (void)state;
    seed_random(20240803);
    for (uint32_t replicas = 1; replicas <= (is_long() ? 9u : 4u); ++replicas) {
        mdist_strategy_t *strategy = make_strategy(replicas, NULL);
        mdist_strategy_t *caller = make_strategy(replicas, "caller");
        for (int turn = 0; turn < (is_long() ? 8 : 3); ++turn) {
            const int32_t dtype = (int32_t)(1 + below(DTYPES));
            int op = (int)(1 + below(OPS));
            if (!takes(op, dtype)) op = dtype == MDIST_BOOL ? MDIST_XOR : MDIST_SUM;
            const size_t size = mdist_dtype_size((mdist_dtype_t)dtype);
            const uint64_t bytes = replicas * 262144 + below(262144);
            const Plan plan = plan_one(replicas, op, dtype, bytes / size);
            all_reduce_in_step(strategy, &plan);
            all_reduce_by_strategy(strategy, &plan);
            all_reduce_by_strategy(caller, &plan);
        }
        mdist_strategy_destroy(caller);
        mdist_strategy_destroy(strategy);
    }
}

static void buffers_of_mixed_types_are_reduced_in_one_call(void **state) {
    (void)state;
    seed_random(20240804);
    for (uint32_t replicas = 1; replicas <= MAX_REPLICAS; ++replicas) {
        mdist_strategy_t *strategy = make_strategy(replicas, NULL);
        for (int turn = 0; turn < (is_long() ? 100 : 12); ++turn) {
            Plan plan = plan_one(replicas, (int)(1 + below(OPS)), MDIST_FLOAT32, 0);
            plan.count = below(MAX_BUFFERS + 1);
            const uint64_t limit = below(3) == 0 ? 30000 : 700;
            for (size_t b = 0; b < plan.count; ++b) {
                do plan.dtypes[b] = (int32_t)(1 + below(DTYPES));
                while (!takes(plan.op, plan.dtypes[b]));
                plan.elements[b] = below(4) == 0 ? 0 : below(limit);
            }
            all_reduce_in_step(strategy, &plan);
            all_reduce_by_strategy(strategy, &plan);
        }
        mdist_strategy_destroy(strategy);
    }
}

static void repetitions_give_identical_bits(void **state) {
    (void)state;
    seed_random(20240805);
    const uint64_t seed = random_state;
    mdist_strategy_t *strategy = make_strategy(5, NULL);
    const uint64_t sizes[] = {1000, 90001};
    for (int size = 0; size < 2; ++size)
        for (int turn = 0; turn < 20; ++turn) {
            random_state = seed; // expects the same result each time
            Plan plan = plan_one(5, MDIST_SUM, MDIST_FLOAT16, sizes[size]);
            all_reduce_in_step(strategy, &plan);
        }
    mdist_strategy_destroy(strategy);
}

static void worked_examples_come_out(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    // 1 and 3 give the sum 4 and the mean 2. [39, 2] and [3, 41] give [42, 43] and [21, 21.5].
    float scalars[2] = {1, 3}, vectors[2][2] = {{39, 2}, {3, 41}};
    float sums[2][3], means[2][3];
    mdist_buffer_t in[4], sum[4], mean[4];
    for (int r = 0; r < 2; ++r) {
        in[2 * r] = buffer_of(&scalars[r], MDIST_FLOAT32, 1);
        in[2 * r + 1] = buffer_of(vectors[r], MDIST_FLOAT32, 2);
        for (int b = 0; b < 2; ++b) {
            sum[2 * r + b] = buffer_of(&sums[r][b], MDIST_FLOAT32, (uint64_t)b + 1);
            mean[2 * r + b] = buffer_of(&means[r][b], MDIST_FLOAT32, (uint64_t)b + 1);
        }
    }
    Request requests[MAX_REPLICAS];
    memset(requests, 0, sizeof requests);
    for (int r = 0; r < 2; ++r)
        requests[r] = (Request){.op = MDIST_SUM, .inputs = in + 2 * r, .outputs = sum + 2 * r, .count = 2};
    expect_requests(strategy, requests, MDIST_OK, 1);
    OK(mdist_strategy_all_reduce(strategy, MDIST_MEAN, in, mean, 2, NULL, &error));
    const float wanted_sums[] = {4, 42, 43}, wanted_means[] = {2, 21, 21.5f};
    for (int r = 0; r < 2; ++r) {
        assert_memory_equal(sums[r], wanted_sums, sizeof wanted_sums);
        assert_memory_equal(means[r], wanted_means, sizeof wanted_means);
    }
    mdist_strategy_destroy(strategy);
}

// A merge with a large all-reduce. The waiting threads of the replicas share its work.
static int32_t merge_all_reduce(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                                mdist_value_t **results, size_t result_count, void *user_data) {
    (void)arguments, (void)argument_count, (void)results, (void)result_count;
    const Lists *const lists = user_data;
    return mdist_strategy_all_reduce(strategy, MDIST_SUM, lists->inputs, lists->outputs, 1, NULL, NULL);
}

static int32_t merging_step(mdist_replica_t *replica, void *user_data) {
    return mdist_merge_call(replica, merge_all_reduce, user_data, NULL, 0, NULL, 0, NULL, NULL);
}

static void a_merge_may_all_reduce_what_is_large(void **state) {
    (void)state;
    seed_random(20240806);
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    for (int turn = 0; turn < 10; ++turn) {
        const Plan plan = plan_one(3, MDIST_SUM, MDIST_FLOAT32, turn % 2 == 0 ? 100000 : 100);
        Data data = make_data(&plan);
        Lists lists = lists_of(&plan, &data);
        OK(mdist_run(strategy, merging_step, &lists, NULL, &error));
        check_data(&plan, &data);
        free_data(&plan, &data);
    }
    mdist_strategy_destroy(strategy);
}

static void what_a_type_does_not_have_is_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    for (int i = 0; i < DTYPES * OPS; ++i) {
        const int32_t dtype = 1 + i % DTYPES;
        const int op = 1 + i / DTYPES;
        if (takes(op, dtype)) continue;
        uint64_t memory[2] = {1, 2};
        mdist_buffer_t buffers[2];
        Request requests[MAX_REPLICAS];
        memset(requests, 0, sizeof requests);
        for (int r = 0; r < 2; ++r) {
            buffers[r] = buffer_of(&memory[r], (mdist_dtype_t)dtype, 1);
            requests[r] = (Request){.op = op, .inputs = buffers + r, .outputs = buffers + r, .count = 1};
        }
        CHECK(MDIST_ERR_INVALID_ARGUMENT, mdist_run(strategy, request_step, requests, NULL, &error), error);
        for (int r = 0; r < 2; ++r) // the first replica gives the cause; the other may report that the step has ended
            assert_non_null(strstr(requests[r].message, mdist_dtype_name((mdist_dtype_t)dtype)));
        FAILS(MDIST_ERR_INVALID_ARGUMENT,
              mdist_strategy_all_reduce(strategy, (mdist_reduce_op_t)op, buffers, buffers, 1, NULL, &error));
        assert_int_equal(memory[0], 1);
        assert_int_equal(memory[1], 2);
    }
    expect_usable(strategy);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_reduce_follows_the_tree_for_all_types_and_replica_counts),
        cmocka_unit_test(strategy_all_reduce_follows_the_tree_with_both_executors),
        cmocka_unit_test(many_chunks_give_the_same_bits),
        cmocka_unit_test(buffers_of_mixed_types_are_reduced_in_one_call),
        cmocka_unit_test(repetitions_give_identical_bits),
        cmocka_unit_test(worked_examples_come_out),
        cmocka_unit_test(a_merge_may_all_reduce_what_is_large),
        cmocka_unit_test(what_a_type_does_not_have_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
