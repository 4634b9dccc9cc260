// SPDX-License-Identifier: Apache-2.0
// Collectives that must fail: replicas that disagree, and arguments that no call accepts. No buffer is written, every
// replica gets an error, and the strategy works afterwards.
#include "collective_support.h"

enum { REPLICAS = 3 };

// One replica's buffers, large enough for every variant of a call.
typedef struct Own {
    Block in[MAX_BUFFERS];
    Block out[MAX_BUFFERS];
    mdist_buffer_t inputs[MAX_BUFFERS];
    mdist_buffer_t outputs[MAX_BUFFERS];
} Own;

typedef struct Variant {
    Kind kind;
    int op;
    uint32_t root;
    size_t count;
    int32_t dtype;
    uint64_t elements; // of all buffers but the last
    uint64_t last;     // elements of the last buffer
    const char *words; // part of the message
} Variant;

// No two of these calls match. Some are small, others exceed the size of the staging memory.
static const Variant variants[] = {
    {ALL_REDUCE, MDIST_SUM, 0, 1, MDIST_FLOAT32, 6, 6, "mdist_all_reduce(SUM, 1 buffer: float32 x 6)"},
    {ALL_REDUCE, MDIST_MAX, 0, 1, MDIST_FLOAT32, 6, 6, "mdist_all_reduce(MAX, 1 buffer: float32 x 6)"},
    {ALL_REDUCE, MDIST_SUM, 0, 1, MDIST_INT32, 6, 6, "mdist_all_reduce(SUM, 1 buffer: int32 x 6)"},
    {ALL_REDUCE, MDIST_SUM, 0, 1, MDIST_FLOAT32, 9, 9, "mdist_all_reduce(SUM, 1 buffer: float32 x 9)"},
    {ALL_REDUCE, MDIST_SUM, 0, 1, MDIST_FLOAT32, 30000, 30000, "mdist_all_reduce(SUM, 1 buffer: float32 x 30000)"},
    {ALL_REDUCE, MDIST_SUM, 0, 1, MDIST_FLOAT32, 0, 0, "mdist_all_reduce(SUM, 1 buffer: float32 x 0)"},
    {ALL_REDUCE, MDIST_SUM, 0, 0, MDIST_FLOAT32, 0, 0, "mdist_all_reduce(SUM, "},
    {ALL_REDUCE, MDIST_SUM, 0, 2, MDIST_FLOAT32, 6, 6, "mdist_all_reduce(SUM, 2 buffers: float32 x 6, float32 x 6)"},
    {ALL_REDUCE, MDIST_SUM, 0, 7, MDIST_FLOAT32, 6, 5, "7 buffers"},
    {ALL_REDUCE, MDIST_SUM, 0, 7, MDIST_FLOAT32, 6, 7, "7 buffers"},
    {BROADCAST, 0, 0, 1, MDIST_FLOAT32, 6, 6, "mdist_broadcast(root 0, 1 buffer: float32 x 6)"},
    {BROADCAST, 0, 2, 1, MDIST_FLOAT32, 6, 6, "mdist_broadcast(root 2, 1 buffer: float32 x 6)"},
    {BROADCAST, 0, 0, 1, MDIST_UINT32, 6, 6, "mdist_broadcast(root 0, 1 buffer: uint32 x 6)"},
    {BROADCAST, 0, 0, 1, MDIST_FLOAT32, 30000, 30000, "mdist_broadcast(root 0, 1 buffer: float32 x 30000)"},
    {ALL_GATHER, 0, 0, 1, MDIST_FLOAT32, 6, 6, "mdist_all_gather("},
    {ALL_GATHER, 0, 0, 1, MDIST_INT8, 6, 6, "mdist_all_gather("},
    {REDUCE_SCATTER, MDIST_SUM, 0, 1, MDIST_FLOAT32, 6, 6, "mdist_reduce_scatter(SUM, "},
    {REDUCE_SCATTER, MDIST_MEAN, 0, 1, MDIST_FLOAT32, 6, 6, "mdist_reduce_scatter(MEAN, "},
    {REDUCE_SCATTER, MDIST_SUM, 0, 1, MDIST_FLOAT32, 9, 9, "mdist_reduce_scatter(SUM, "},
    {ALL_TO_ALL, 0, 0, 1, MDIST_FLOAT32, 6, 6, "mdist_all_to_all("},
    {ALL_TO_ALL, 0, 0, 1, MDIST_FLOAT32, 9, 9, "mdist_all_to_all("},
    {BARRIER, 0, 0, 0, MDIST_FLOAT32, 0, 0, "mdist_barrier("},
};

