// SPDX-License-Identifier: Apache-2.0
// Operators of the program on memory of GPUs, which the host cannot access: they run on the host, between what the
// replica's stream was given before and what it is given after.
#include "gpu_support.h"
#include "started.h"

enum { MOST = 4, EACH = 3, ALL = MOST * EACH, FORMS = 3 }; // blocking, started, prepared

/// Neither associative nor the same both ways.
static int32_t twice_and_minus(const void *left, const void *right, void *out, uint64_t count, void *user_data) {
    (void)user_data;
    for (uint64_t i = 0; i < count; ++i) ((float *)out)[i] = 2 * ((const float *)left)[i] - ((const float *)right)[i];
    return 0;
}

static float number(uint32_t replica, uint64_t element) {
    return (float)(1 + 10 * replica + element);
}

/// The tree over list[lo] to list[hi - 1].
static float tree(const uint32_t *list, uint32_t lo, uint32_t hi, uint64_t element) {
    uint32_t half = 1;
    if (hi - lo == 1) return number(list[lo], element);
    while (2 * half < hi - lo) half *= 2;
    return 2 * tree(list, lo, lo + half, element) - tree(list, lo + half, hi, element);
}

/// One call, with what each replica has. Inputs are copied on the stream before the call, and results after it.
typedef struct World {
    mdist_strategy_t *strategy;
    mdist_collective_kind_t kind;
    int form, in_place;
    mdist_reduce_op_t op;
    uint32_t replicas, members; // the first `members` of `list` make the call
    const uint32_t *list;
    mdist_call_options_t options;
    mdist_tensor_t given[MOST], input[MOST], output[MOST], kept[MOST];
    mdist_prepared_t *calls[MOST];
} World;

static uint32_t position(const World *self, uint32_t id) {
    for (uint32_t i = 0; i < self->members; ++i)
        if (self->list[i] == id) return i;
    return MDIST_NONE;
}

static uint32_t root(const World *self) {
    return self->list[self->members - 1];
}

static uint64_t out_elements(const World *self, uint32_t id) {
    if (self->kind == MDIST_COLLECTIVE_REDUCE_TO_ROOT && id != root(self)) return 0;
    return self->kind == MDIST_COLLECTIVE_REDUCE_SCATTER ? EACH : EACH * self->members;
}

static uint64_t out_begin(const World *self, uint32_t id) {
    return self->kind == MDIST_COLLECTIVE_REDUCE_SCATTER ? EACH * position(self, id) : 0;
}

static mdist_buffer_t input_of(const World *self, uint32_t id) {
    return (mdist_buffer_t){self->input[id].data, EACH * self->members, MDIST_FLOAT32, 0};
}

static mdist_buffer_t output_of(const World *self, uint32_t id) {
    float *const in = self->input[id].data;
    return (mdist_buffer_t){self->in_place ? in + out_begin(self, id) : self->output[id].data, out_elements(self, id),
                            MDIST_FLOAT32, 0};
}

static mdist_status_t call_now(const World *self, mdist_replica_t *replica, uint32_t id, mdist_error_t **error) {
    const mdist_buffer_t in = input_of(self, id), out = output_of(self, id);
    if (self->kind == MDIST_COLLECTIVE_ALL_REDUCE)
        return mdist_all_reduce(replica, self->op, &in, &out, 1, &self->options, error);
    if (self->kind == MDIST_COLLECTIVE_REDUCE_SCATTER)
        return mdist_reduce_scatter(replica, self->op, &in, &out, 1, &self->options, error);
    return mdist_reduce_to_root(replica, self->op, root(self), &in, &out, 1, &self->options, error);
}

static mdist_status_t start(const World *self, mdist_replica_t *replica, uint32_t id, mdist_work_t **work,
                            mdist_error_t **error) {
    const mdist_buffer_t in = input_of(self, id), out = output_of(self, id);
    if (self->form == 2) return mdist_prepared_start(replica, self->calls[id], work, error);
    if (self->kind == MDIST_COLLECTIVE_ALL_REDUCE)
        return start_all_reduce(replica, self->op, &in, &out, 1, work, &self->options, error);
    if (self->kind == MDIST_COLLECTIVE_REDUCE_SCATTER)
        return start_reduce_scatter(replica, self->op, &in, &out, 1, work, &self->options, error);
    return start_reduce_to_root(replica, self->op, root(self), &in, &out, 1, work, &self->options, error);
}

