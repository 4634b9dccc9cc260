// SPDX-License-Identifier: Apache-2.0
// Prepared calls give what their collectives give, run after run, whoever prepares and whoever does not.
#include "step_support.h"

enum { N = 3, EACH = 40, ROUNDS = 4 };

/// What one replica has. The library copies descriptions, so these go out of scope once the calls are created.
typedef struct Own {
    float in[N * EACH], prepared[N * EACH], plain[N * EACH];
    mdist_prepared_t *call;
} Own;

typedef struct Trial {
    mdist_collective_kind_t kind;
    uint32_t root;
    int32_t op;                   // of kinds that reduce
    mdist_call_options_t options; // names a group, or not
    Own own[N];
    Note notes[N];
} Trial;

static const uint32_t order[N] = {2, 0, 1}; // of the group

static uint32_t position(const Trial *self, uint32_t id) {
    return self->options.group != NULL ? mdist_group_position(self->options.group, id) : id;
}

static uint64_t in_elements(const Trial *self, uint32_t id) {
    switch (self->kind) {
        case MDIST_COLLECTIVE_ALL_GATHER:
        case MDIST_COLLECTIVE_GATHER_TO_ROOT:
            return EACH;
        case MDIST_COLLECTIVE_SCATTER:
            return id == self->root ? N * EACH : 0;
        case MDIST_COLLECTIVE_ALL_TO_ALL_PARTS:
            return 1 + 2 + 3;
        default:
            return N * EACH;
    }
}

static uint64_t out_elements(const Trial *self, uint32_t id) {
    switch (self->kind) {
        case MDIST_COLLECTIVE_REDUCE_SCATTER:
        case MDIST_COLLECTIVE_SCATTER:
            return EACH;
        case MDIST_COLLECTIVE_REDUCE_TO_ROOT:
        case MDIST_COLLECTIVE_GATHER_TO_ROOT:
            return id == self->root ? N * EACH : 0;
        case MDIST_COLLECTIVE_ALL_TO_ALL_PARTS:
            return (uint64_t)N * (position(self, id) + 1); // everybody gives the one at position r r + 1 elements
        default:
            return N * EACH;
    }
}

static const uint64_t given[N] = {1, 2, 3};

/// Describes the call with its results in `out`. A broadcast has only outputs.
static mdist_collective_description_t describe(const Trial *self, uint32_t id, mdist_buffer_t *buffers, uint64_t *taken,
                                               float *out) {
    mdist_collective_description_t it = {.struct_size = sizeof it, .kind = (int32_t)self->kind};
    const int broadcasts = self->kind == MDIST_COLLECTIVE_BROADCAST;
    buffers[0] = buffer_of(broadcasts ? out : (void *)self->own[id].in, MDIST_FLOAT32, in_elements(self, id));
    buffers[1] = buffer_of(out, MDIST_FLOAT32, out_elements(self, id));
    for (int r = 0; r < N; ++r) taken[r] = position(self, id) + 1;
    if (self->kind == MDIST_COLLECTIVE_BARRIER) return it;
    const int reduces = self->kind == MDIST_COLLECTIVE_ALL_REDUCE || self->kind == MDIST_COLLECTIVE_REDUCE_SCATTER ||
                        self->kind == MDIST_COLLECTIVE_REDUCE_TO_ROOT;
    it.op = reduces ? self->op : 0;
    it.root = self->root;
    it.inputs = &buffers[0];
    it.outputs = broadcasts ? NULL : &buffers[1];
    it.buffer_count = 1;
    if (self->kind == MDIST_COLLECTIVE_ALL_TO_ALL_PARTS) it.input_parts = given, it.output_parts = taken;
    return it;
}