static void make_own(Own *own, const Variant *v, Request *request) {
    memset(own, 0, sizeof *own);
    for (size_t b = 0; b < v->count; ++b) {
        const uint64_t elements = b + 1 == v->count ? v->last : v->elements;
        // In all_gather, three equal inputs make up the output. In reduce_scatter, three equal outputs make up the
        // input.
        const uint64_t in = v->kind == ALL_GATHER ? elements / REPLICAS : elements;
        const uint64_t out = v->kind == REDUCE_SCATTER ? elements / REPLICAS : elements;
        own->in[b] = make_block(v->dtype, in, below(64));
        own->out[b] = make_block(v->dtype, out, below(64));
        own->inputs[b] = own->in[b].buffer;
        own->outputs[b] = own->out[b].buffer;
    }
    *request = (Request){.kind = v->kind, .op = v->op, .root = v->root, .count = v->count};
    request->inputs = v->count == 0 ? NULL : own->inputs;
    request->outputs = v->count == 0 ? NULL : own->outputs;
}

// Checks that nothing was written. Inputs hold guard bytes too, so every buffer must still hold only guard bytes.
static void check_own(Own *own, size_t count) {
    for (size_t b = 0; b < count; ++b) {
        assert_true(all_guard(&own->in[b]));
        assert_true(all_guard(&own->out[b]));
        free(own->in[b].base);
        free(own->out[b].base);
    }
}

static void replicas_that_differ_are_all_told_both_sides_and_nothing_moves(void **state) {
    (void)state;
    seed_random(20240821);
    const size_t count = sizeof variants / sizeof *variants;
    mdist_strategy_t *strategy = make_strategy(REPLICAS, NULL);
    for (size_t i = 0; i < count; ++i)
        for (size_t j = 0; j < count; ++j) {
            if (i == j) continue;
            const uint32_t odd = (uint32_t)below(REPLICAS);
            Own own[REPLICAS];
            Request requests[REPLICAS];
            for (uint32_t r = 0; r < REPLICAS; ++r) make_own(&own[r], &variants[r == odd ? j : i], &requests[r]);
            expect_requests(strategy, requests, MDIST_ERR_MISMATCH, 1);
            for (uint32_t r = 0; r < REPLICAS; ++r) {
                assert_string_equal(requests[r].message, requests[0].message);
                check_own(&own[r], variants[r == odd ? j : i].count);
            }
            if (!shows_call(requests[0].message, variants[i].words) ||
                !shows_call(requests[0].message, variants[j].words))
                fail_msg("\"%s\" and \"%s\" are not both in: %s", variants[i].words, variants[j].words,
                         requests[0].message);
        }
    expect_usable(strategy);
    mdist_strategy_destroy(strategy);
}

static void a_difference_behind_the_buffers_named_is_named_too(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    float data[2][7];
    mdist_buffer_t buffers[2][7];
    Request requests[2];
    memset(requests, 0, sizeof requests);
    for (int r = 0; r < 2; ++r) {
        for (int b = 0; b < 7; ++b) buffers[r][b] = buffer_of(&data[r][b], MDIST_FLOAT32, b == 5 ? (uint64_t)r : 1);
        requests[r] = (Request){.op = MDIST_SUM, .inputs = buffers[r], .outputs = buffers[r], .count = 7};
    }
    expect_requests(strategy, requests, MDIST_ERR_MISMATCH, 1);
    assert_non_null(strstr(requests[0].message, "buffer 5 is float32 x 0 and float32 x 1"));
    mdist_strategy_destroy(strategy);
}

static void parts_that_do_not_add_up_are_a_mismatch_for_all(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(REPLICAS, NULL);
    for (int scatter = 0; scatter < 2; ++scatter)
        for (uint32_t odd = 0; odd < REPLICAS; ++odd) {
            Block parts[REPLICAS], wholes[REPLICAS];
            Request requests[REPLICAS];
            memset(requests, 0, sizeof requests);
            for (uint32_t r = 0; r < REPLICAS; ++r) {
                parts[r] = make_block(MDIST_INT32, scatter && r == odd ? 5 : 4, 0);
                wholes[r] = make_block(MDIST_INT32, !scatter && r == odd ? 11 : 12, 0);
                const mdist_buffer_t *const in = scatter ? &wholes[r].buffer : &parts[r].buffer;
                const mdist_buffer_t *const out = scatter ? &parts[r].buffer : &wholes[r].buffer;
                requests[r] = (Request){.op = MDIST_SUM, .inputs = in, .outputs = out, .count = 1};
                requests[r].kind = scatter ? REDUCE_SCATTER : ALL_GATHER;
            }
            expect_requests(strategy, requests, MDIST_ERR_MISMATCH, 1);
            for (uint32_t r = 0; r < REPLICAS; ++r) {
                assert_string_equal(requests[r].message, requests[0].message);
                assert_non_null(strstr(requests[r].message, "12"));
                assert_non_null(strstr(requests[r].message, scatter ? "13" : "11"));
                assert_true(all_guard(&parts[r]) && all_guard(&wholes[r]));
                free(parts[r].base);
                free(wholes[r].base);
            }
        }
    expect_usable(strategy);
    mdist_strategy_destroy(strategy);
}

