// SPDX-License-Identifier: Apache-2.0
// Collectives with a root: what it receives and gives, blocking or started, in place or not. The buffers that other
// replicas pass for the root's part are ignored.
#include "started.h"
#include "step_support.h"

enum { MOST = 4, LONG = 40000 };

typedef enum Kind { REDUCE, GATHER, SCATTER, KINDS } Kind;

typedef struct Plan {
    Kind kind;
    uint32_t root, n;
    uint64_t elements;
    int in_place, started, wrong;
} Plan;

static uint64_t part_of(const Plan *plan, uint32_t r) {
    return plan->elements + (plan->kind == REDUCE ? 0 : r); // parts of gather and scatter have different lengths
}

static uint64_t before(const Plan *plan, uint32_t r) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < r; ++i) sum += part_of(plan, i);
    return sum;
}

static float number(uint32_t r, uint64_t i) {
    return (float)(r * 1000 + i % 91);
}

static mdist_status_t call(const Plan *plan, mdist_replica_t *replica, const mdist_buffer_t *in,
                           const mdist_buffer_t *out) {
    mdist_work_t *work = NULL;
    mdist_status_t status = MDIST_OK;
    int32_t done = 0;
    switch (plan->kind * 2 + plan->started) {
        case 0:
            return mdist_reduce_to_root(replica, MDIST_SUM, plan->root, in, out, 1, NULL, NULL);
        case 1:
            status = start_reduce_to_root(replica, MDIST_SUM, plan->root, in, out, 1, &work, NULL, NULL);
            break;
        case 2:
            return mdist_gather_to_root(replica, plan->root, in, out, 1, NULL, NULL);
        case 3:
            status = start_gather_to_root(replica, plan->root, in, out, 1, &work, NULL, NULL);
            break;
        case 4:
            return mdist_scatter(replica, plan->root, in, out, 1, NULL, NULL);
        default:
            status = start_scatter(replica, plan->root, in, out, 1, &work, NULL, NULL);
    }
    if (status == MDIST_OK) status = mdist_work_wait(work, MDIST_FOREVER, &done, NULL);
    mdist_work_destroy(work);
    return status;
}

static float expected(const Plan *plan, uint32_t id, uint64_t i) {
    float sum = 0;
    uint32_t r = 0;
    switch (plan->kind) {
        case REDUCE:
            for (r = 0; r < plan->n; ++r) sum += number(r, i);
            return sum;
        case GATHER:
            while (i >= before(plan, r + 1)) ++r;
            return number(r, i - before(plan, r));
        default:
            return number(plan->root, before(plan, id) + i);
    }
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    static float memory[MOST][2][MOST * LONG];
    Plan *plan = user_data;
    const uint32_t id = mdist_replica_id(replica);
    const int is_root = id == plan->root;
    const uint64_t whole = plan->kind == REDUCE ? plan->elements : before(plan, plan->n), part = part_of(plan, id);
    const uint64_t ins = plan->kind == SCATTER ? whole : part, outs = plan->kind == GATHER ? whole : part;
    float *in = memory[id][0], *out = memory[id][1];
    if (plan->in_place && is_root) {
        out = in;
        if (plan->kind == GATHER) in = out + before(plan, id);
        if (plan->kind == SCATTER) out = in + before(plan, id);
    } else {
        for (uint64_t i = 0; i < outs; ++i) out[i] = -1;
    }
    for (uint64_t i = 0; i < ins; ++i) in[i] = number(id, i);
    const mdist_buffer_t input = buffer_of(in, MDIST_FLOAT32, ins), output = buffer_of(out, MDIST_FLOAT32, outs);
    const int absent_in = !is_root && plan->kind == SCATTER, absent_out = !is_root && plan->kind != SCATTER;
    if (call(plan, replica, absent_in ? NULL : &input, absent_out ? NULL : &output) != MDIST_OK) return 1;
    for (uint64_t i = 0; i < outs; ++i)
        if (out[i] != (absent_out ? -1 : expected(plan, id, i))) return 2;
    return 0;
}

static void each_gets_what_is_its(void **state) {
    (void)state;
    static const uint64_t sizes[] = {0, 1, 100, 5000, LONG - MOST};
    mdist_error_t *error = NULL;
    for (uint32_t n = 1; n <= MOST; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        for (Kind kind = REDUCE; kind < KINDS; ++kind) {
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
                for (uint32_t i = 0; i < 4 * n; ++i) {
                    Plan plan = {kind, i % n, n, sizes[s], i / n % 2 == 1, i / n / 2 == 1, 0};
                    OK(mdist_run(strategy, step, &plan, NULL, &error));
                }
            }
        }
        mdist_strategy_destroy(strategy);
    }
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    float in[4] = {1, 2, 3, 4}, out[4] = {0};
    const mdist_buffer_t four = buffer_of(in, MDIST_FLOAT32, 4), three = buffer_of(out, MDIST_FLOAT32, 3);
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    for (int what = 0; what < 7; ++what) {
        Entered run;
        begin_and_enter(&run, strategy);
        mdist_replica_t *self = run.replicas[0];
        mdist_status_t status = MDIST_OK;
        switch (what) {
            case 0:
                status = mdist_reduce_to_root(self, MDIST_SUM, 1, &four, &four, 1, NULL, &error);
                break;
            case 1:
                status = mdist_gather_to_root(self, 1, &four, &four, 1, NULL, &error);
                break;
            case 2:
                status = mdist_scatter(self, 7, &four, &four, 1, NULL, &error);
                break;
            case 3:
                status = mdist_reduce_to_root(self, MDIST_SUM, 0, &four, &three, 1, NULL, &error);
                break;
            case 4:
                status = mdist_reduce_to_root(self, MDIST_SUM, 0, &four, NULL, 1, NULL, &error);
                break;
            case 5:
                status = mdist_reduce_to_root(self, (mdist_reduce_op_t)9, 0, &four, &four, 1, NULL, &error);
                break;
            default:
                status = mdist_scatter(self, 0, NULL, &four, 1, NULL, &error);
        }
        assert_int_equal(status, MDIST_ERR_INVALID_ARGUMENT);
        mdist_error_free(error);
        error = NULL;
        exit_all(&run);
        FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_run_end(strategy, NULL, 0, &error));
    }
    mdist_strategy_destroy(strategy);
}

/// Passes parts that do not add up to the root's buffer, or different roots.
static int32_t disagree(mdist_replica_t *replica, void *user_data) {
    float in[8] = {0}, out[8];
    const int what = *(const int *)user_data;
    const uint32_t id = mdist_replica_id(replica);
    const mdist_buffer_t part = buffer_of(in, MDIST_FLOAT32, 2), whole = buffer_of(out, MDIST_FLOAT32, 5);
    if (what == 0) return (int32_t)mdist_gather_to_root(replica, 0, &part, &whole, 1, NULL, NULL);
    if (what == 1) return (int32_t)mdist_scatter(replica, 1, &whole, &part, 1, NULL, NULL);
    return (int32_t)mdist_reduce_to_root(replica, MDIST_SUM, id, &part, &part, 1, NULL, NULL);
}

static void a_mismatch_is_told(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    for (int what = 0; what < 3; ++what) FAILS(MDIST_ERR_MISMATCH, mdist_run(strategy, disagree, &what, NULL, &error));
    expect_runs(strategy);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_gets_what_is_its),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(a_mismatch_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
