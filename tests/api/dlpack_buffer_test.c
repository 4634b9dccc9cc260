// SPDX-License-Identifier: Apache-2.0
// Dense tensors of any stride order as buffers: what is dense, and which collectives take them.
#include "dlpack_support.h"

enum { MOST = 240 };

typedef struct Strided {
    DlLegacy legacy;
    DlVersioned versioned;
    int64_t shape[MDIST_MAX_RANK], strides[MDIST_MAX_RANK];
} Strided;

static uint64_t state;

static uint32_t below(uint32_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % limit;
}

/// A tensor whose dimensions lie in memory in the order `slowest`, slowest first, without gaps.
static void make(Strided *self, void *data, int32_t rank, const int64_t *shape, const int32_t *slowest) {
    memset(self, 0, sizeof *self);
    int64_t stride = 1;
    for (int32_t i = rank; i-- > 0;) {
        self->shape[i] = shape[i];
        self->strides[slowest[i]] = stride;
        stride *= shape[slowest[i]];
    }
    const DlTensor tensor = {.data = data,
                             .device_type = 1,
                             .ndim = rank,
                             .code = 2,
                             .bits = 32,
                             .lanes = 1,
                             .shape = self->shape,
                             .strides = self->strides};
    self->legacy.tensor = self->versioned.tensor = tensor;
    self->versioned.major = 1;
}

static mdist_status_t as_buffer(Strided *self, int versioned, mdist_buffer_t *out, mdist_error_t **error) {
    const mdist_dlpack_t managed = in_layout(versioned ? VERSIONED : LEGACY, &self->legacy, &self->versioned);
    return mdist_buffer_from_dlpack(&managed, out, error);
}

static void what_is_dense_is_a_buffer_and_nothing_else(void **unused) {
    state = test_seed(88172645463325252u);
    (void)unused;
    mdist_error_t *error = NULL;
    float data[1];
    for (int trial = 0; trial < 3000; ++trial) {
        Strided tensor;
        mdist_buffer_t buffer;
        int64_t shape[MDIST_MAX_RANK] = {0};
        int32_t slowest[MDIST_MAX_RANK] = {0};
        const int32_t rank = (int32_t)below(MDIST_MAX_RANK + 1);
        uint64_t elements = 1;
        for (int32_t i = 0; i < rank; ++i) {
            const int32_t j = (int32_t)below((uint32_t)i + 1);
            shape[i] = 1 + below(3);
            elements *= (uint64_t)shape[i];
            slowest[i] = slowest[j];
            slowest[j] = i;
        }
        make(&tensor, data, rank, shape, slowest);
        OK(as_buffer(&tensor, trial % 2, &buffer, &error));
        assert_ptr_equal(buffer.data, data);
        assert_true(buffer.elements == elements && buffer.dtype == MDIST_FLOAT32);
        int rises = 1, last = -1; // of the dimensions that have an order
        for (int32_t i = 0; i < rank; ++i) {
            if (shape[slowest[i]] == 1) continue;
            rises = rises && last < slowest[i];
            last = slowest[i];
        }
        assert_int_equal(buffer.reserved == 0, rises);
        if (last < 0) continue;
        ++tensor.strides[last]; // elements now share memory, or leave gaps
        mdist_error_t **const error_out = &error;
        assert_int_equal(as_buffer(&tensor, trial % 2, &buffer, error_out), MDIST_ERR_UNSUPPORTED);
        assert_string_equal(mdist_error_reason(error), "dlpack_strides");
        mdist_error_free(error);
        error = NULL;
    }
}

// ---- Collectives.

typedef struct Trial {
    int32_t slowest[2][4]; // by replica
    int gathers;
    float in[2][MOST], out[2][2 * MOST];
    mdist_status_t status[2];
    char message[2][512];
} Trial;

static int32_t step(mdist_replica_t *replica, void *user_data) {
    Trial *const self = user_data;
    const uint32_t id = mdist_replica_id(replica);
    static const int64_t shape[4] = {2, 3, 5, 8};
    Strided in, out;
    mdist_buffer_t input, output;
    mdist_error_t *error = NULL;
    make(&in, self->in[id], 4, shape, self->slowest[id]);
    make(&out, self->out[id], 4, shape, self->slowest[id]);
    if (as_buffer(&in, 0, &input, NULL) != MDIST_OK || as_buffer(&out, 1, &output, NULL) != MDIST_OK) return 1;
    output.elements *= self->gathers ? 2 : 1;
    self->status[id] = self->gathers ? mdist_all_gather(replica, &input, &output, 1, NULL, &error)
                                     : mdist_all_reduce(replica, MDIST_SUM, &input, &output, 1, NULL, &error);
    snprintf(self->message[id], sizeof self->message[id], "%s", mdist_error_message(error));
    mdist_error_free(error);
    if (self->status[id] != MDIST_OK) return 2;
    return mdist_broadcast(replica, 1, &input, 1, NULL, NULL) != MDIST_OK;
}

static mdist_status_t run(Trial *self, mdist_strategy_t *strategy) {
    for (int r = 0; r < 2; ++r)
        for (int i = 0; i < MOST; ++i) self->in[r][i] = (float)(r * 1000 + i);
    return mdist_run(strategy, step, self, NULL, NULL);
}

static void reductions_and_broadcasts_take_any_order_that_all_have(void **unused) {
    (void)unused;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    static Trial self = {.slowest = {{0, 2, 3, 1}, {0, 2, 3, 1}}};
    assert_int_equal(run(&self, strategy), MDIST_OK);
    for (int r = 0; r < 2; ++r)
        for (int i = 0; i < MOST; ++i)
            assert_true(self.out[r][i] == (float)(1000 + 2 * i) && self.in[r][i] == (float)(1000 + i));
    mdist_strategy_destroy(strategy);
}

static void different_orders_are_a_mismatch(void **unused) {
    (void)unused;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    static Trial self = {.slowest = {{0, 2, 3, 1}, {0, 1, 2, 3}}};
    assert_int_equal(run(&self, strategy), MDIST_ERR_MISMATCH);
    for (int r = 0; r < 2; ++r) assert_non_null(strstr(self.message[r], "float32 x 240 in the order [0, 2, 3, 1])"));
    mdist_strategy_destroy(strategy);
}

static void what_cuts_or_joins_refuses_them(void **unused) {
    (void)unused;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    static Trial self = {.slowest = {{0, 2, 3, 1}, {0, 2, 3, 1}}, .gathers = 1};
    assert_int_not_equal(run(&self, strategy), MDIST_OK);
    assert_true(self.status[0] == MDIST_ERR_INVALID_ARGUMENT || self.status[1] == MDIST_ERR_INVALID_ARGUMENT);
    const int refused = self.status[0] == MDIST_ERR_INVALID_ARGUMENT ? 0 : 1;
    assert_non_null(strstr(self.message[refused], "in the order [0, 2, 3, 1] of dimensions; mdist_all_gather cuts or"));
    mdist_strategy_destroy(strategy);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_dense_is_a_buffer_and_nothing_else),
        cmocka_unit_test(reductions_and_broadcasts_take_any_order_that_all_have),
        cmocka_unit_test(different_orders_are_a_mismatch),
        cmocka_unit_test(what_cuts_or_joins_refuses_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