static mdist_status_t call_plainly(mdist_replica_t *replica, const mdist_collective_description_t *it,
                                   const mdist_call_options_t *options, mdist_error_t **error) {
    const mdist_buffer_t *in = it->inputs, *out = it->outputs != NULL ? it->outputs : it->inputs;
    const mdist_reduce_op_t op = (mdist_reduce_op_t)it->op;
    switch (it->kind) {
        case MDIST_COLLECTIVE_ALL_REDUCE:
            return mdist_all_reduce(replica, op, in, out, 1, options, error);
        case MDIST_COLLECTIVE_BROADCAST:
            return mdist_broadcast(replica, it->root, out, 1, options, error);
        case MDIST_COLLECTIVE_ALL_GATHER:
            return mdist_all_gather(replica, in, out, 1, options, error);
        case MDIST_COLLECTIVE_REDUCE_SCATTER:
            return mdist_reduce_scatter(replica, op, in, out, 1, options, error);
        case MDIST_COLLECTIVE_ALL_TO_ALL:
            return mdist_all_to_all(replica, in, out, 1, options, error);
        case MDIST_COLLECTIVE_ALL_TO_ALL_PARTS:
            return mdist_all_to_all_parts(replica, in, it->input_parts, out, it->output_parts, 1, options, error);
        case MDIST_COLLECTIVE_REDUCE_TO_ROOT:
            return mdist_reduce_to_root(replica, op, it->root, in, out, 1, options, error);
        case MDIST_COLLECTIVE_GATHER_TO_ROOT:
            return mdist_gather_to_root(replica, it->root, in, out, 1, options, error);
        case MDIST_COLLECTIVE_SCATTER:
            return mdist_scatter(replica, it->root, in, out, 1, options, error);
        default:
            return mdist_barrier(replica, options, error);
    }
}

static mdist_status_t start_prepared(mdist_replica_t *replica, mdist_prepared_t *call, mdist_error_t **error) {
    mdist_work_t *work = NULL;
    int32_t done = 0;
    mdist_status_t status = mdist_prepared_start(replica, call, &work, error);
    if (status == MDIST_OK) status = mdist_work_wait(work, MDIST_FOREVER, &done, error);
    mdist_work_destroy(work);
    return status;
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    Trial *const self = user_data;
    const uint32_t id = mdist_replica_id(replica);
    Own *const own = &self->own[id];
    mdist_buffer_t buffers[2];
    uint64_t taken[N];
    const mdist_collective_description_t plain = describe(self, id, buffers, taken, own->plain);
    for (int round = 0; round < ROUNDS; ++round) {
        mdist_error_t *error = NULL;
        for (int i = 0; i < N * EACH; ++i) own->in[i] = (float)(id * 1000 + (uint32_t)(i * 7 + round * 131) % 97);
        for (int i = 0; i < N * EACH; ++i) own->prepared[i] = own->plain[i] = own->in[i];
        mdist_status_t status = call_plainly(replica, &plain, &self->options, &error);
        if (note(&self->notes[id], MDIST_OK, status, &error, "plain") != 0) return 1;
        status = (round + (int)id) % 2 == 0 ? mdist_prepared_run(replica, own->call, &error)
                                            : start_prepared(replica, own->call, &error);
        if (note(&self->notes[id], MDIST_OK, status, &error, "prepared") != 0) return 2;
        if (memcmp(own->prepared, own->plain, sizeof own->plain) == 0) continue;
        snprintf(self->notes[id].text, sizeof self->notes[id].text, "round %d has other numbers", round);
        return 3;
    }
    return 0;
}

static void create_all(Trial *self, mdist_strategy_t *strategy) {
    for (uint32_t id = 0; id < N; ++id) {
        mdist_error_t *error = NULL;
        mdist_buffer_t buffers[2];
        uint64_t taken[N];
        const mdist_collective_description_t it = describe(self, id, buffers, taken, self->own[id].prepared);
        OK(mdist_prepared_create(strategy, id, &it, &self->own[id].call, &self->options, &error));
        memset((void *)buffers, 0xee, sizeof buffers); // the library has copied them
        memset(taken, 0xee, sizeof taken);
    }
}

static void try_all_kinds(mdist_strategy_t *strategy, int32_t op, mdist_group_t *group) {
    mdist_error_t *error = NULL;
    for (int kind = MDIST_COLLECTIVE_ALL_REDUCE; kind <= MDIST_COLLECTIVE_BARRIER; ++kind) {
        static Trial self;
        memset((void *)&self, 0, sizeof self);
        self.kind = (mdist_collective_kind_t)kind;
        self.op = op;
        self.options = (mdist_call_options_t){.struct_size = sizeof self.options, .group = group};
        const int rooted = kind == MDIST_COLLECTIVE_BROADCAST ||
                           (kind >= MDIST_COLLECTIVE_REDUCE_TO_ROOT && kind <= MDIST_COLLECTIVE_SCATTER);
        self.root = rooted ? 1 : 0;
        create_all(&self, strategy);
        for (int run = 0; run < 2; ++run) {
            const mdist_status_t status = mdist_run(strategy, step, &self, NULL, &error);
            for (int id = 0; id < N; ++id) assert_string_equal(self.notes[id].text, "");
            OK(status);
        }
        for (int id = 0; id < N; ++id) mdist_prepared_destroy(self.own[id].call);
    }
}