// ---- Invalid arguments of one replica.

typedef struct Wrong {
    const char *what;
    Request request;
    const char *words;
} Wrong;

static float memory[64];
static mdist_buffer_t in_list[3], out_list[3];
static mdist_call_options_t options;

static void reset_arguments(Request *request) {
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    for (size_t b = 0; b < 3; ++b) {
        in_list[b] = buffer_of(memory + 6 * b, MDIST_FLOAT32, 6);
        out_list[b] = buffer_of(memory + 24 + 6 * b, MDIST_FLOAT32, 6);
    }
    *request = (Request){.kind = ALL_REDUCE, .op = MDIST_SUM, .inputs = in_list, .outputs = out_list, .count = 3};
}

// Replica 1 makes the wrong call. The others make a correct call of the same kind.
static void refused(mdist_strategy_t *strategy, const Request *wrong, const char *words) {
    Request requests[REPLICAS];
    float data[REPLICAS][2][12];
    mdist_buffer_t lists[REPLICAS][2][3];
    memset(requests, 0, sizeof requests);
    memset(data, 0, sizeof data);
    for (uint32_t r = 0; r < REPLICAS; ++r) {
        for (int b = 0; b < 3; ++b)
            for (int side = 0; side < 2; ++side) lists[r][side][b] = buffer_of(data[r][side] + 2 * b, MDIST_FLOAT32, 1);
        requests[r] = (Request){.op = MDIST_SUM, .inputs = lists[r][0], .outputs = lists[r][1], .count = 3};
    }
    requests[1] = *wrong;
    expect_requests(strategy, requests, MDIST_ERR_INVALID_ARGUMENT, 0);
    if (requests[1].status != MDIST_ERR_INVALID_ARGUMENT || strstr(requests[1].message, words) == NULL)
        fail_msg("wanted \"%s\", got %d: %s", words, requests[1].status, requests[1].message);
    assert_int_equal(requests[0].status, MDIST_ERR_ABORTED);
    assert_int_equal(requests[2].status, MDIST_ERR_ABORTED);
    for (size_t i = 0; i < 64; ++i) assert_true(memory[i] == 0);
    for (uint32_t r = 0; r < REPLICAS; ++r)
        for (int i = 0; i < 12; ++i) assert_true(data[r][1][i] == 0);
}

#define REFUSED(change, text)              \
    do {                                   \
        Request wrong;                     \
        reset_arguments(&wrong);           \
        change;                            \
        refused(strategy, &wrong, (text)); \
    } while (0)

static void arguments_no_call_can_accept_are_named(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(REPLICAS, NULL);
    REFUSED(wrong.inputs = NULL, "inputs is NULL");
    REFUSED(wrong.outputs = NULL, "outputs is NULL");
    REFUSED((wrong.inputs = NULL, wrong.kind = BROADCAST), "buffers is NULL");
    REFUSED(in_list[1].data = NULL, "input 1 has 6 elements and data NULL");
    REFUSED(out_list[2].data = NULL, "output 2 has 6 elements and data NULL");
    REFUSED(in_list[1].dtype = 0, "input 1 has dtype 0");
    REFUSED(in_list[1].dtype = 14, "dtype 14");
    REFUSED(out_list[0].dtype = -7, "-7");
    REFUSED(out_list[0].dtype = MDIST_INT32, "input 0 is float32 but output 0 int32");
    REFUSED(in_list[2].reserved = 3, "input 2 has reserved 3");
    REFUSED(out_list[2].reserved = -3, "output 2 has reserved -3");
    REFUSED(wrong.op = 0, "op is 0");
    REFUSED(wrong.op = 9, "op is 9");
    REFUSED(wrong.op = -1, "op is -1");
    REFUSED((wrong.op = 0, wrong.count = 0), "op is 0");
    REFUSED((wrong.op = 9, wrong.kind = REDUCE_SCATTER), "op is 9");
    REFUSED(out_list[1].elements = 5, "input 1 has 6 elements but output 1 5");
    REFUSED((in_list[0].elements = UINT64_MAX, out_list[0].elements = UINT64_MAX), "18446744073709551615");
    REFUSED((in_list[0].elements = (uint64_t)1 << 62, out_list[0].elements = (uint64_t)1 << 62), "4611686018427387904");
    REFUSED((in_list[0].elements = (uint64_t)1 << 61, out_list[0].elements = (uint64_t)1 << 61), "2305843009213693952");
    REFUSED((wrong.kind = BROADCAST, wrong.root = 3), "root is 3");
    REFUSED((wrong.kind = BROADCAST, wrong.root = UINT32_MAX), "root is 4294967295");
    REFUSED((wrong.kind = ALL_TO_ALL, in_list[0].elements = out_list[0].elements = 5), "5 elements");
    REFUSED((wrong.options = &options, options.struct_size = 0), "struct_size 0");
    REFUSED((wrong.options = &options, options.struct_size = 4), "struct_size 4");
    REFUSED((wrong.options = &options, options.flags = 5), "options.flags is 5");
    REFUSED((wrong.options = &options, options.flags = 5, wrong.kind = BARRIER), "options.flags is 5");
    expect_usable(strategy);
    mdist_strategy_destroy(strategy);
}