static mdist_status_t start_and_wait(const World *self, mdist_replica_t *replica, uint32_t id, mdist_error_t **error) {
    mdist_work_t *work = NULL;
    int32_t done = 0;
    mdist_status_t status = start(self, replica, id, &work, error);
    if (status == MDIST_OK) status = mdist_work_wait(work, MDIST_FOREVER, &done, error);
    mdist_work_destroy(work);
    return status;
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    const World *const self = user_data;
    const uint32_t id = mdist_replica_id(replica);
    if (position(self, id) == MDIST_NONE) return 0;
    mdist_error_t *error = NULL;
    mdist_tensor_t result = self->output[id], kept = self->kept[id];
    result.data = output_of(self, id).data;
    result.shape[0] = kept.shape[0] = out_elements(self, id);
    mdist_status_t status = mdist_replica_copy(replica, &self->input[id], &self->given[id], &error);
    if (status == MDIST_OK)
        status = self->form == 0 ? call_now(self, replica, id, &error) : start_and_wait(self, replica, id, &error);
    if (status == MDIST_OK && result.shape[0] != 0) status = mdist_replica_copy(replica, &kept, &result, &error);
    if (status != MDIST_OK) mdist_fail(0, mdist_error_message(error));
    mdist_error_free(error);
    return status != MDIST_OK;
}

static void prepare(World *self) {
    for (uint32_t id = 0; id < self->replicas; ++id) {
        mdist_error_t *error = NULL;
        if (position(self, id) == MDIST_NONE) continue;
        const mdist_buffer_t in = input_of(self, id), out = output_of(self, id);
        const mdist_collective_description_t it = {sizeof it,
                                                   (int32_t)self->kind,
                                                   (int32_t)self->op,
                                                   self->kind == MDIST_COLLECTIVE_REDUCE_TO_ROOT ? root(self) : 0,
                                                   &in,
                                                   &out,
                                                   1,
                                                   NULL,
                                                   NULL};
        OK(mdist_prepared_create(self->strategy, id, &it, &self->calls[id], &self->options, &error));
    }
}

static void try_once(World *self) {
    mdist_error_t *error = NULL;
    if (self->form == 2) prepare(self);
    OK(mdist_run(self->strategy, step, self, NULL, &error));
    for (uint32_t id = 0; id < self->replicas; ++id) {
        mdist_prepared_destroy(self->calls[id]);
        self->calls[id] = NULL;
        if (position(self, id) == MDIST_NONE) continue;
        float kept[ALL];
        floats_of(&self->kept[id], kept);
        for (uint64_t i = 0; i < out_elements(self, id); ++i)
            assert_true(kept[i] == tree(self->list, 0, self->members, out_begin(self, id) + i));
    }
}

static void try_all(World *self) {
    static const mdist_collective_kind_t kinds[] = {MDIST_COLLECTIVE_ALL_REDUCE, MDIST_COLLECTIVE_REDUCE_SCATTER,
                                                    MDIST_COLLECTIVE_REDUCE_TO_ROOT};
    for (int kind = 0; kind < 3; ++kind)
        for (self->form = 0; self->form < FORMS; ++self->form)
            for (self->in_place = 0; self->in_place < 2; ++self->in_place) {
                self->kind = kinds[kind];
                try_once(self);
            }
}

static void try_devices(const char *devices, const int32_t *gpus_of, uint32_t replicas) {
    static const uint32_t in_order[MOST] = {0, 1, 2, 3}, turned[MOST] = {3, 0, 2};
    mdist_error_t *error = NULL;
    mdist_group_t *group = NULL;
    World self = {.strategy = gpu_strategy(devices),
                  .replicas = replicas,
                  .members = replicas,
                  .list = in_order,
                  .options = {.struct_size = sizeof self.options}};
    OK(mdist_operator_register("twice and minus", sizeof(float), twice_and_minus, NULL, &self.op, &error));
    mdist_tensor_t *const sets[] = {self.given, self.input, self.output, self.kept};
    for (uint32_t id = 0; id < replicas; ++id) {
        float numbers[ALL];
        for (uint64_t i = 0; i < ALL; ++i) numbers[i] = number(id, i);
        for (int set = 0; set < 4; ++set)
            sets[set][id] = floats_on(self.strategy, id, set == 0 ? numbers : NULL, ALL, gpus_of[id]);
    }
    try_all(&self);
    OK(mdist_group_create(self.strategy, turned, 3, &group, &error));
    self.options.group = group;
    self.list = turned;
    self.members = 3;
    try_all(&self);
    mdist_group_destroy(group);
    for (uint32_t id = 0; id < replicas; ++id)
        for (int set = 0; set < 4; ++set) mdist_free(sets[set][id].data);
    mdist_operator_unregister(self.op);
    mdist_strategy_destroy(self.strategy);
    expect_no_problems();
}

static void operators_run_on_the_host_in_the_order_of_the_streams(void **state) {
    (void)state;
    try_devices("gpu:0*4", (const int32_t[]){0, 0, 0, 0}, 4);
    try_devices("gpu:0,gpu:1,gpu:2,gpu:3", (const int32_t[]){0, 1, 2, 3}, 4); // with NCCL
    try_devices("gpu:0*2,gpu:1*2", (const int32_t[]){0, 0, 1, 1}, 4);
}