/// Neither associative nor the same both ways.
static int32_t twice_and_minus(const void *left, const void *right, void *out, uint64_t count, void *user_data) {
    (void)user_data;
    for (uint64_t i = 0; i < count; ++i) ((float *)out)[i] = 2 * ((const float *)left)[i] - ((const float *)right)[i];
    return 0;
}

static void prepared_calls_give_what_their_collectives_give(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(N, NULL);
    mdist_reduce_op_t op;
    mdist_group_t *group = NULL;
    OK(mdist_operator_register("twice and minus", sizeof(float), twice_and_minus, NULL, &op, &error));
    OK(mdist_group_create(strategy, order, N, &group, &error));
    try_all_kinds(strategy, MDIST_SUM, NULL);
    try_all_kinds(strategy, MDIST_SUM, group);
    try_all_kinds(strategy, (int32_t)op, NULL);
    try_all_kinds(strategy, (int32_t)op, group);
    mdist_group_destroy(group);
    mdist_operator_unregister(op);
    mdist_strategy_destroy(strategy);
}

static int32_t pair_step(mdist_replica_t *replica, void *user_data) {
    Own *const own = &((Own *)user_data)[mdist_replica_id(replica)];
    for (int i = 0; i < ROUNDS && own->call != NULL; ++i) {
        own->in[0] = (float)(1 + mdist_replica_id(replica));
        if (mdist_prepared_run(replica, own->call, NULL) != MDIST_OK || own->in[0] != 2 * 3 - 1) return 1;
    }
    return 0;
}

/// The call keeps what it needs of the group and the operator after their handles have gone.
static void members_alone_make_the_call_of_their_group(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(N, NULL);
    mdist_reduce_op_t op;
    mdist_group_t *pair = NULL;
    static Own own[N];
    OK(mdist_operator_register("twice and minus", sizeof(float), twice_and_minus, NULL, &op, &error));
    OK(mdist_group_create(strategy, order, 2, &pair, &error)); // replicas 2 and 0
    const mdist_call_options_t options = {.struct_size = sizeof options, .group = pair};
    for (uint32_t id = 0; id < N; ++id) {
        const mdist_buffer_t buffer = buffer_of(own[id].in, MDIST_FLOAT32, 1);
        const mdist_collective_description_t it = {
            sizeof it, MDIST_COLLECTIVE_ALL_REDUCE, (int32_t)op, 0, &buffer, &buffer, 1, NULL, NULL};
        if (id != 1) {
            OK(mdist_prepared_create(strategy, id, &it, &own[id].call, &options, &error));
            continue;
        }
        assert_int_equal(mdist_prepared_create(strategy, id, &it, &own[id].call, &options, &error),
                         MDIST_ERR_INVALID_ARGUMENT);
        assert_non_null(strstr(mdist_error_message(error), "replica 1 is not a member of"));
        mdist_error_free(error);
        error = NULL;
    }
    mdist_group_destroy(pair);
    mdist_operator_unregister(op);
    OK(mdist_run(strategy, pair_step, own, NULL, &error));
    for (uint32_t id = 0; id < N; ++id) mdist_prepared_destroy(own[id].call);
    mdist_strategy_destroy(strategy);
}

/// One replica makes the prepared call where the others make the plain one.
static int32_t mixed_step(mdist_replica_t *replica, void *user_data) {
    Own *const self = user_data;
    const uint32_t id = mdist_replica_id(replica);
    float one = 1;
    const mdist_buffer_t buffer = buffer_of(&one, MDIST_FLOAT32, 1);
    for (int i = 0; i < 10; ++i) {
        self[id].in[0] = one = 1;
        const mdist_status_t status = id == 1 ? mdist_prepared_run(replica, self[id].call, NULL)
                                              : mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL);
        if (status != MDIST_OK || (id == 1 ? self[id].in[0] : one) != N) return 1;
    }
    return 0;
}