static void buffers_that_overlap_are_refused(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(REPLICAS, NULL);
    const char *words = "overlap";
    REFUSED(out_list[0].data = memory + 1, words);                                            // part of its own input
    REFUSED(out_list[0].data = (char *)memory + 1, words);                                    // shifted by a byte
    REFUSED((out_list[0].data = in_list[1].data), words);                                     // another input
    REFUSED((out_list[0].data = in_list[1].data, out_list[1].data = in_list[0].data), words); // crossed
    REFUSED(out_list[1].data = out_list[0].data, words);                                      // two equal outputs
    REFUSED(out_list[2].data = memory + 24 + 5, words);               // overlaps the last element of an output
    REFUSED((wrong.count = 1, out_list[0].data = memory + 5), words); // with one buffer
    REFUSED((wrong.count = 1, wrong.kind = ALL_TO_ALL, out_list[0].data = memory), words);
    REFUSED((wrong.kind = BROADCAST, in_list[1].data = memory + 3), words);
    REFUSED((wrong.count = 1, wrong.kind = ALL_GATHER, in_list[0].data = memory + 21), words);
    REFUSED((wrong.count = 1, wrong.kind = REDUCE_SCATTER, out_list[0].data = memory + 3), words);
    expect_usable(strategy);
    mdist_strategy_destroy(strategy);
}

static void inputs_may_share_memory(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(REPLICAS, NULL);
    int32_t shared[10], results[REPLICAS][2][8];
    mdist_buffer_t in[2], out[REPLICAS][2];
    Request requests[REPLICAS];
    memset(requests, 0, sizeof requests);
    for (int i = 0; i < 10; ++i) shared[i] = i;
    for (int b = 0; b < 2; ++b) in[b] = buffer_of(shared + b, MDIST_INT32, 8);
    for (int r = 0; r < REPLICAS; ++r) {
        for (int b = 0; b < 2; ++b) out[r][b] = buffer_of(results[r][b], MDIST_INT32, 8);
        requests[r] = (Request){.op = MDIST_SUM, .inputs = in, .outputs = out[r], .count = 2};
    }
    expect_requests(strategy, requests, MDIST_OK, 1);
    for (int r = 0; r < REPLICAS; ++r)
        for (int b = 0; b < 2; ++b)
            for (int i = 0; i < 8; ++i) assert_int_equal(results[r][b][i], REPLICAS * (i + b));
    mdist_strategy_destroy(strategy);
}

// In place, but not at the part of this replica.
static void work_in_place_at_the_wrong_place_is_refused_on_all(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(REPLICAS, NULL);
    for (int scatter = 0; scatter < 2; ++scatter) {
        int32_t wholes[REPLICAS][6] = {{0}};
        mdist_buffer_t whole[REPLICAS], part[REPLICAS];
        Request requests[REPLICAS];
        memset(requests, 0, sizeof requests);
        for (int r = 0; r < REPLICAS; ++r) {
            whole[r] = buffer_of(wholes[r], MDIST_INT32, 6);
            part[r] = buffer_of(wholes[r] + (r == 2 ? 3 : 2 * r), MDIST_INT32, 2);
            requests[r] = (Request){.op = MDIST_SUM, .count = 1};
            requests[r].kind = scatter ? REDUCE_SCATTER : ALL_GATHER;
            requests[r].inputs = scatter ? &whole[r] : &part[r];
            requests[r].outputs = scatter ? &part[r] : &whole[r];
        }
        expect_requests(strategy, requests, MDIST_ERR_INVALID_ARGUMENT, 1);
        for (int r = 0; r < REPLICAS; ++r) assert_non_null(strstr(requests[r].message, "replica 2"));
    }
    expect_usable(strategy);
    mdist_strategy_destroy(strategy);
}

