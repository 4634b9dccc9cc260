// SPDX-License-Identifier: Apache-2.0
// Compares the collectives other than all_reduce with plain copies: who receives what, in place or not, at any address.
#include "collective_support.h"

// One call of one kind: the inputs of every replica, and the expected contents of the outputs.
typedef struct Exchange {
    uint32_t replicas;
    Kind kind;
    int op;
    uint32_t root;
    size_t count;
    int in_place;
    int32_t dtypes[MAX_BUFFERS];
    uint64_t parts[MAX_REPLICAS][MAX_BUFFERS]; // number of elements of replica r's part of buffer b
    Block memory[MAX_REPLICAS][MAX_BUFFERS];   // the longer one, input or output
    Block piece[MAX_REPLICAS][MAX_BUFFERS];    // the shorter one; unused in place
    unsigned char *expected[MAX_REPLICAS][MAX_BUFFERS];
    mdist_buffer_t inputs[MAX_REPLICAS][MAX_BUFFERS];
    mdist_buffer_t outputs[MAX_REPLICAS][MAX_BUFFERS];
} Exchange;

static size_t size_at(const Exchange *e, size_t b) {
    return mdist_dtype_size((mdist_dtype_t)e->dtypes[b]);
}

static uint64_t offset_of(const Exchange *e, uint32_t replica, size_t b) {
    uint64_t offset = 0;
    for (uint32_t r = 0; r < replica; ++r) offset += e->parts[r][b];
    return offset;
}

static uint64_t length_of(uint64_t limit) {
    return below(4) == 0 ? 0 : below(limit);
}

// Draws types and lengths. For kinds with equal parts, all replicas have replica 0's lengths.
static void draw(Exchange *e, uint32_t replicas, Kind kind) {
    memset(e, 0, sizeof *e);
    e->replicas = replicas;
    e->kind = kind;
    e->op = (int)(1 + below(OPS));
    e->root = (uint32_t)below(replicas);
    e->count = below(4);
    e->in_place = kind != ALL_TO_ALL && below(2) == 0;
    const uint64_t limit = below(3) == 0 ? 9000 : 200;
    for (size_t b = 0; b < e->count; ++b) {
        do e->dtypes[b] = (int32_t)(1 + below(DTYPES));
        while (kind == REDUCE_SCATTER && !takes(e->op, e->dtypes[b]));
        const uint64_t equal = length_of(limit);
        for (uint32_t r = 0; r < replicas; ++r) {
            const int uneven = kind == ALL_GATHER || kind == REDUCE_SCATTER;
            e->parts[r][b] = uneven ? length_of(limit) : equal;
        }
    }
}

static mdist_buffer_t part_of_whole(const Exchange *e, uint32_t r, size_t b) {
    return buffer_of(e->memory[r][b].data + offset_of(e, r, b) * size_at(e, b), (mdist_dtype_t)e->dtypes[b],
                     e->parts[r][b]);
}

static void allocate(Exchange *e) {
    for (uint32_t r = 0; r < e->replicas; ++r)
        for (size_t b = 0; b < e->count; ++b) {
            const int32_t dtype = e->dtypes[b];
            const uint64_t total = offset_of(e, e->replicas, b);
            const uint64_t length = e->kind == BROADCAST ? e->parts[0][b] : total;
            e->memory[r][b] = make_block(dtype, length, below(64));
            e->piece[r][b] = make_block(dtype, e->kind == ALL_TO_ALL ? length : e->parts[r][b], below(64));
            mdist_buffer_t piece = e->piece[r][b].buffer;
            if (e->in_place && e->kind != BROADCAST) piece = part_of_whole(e, r, b);
            const int from_whole = e->kind == REDUCE_SCATTER || e->kind == BROADCAST;
            e->inputs[r][b] = from_whole ? e->memory[r][b].buffer : piece;
            e->outputs[r][b] = from_whole ? piece : e->memory[r][b].buffer;
            fill(dtype, e->inputs[r][b].data, e->inputs[r][b].elements);
        }
}

