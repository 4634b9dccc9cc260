// SPDX-License-Identifier: Apache-2.0
// Collectives that were started and turn out to differ: every start succeeds, and every wait says what is wrong, on
// GPUs as on the CPU, and also without `gpu.blocking`.
#include "started.h"
#include "gpu_support.h"

enum { kReplicas = 2, kCount = 100, kMostSteps = 8 };

/// Starts, then waits: of one collective on each replica, and of two, of which the first ones differ. The second start
/// of the replica that starts last comes when the failure is known.
static const struct {
    int collectives, steps;
    mdist_status_t said[kMostSteps];
} kWanted[] = {
    {1, 4, {MDIST_OK, MDIST_OK, MDIST_ERR_MISMATCH, MDIST_ERR_MISMATCH}},
    {2,
     7,
     {MDIST_OK, MDIST_OK, MDIST_OK, MDIST_ERR_ABORTED, MDIST_ERR_MISMATCH, MDIST_ERR_ABORTED, MDIST_ERR_MISMATCH}},
};

typedef struct World {
    mdist_strategy_t *strategy;
    mdist_replica_t *replicas[kReplicas];
    mdist_buffer_t buffers[kReplicas];
    mdist_status_t said[kMostSteps];
    int steps;
} World;

static void say(World *self, mdist_status_t status) {
    self->said[self->steps++] = status;
}

static mdist_work_t *start(World *self, int replica, mdist_reduce_op_t op) {
    mdist_work_t *work = NULL;
    const mdist_buffer_t *const buffer = &self->buffers[replica];
    say(self, start_all_reduce(self->replicas[replica], op, buffer, buffer, 1, &work, NULL, NULL));
    return work;
}

static void wait_for(World *self, mdist_work_t *work) {
    int32_t done = 0;
    say(self, mdist_work_wait(work, MDIST_FOREVER, &done, NULL));
    mdist_work_destroy(work);
}

/// `first` starts first.
static void start_and_wait(World *self, int first, int collectives) {
    mdist_work_t *works[kReplicas][2];
    self->steps = 0;
    for (int i = 0; i < kReplicas; ++i)
        for (int n = 0; n < collectives; ++n)
            works[i][n] = start(self, (first + i) % kReplicas, i == 0 || n != 0 ? MDIST_SUM : MDIST_MAX);
    for (int i = 0; i < kReplicas; ++i)
        for (int n = 0; n < collectives; ++n)
            if (works[i][n] != NULL) wait_for(self, works[i][n]);
}

static void expect_said(const World *self, const char *devices, size_t which) {
    assert_int_equal(self->steps, kWanted[which].steps);
    for (int i = 0; i < self->steps; ++i) {
        if (self->said[i] == kWanted[which].said[i]) continue;
        print_error("%s, %d collectives, step %d gave %s, not %s\n", devices, kWanted[which].collectives, i,
                    mdist_status_name(self->said[i]), mdist_status_name(kWanted[which].said[i]));
        fail();
    }
}

static void begin(World *self) {
    mdist_error_t *error = NULL;
    OK(mdist_run_begin(self->strategy, NULL, &error));
    for (uint32_t r = 0; r < kReplicas; ++r) OK(mdist_replica_enter(self->strategy, r, &self->replicas[r], &error));
}

static mdist_status_t end(World *self) {
    for (int r = 0; r < kReplicas; ++r) mdist_replica_exit(self->replicas[r], 0, NULL);
    return mdist_run_end(self->strategy, NULL, 0, NULL);
}

static void expect_the_same(const char *devices) {
    mdist_error_t *error = NULL;
    World self = {.strategy = gpu_strategy(devices)};
    for (uint32_t r = 0; r < kReplicas; ++r) {
        void *memory = NULL;
        OK(mdist_alloc(self.strategy, r, kCount * sizeof(float), &memory, &error));
        self.buffers[r] = buffer_of(memory, MDIST_FLOAT32, kCount);
    }
    for (size_t i = 0; i < 2 * sizeof kWanted / sizeof *kWanted; ++i) {
        begin(&self);
        start_and_wait(&self, (int)i % 2, kWanted[i / 2].collectives);
        assert_int_equal(end(&self), MDIST_ERR_MISMATCH);
        expect_said(&self, devices, i / 2);
    }
    begin(&self); // the job goes on
    self.steps = 0;
    mdist_work_t *const works[] = {start(&self, 0, MDIST_SUM), start(&self, 1, MDIST_SUM)};
    for (int i = 0; i < 2; ++i) wait_for(&self, works[i]);
    for (int i = 0; i < 4; ++i) assert_int_equal(self.said[i], MDIST_OK);
    assert_int_equal(end(&self), MDIST_OK);
    for (int r = 0; r < kReplicas; ++r) mdist_free(self.buffers[r].data);
    mdist_strategy_destroy(self.strategy);
}

static void starts_that_differ_are_told_by_the_waits(void **state) {
    (void)state;
    expect_the_same("cpu*2");
    expect_the_same("gpu:0*2");
    expect_the_same("gpu:0,gpu:1");
    expect_no_problems();
}

GPU_TESTS("devices=2,delay_us=100", cmocka_unit_test(starts_that_differ_are_told_by_the_waits))