// ---- Failures.

static int32_t always_fails(const void *left, const void *right, void *out, uint64_t count, void *user_data) {
    (void)left, (void)right, (void)out, (void)count, (void)user_data;
    mdist_fail(0, "no inverse");
    return 42;
}

typedef struct Failing {
    mdist_reduce_op_t op;
    void *memory[2];
    int starts;
    mdist_status_t statuses[2];
} Failing;

static int32_t failing_step(mdist_replica_t *replica, void *user_data) {
    Failing *const self = user_data;
    const uint32_t id = mdist_replica_id(replica);
    const mdist_buffer_t buffer = {self->memory[id], 4, MDIST_FLOAT32, 0};
    mdist_work_t *work = NULL;
    int32_t done = 0;
    if (!self->starts)
        return (self->statuses[id] = mdist_all_reduce(replica, self->op, &buffer, &buffer, 1, NULL, NULL));
    self->statuses[id] = start_all_reduce(replica, self->op, &buffer, &buffer, 1, &work, NULL, NULL);
    if (self->statuses[id] == MDIST_OK) self->statuses[id] = mdist_work_wait(work, MDIST_FOREVER, &done, NULL);
    mdist_work_destroy(work);
    return self->statuses[id];
}

static void a_failed_function_fails_the_call_on_all_replicas(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    static const char *const devices[] = {"gpu:0*2", "gpu:0,gpu:1"};
    for (int i = 0; i < 4; ++i) {
        mdist_strategy_t *strategy = gpu_strategy(devices[i / 2]);
        Failing self = {.starts = i % 2};
        OK(mdist_operator_register("inverse", sizeof(float), always_fails, NULL, &self.op, &error));
        for (uint32_t id = 0; id < 2; ++id) OK(mdist_alloc(strategy, id, 16, &self.memory[id], &error));
        assert_int_equal(mdist_run(strategy, failing_step, &self, NULL, &error), MDIST_ERR_CALLBACK);
        WORDS(error, "operator \"inverse\" returned 42");
        WORDS(error, "no inverse");
        mdist_error_free(error);
        error = NULL;
        for (int id = 0; id < 2; ++id) assert_int_equal(self.statuses[id], MDIST_ERR_CALLBACK);
        mdist_operator_unregister(self.op);
        OK(mdist_operator_register("twice and minus", sizeof(float), twice_and_minus, NULL, &self.op, &error));
        OK(mdist_run(strategy, failing_step, &self, NULL, &error)); // it is still usable
        for (uint32_t id = 0; id < 2; ++id) mdist_free(self.memory[id]);
        mdist_operator_unregister(self.op);
        mdist_strategy_destroy(strategy);
    }
}

static int32_t outside_and_inside(mdist_replica_t *replica, void *user_data) {
    Failing *const self = user_data;
    const uint32_t id = mdist_replica_id(replica);
    float here = (float)id + 1;
    const mdist_buffer_t host = {&here, 1, MDIST_FLOAT32, 0}, none = {NULL, 0, MDIST_FLOAT32, 0};
    if (mdist_all_reduce(replica, self->op, &host, &host, 1, NULL, NULL) != MDIST_OK || here != 2 * 1 - 2) return 1;
    return mdist_all_reduce(replica, self->op, &none, &none, 1, NULL, NULL) != MDIST_OK ? 2 : 0;
}

static void memory_of_the_host_and_none_at_all_do_too(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0*2");
    Failing self = {.starts = 0};
    OK(mdist_operator_register("twice and minus", sizeof(float), twice_and_minus, NULL, &self.op, &error));
    OK(mdist_run(strategy, outside_and_inside, &self, NULL, &error));
    mdist_buffer_t buffers[2];
    for (uint32_t id = 0; id < 2; ++id) {
        const float five = (float)id + 5;
        buffers[id] = (mdist_buffer_t){floats_on(strategy, id, &five, 1, 0).data, 1, MDIST_FLOAT32, 0};
    }
    OK(mdist_strategy_all_reduce(strategy, self.op, buffers, buffers, 1, NULL, &error)); // outside of steps
    for (uint32_t id = 0; id < 2; ++id) {
        const mdist_tensor_t there = on_gpu(buffers[id].data, MDIST_FLOAT32, 1, 0);
        expect_floats(&there, 2 * 5 - 6);
        mdist_free(buffers[id].data);
    }
    mdist_operator_unregister(self.op);
    mdist_strategy_destroy(strategy);
}

GPU_TESTS("devices=4,delay_us=100", cmocka_unit_test(operators_run_on_the_host_in_the_order_of_the_streams),
          cmocka_unit_test(a_failed_function_fails_the_call_on_all_replicas),
          cmocka_unit_test(memory_of_the_host_and_none_at_all_do_too))