// Computes the expected output of replica r, buffer b. All inputs must be filled in.
static unsigned char *expect(const Exchange *e, uint32_t r, size_t b) {
    const size_t size = size_at(e, b);
    unsigned char *out = malloc(offset_of(e, e->replicas, b) * size + 1);
    assert_non_null(out);
    unsigned char *to = out;
    const unsigned char *sources[MAX_REPLICAS];
    for (uint32_t other = 0; other < e->replicas; ++other) {
        const unsigned char *from = e->inputs[other][b].data;
        const size_t bytes = e->parts[other][b] * size;
        sources[other] = from + offset_of(e, r, b) * size;
        if (e->kind == ALL_GATHER) memcpy(to, from, bytes);
        if (e->kind == ALL_TO_ALL) memcpy(to, from + r * bytes, bytes);
        to += bytes;
    }
    if (e->kind == BROADCAST) memcpy(out, e->inputs[e->root][b].data, e->parts[0][b] * size);
    if (e->kind == REDUCE_SCATTER) reduce_plainly(e->op, e->dtypes[b], sources, e->replicas, out, e->parts[r][b]);
    return out;
}

static void check_and_free(Exchange *e) {
    for (uint32_t r = 0; r < e->replicas; ++r)
        for (size_t b = 0; b < e->count; ++b) {
            const mdist_buffer_t *out = e->kind == BROADCAST ? &e->inputs[r][b] : &e->outputs[r][b];
            const size_t bytes = out->elements * size_at(e, b);
            if (bytes != 0) assert_memory_equal(out->data, e->expected[r][b], bytes);
            assert_true(guards_intact(&e->memory[r][b]));
            assert_true(guards_intact(&e->piece[r][b]));
            free(e->memory[r][b].base);
            free(e->piece[r][b].base);
            free(e->expected[r][b]);
        }
}

static void make_requests(const Exchange *e, Request *requests) {
    memset(requests, 0, MAX_REPLICAS * sizeof *requests);
    for (uint32_t r = 0; r < e->replicas; ++r) {
        requests[r].kind = e->kind;
        requests[r].op = e->op;
        requests[r].root = e->root;
        requests[r].inputs = e->inputs[r];
        requests[r].outputs = e->outputs[r];
        requests[r].count = e->count;
        requests[r].odd_modes = below(4) == 0;
    }
}

static void try_kind(Kind kind, uint64_t seed) {
    seed_random(seed);
    for (uint32_t replicas = 1; replicas <= MAX_REPLICAS; ++replicas) {
        mdist_strategy_t *strategy = make_strategy(replicas, NULL);
        for (int turn = 0; turn < (is_long() ? 400 : 30); ++turn) {
            static Exchange e;
            draw(&e, replicas, kind);
            allocate(&e);
            for (uint32_t r = 0; r < replicas; ++r)
                for (size_t b = 0; b < e.count; ++b) e.expected[r][b] = expect(&e, r, b);
            Request requests[MAX_REPLICAS];
            make_requests(&e, requests);
            expect_requests(strategy, requests, MDIST_OK, 1);
            check_and_free(&e);
        }
        mdist_strategy_destroy(strategy);
    }
}

static void broadcast_copies_the_root(void **state) {
    (void)state;
    try_kind(BROADCAST, 20240811);
}

static void all_gather_joins_uneven_parts_in_replica_order(void **state) {
    (void)state;
    try_kind(ALL_GATHER, 20240812);
}

static void reduce_scatter_gives_each_its_part_of_the_tree(void **state) {
    (void)state;
    try_kind(REDUCE_SCATTER, 20240813);
}

static void all_to_all_transposes_the_parts(void **state) {
    (void)state;
    try_kind(ALL_TO_ALL, 20240814);
}

// Each replica adds one before a barrier, and checks after it that all others have, too.
typedef struct Counts {
    _Atomic uint32_t before;
    uint32_t replicas;
    _Atomic uint32_t wrong;
} Counts;

static int32_t barrier_step(mdist_replica_t *replica, void *user_data) {
    Counts *const counts = user_data;
    for (uint32_t round = 1; round <= 200; ++round) {
        ++counts->before;
        if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 1;
        if (counts->before < round * counts->replicas) ++counts->wrong;
        if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 1;
        if (counts->before != round * counts->replicas) ++counts->wrong;
        if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 1;
    }
    return 0;
}

static void nobody_passes_a_barrier_before_all_came(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t replicas = 1; replicas <= 5; ++replicas) {
        mdist_strategy_t *strategy = make_strategy(replicas, NULL);
        Counts counts = {.replicas = replicas};
        OK(mdist_run(strategy, barrier_step, &counts, NULL, &error));
        assert_int_equal(counts.wrong, 0);
        mdist_strategy_destroy(strategy);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broadcast_copies_the_root),
        cmocka_unit_test(all_gather_joins_uneven_parts_in_replica_order),
        cmocka_unit_test(reduce_scatter_gives_each_its_part_of_the_tree),
        cmocka_unit_test(all_to_all_transposes_the_parts),
        cmocka_unit_test(nobody_passes_a_barrier_before_all_came),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