static void a_prepared_call_meets_plain_ones(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(N, NULL);
    static Own own[N];
    const mdist_buffer_t buffer = buffer_of(own[1].in, MDIST_FLOAT32, 1);
    const mdist_collective_description_t it = {
        sizeof it, MDIST_COLLECTIVE_ALL_REDUCE, MDIST_SUM, 0, &buffer, &buffer, 1, NULL, NULL};
    OK(mdist_prepared_create(strategy, 1, &it, &own[1].call, NULL, &error));
    OK(mdist_run(strategy, mixed_step, own, NULL, &error));
    mdist_prepared_destroy(own[1].call);
    mdist_strategy_destroy(strategy);
}

static int32_t anothers_step(mdist_replica_t *replica, void *user_data) {
    mdist_error_t *error = NULL;
    const mdist_status_t status = mdist_prepared_run(replica, user_data, &error);
    const int right = status == MDIST_ERR_INVALID_ARGUMENT &&
                      strstr(mdist_error_message(error), "for local replica 1; this is local replica 0") != NULL;
    mdist_error_free(error);
    return mdist_replica_id(replica) == 0 ? (right ? 7 : 8) : 0;
}

static void wrong_descriptions_are_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_prepared_t *out = NULL;
    float memory[8] = {0};
    const uint64_t parts[2] = {1, 1};
    const mdist_buffer_t four = buffer_of(memory, MDIST_FLOAT32, 4), three = buffer_of(memory, MDIST_FLOAT32, 3),
                         other = buffer_of(memory + 4, MDIST_FLOAT32, 4);
    const uint32_t size = sizeof(mdist_collective_description_t);
    const mdist_collective_description_t wrong[] = {
        {4, MDIST_COLLECTIVE_BARRIER, 0, 0, NULL, NULL, 0, NULL, NULL},
        {size, 0, 0, 0, NULL, NULL, 0, NULL, NULL},
        {size, 11, 0, 0, NULL, NULL, 0, NULL, NULL},
        {size, MDIST_COLLECTIVE_BARRIER, MDIST_SUM, 0, NULL, NULL, 0, NULL, NULL},
        {size, MDIST_COLLECTIVE_BARRIER, 0, 0, &four, &four, 1, NULL, NULL},
        {size, MDIST_COLLECTIVE_ALL_REDUCE, 0, 0, &four, &four, 1, NULL, NULL},
        {size, MDIST_COLLECTIVE_ALL_REDUCE, MDIST_SUM, 1, &four, &four, 1, NULL, NULL},
        {size, MDIST_COLLECTIVE_ALL_REDUCE, MDIST_SUM, 0, &four, &four, 1, parts, parts},
        {size, MDIST_COLLECTIVE_ALL_REDUCE, MDIST_SUM, 0, &four, &three, 1, NULL, NULL},
        {size, MDIST_COLLECTIVE_ALL_REDUCE, MDIST_SUM, 0, &four, NULL, 1, NULL, NULL},
        {size, MDIST_COLLECTIVE_BROADCAST, 0, 2, &four, NULL, 1, NULL, NULL},
        {size, MDIST_COLLECTIVE_REDUCE_TO_ROOT, MDIST_SUM, 0, &four, &three, 1, NULL, NULL},
        {size, MDIST_COLLECTIVE_ALL_TO_ALL_PARTS, 0, 0, &four, &other, 1, parts, parts},
        {size, MDIST_COLLECTIVE_ALL_TO_ALL_PARTS, 0, 0, &four, &other, 1, NULL, parts},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
        FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_prepared_create(strategy, 0, &wrong[i], &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_prepared_create(strategy, 0, NULL, &out, NULL, &error));
    const mdist_collective_description_t fine = {size, MDIST_COLLECTIVE_BARRIER, 0, 0, NULL, NULL, 0, NULL, NULL};
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_prepared_create(strategy, 2, &fine, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_prepared_create(strategy, 0, &fine, NULL, NULL, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_prepared_create(NULL, 0, &fine, &out, NULL, &error));
    assert_null(out);
    OK(mdist_prepared_create(strategy, 1, &fine, &out, NULL, &error));
    assert_int_equal(mdist_run(strategy, anothers_step, out, NULL, &error), MDIST_ERR_INVALID_ARGUMENT);
    mdist_error_free(error);
    mdist_prepared_destroy(out);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prepared_calls_give_what_their_collectives_give),
        cmocka_unit_test(members_alone_make_the_call_of_their_group),
        cmocka_unit_test(a_prepared_call_meets_plain_ones),
        cmocka_unit_test(wrong_descriptions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