static void strategy_all_reduce_refuses_likewise(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    float data[4][8] = {{0}};
    mdist_buffer_t in[4], out[4];
    Request ignored;
    reset_arguments(&ignored);
#define RESET() \
    for (int i = 0; i < 4; ++i) in[i] = out[i] = buffer_of(data[i], MDIST_FLOAT32, 8)
#define REFUSED_HERE(status, change, words)                                                            \
    do {                                                                                               \
        RESET();                                                                                       \
        int op = MDIST_SUM;                                                                            \
        const mdist_call_options_t *given = NULL;                                                      \
        const mdist_buffer_t *inputs = in;                                                             \
        change;                                                                                        \
        const mdist_status_t got =                                                                     \
            mdist_strategy_all_reduce(strategy, (mdist_reduce_op_t)op, inputs, out, 2, given, &error); \
        WORDS(error, words);                                                                           \
        assert_int_equal(got, status);                                                                 \
        mdist_error_free(error);                                                                       \
        error = NULL;                                                                                  \
    } while (0)
    REFUSED_HERE(MDIST_ERR_INVALID_ARGUMENT, inputs = NULL, "inputs is NULL");
    REFUSED_HERE(MDIST_ERR_INVALID_ARGUMENT, op = 77, "op is 77");
    REFUSED_HERE(MDIST_ERR_INVALID_ARGUMENT, in[3].data = NULL, "input 1");
    REFUSED_HERE(MDIST_ERR_INVALID_ARGUMENT, in[2].reserved = 9, "reserved 9");
    REFUSED_HERE(MDIST_ERR_INVALID_ARGUMENT, (given = &options, options.flags = 1), "options.flags is 1");
    REFUSED_HERE(MDIST_ERR_INVALID_ARGUMENT, out[3].data = data[2], "overlap");
    REFUSED_HERE(MDIST_ERR_MISMATCH, in[3].elements = out[3].elements = 7, "float32 x 7");
    REFUSED_HERE(MDIST_ERR_MISMATCH, in[3].dtype = out[3].dtype = MDIST_INT32, "int32 x 8");
    REFUSED_HERE(MDIST_ERR_INVALID_ARGUMENT, out[2].data = data[0] + 1, "overlap"); // another replica's input
    REFUSED_HERE(MDIST_ERR_INVALID_ARGUMENT, out[3].data = data[0], "overlap");
    RESET();
    OK(mdist_strategy_all_reduce(strategy, MDIST_SUM, in, out, 2, NULL, &error));
    OK(mdist_strategy_all_reduce(strategy, MDIST_SUM, NULL, NULL, 0, NULL, &error));
    mdist_strategy_destroy(strategy);
}

static void replicas_that_run_one_after_another_cannot_meet(void **state) {
    (void)state;
    static const Kind kinds[] = {ALL_REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, BARRIER};
    mdist_strategy_t *strategy = make_strategy(2, "caller");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        Request requests[2];
        memset(requests, 0, sizeof requests);
        for (int r = 0; r < 2; ++r) requests[r] = (Request){.kind = kinds[i], .op = MDIST_SUM};
        expect_requests(strategy, requests, MDIST_ERR_FAILED_PRECONDITION, 0);
        assert_int_equal(requests[0].status, MDIST_ERR_FAILED_PRECONDITION);
        assert_non_null(strstr(requests[0].message, "executor: threads"));
    }
    mdist_strategy_destroy(strategy);
    strategy = make_strategy(1, "caller"); // one replica does not wait
    expect_usable(strategy);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicas_that_differ_are_all_told_both_sides_and_nothing_moves),
        cmocka_unit_test(a_difference_behind_the_buffers_named_is_named_too),
        cmocka_unit_test(parts_that_do_not_add_up_are_a_mismatch_for_all),
        cmocka_unit_test(arguments_no_call_can_accept_are_named),
        cmocka_unit_test(buffers_that_overlap_are_refused),
        cmocka_unit_test(inputs_may_share_memory),
        cmocka_unit_test(work_in_place_at_the_wrong_place_is_refused_on_all),
        cmocka_unit_test(strategy_all_reduce_refuses_likewise),
        cmocka_unit_test(replicas_that_run_one_after_another_cannot_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
