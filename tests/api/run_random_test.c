// SPDX-License-Identifier: Apache-2.0
// Compares random programs of steps, merges, nested runs and failures with a model.
//
// A program is a list of operations for all replicas, with at most one fault: one replica does something else at one
// operation. Without a fault, each replica ends with the number that the model computes in plain int64, one replica
// after another. With a fault, mdist_run returns its status and names that replica, nothing hangs, and the next run
// works.
#include "mdist_test.h"

#include <pthread.h>

enum { MOST = 5, LONGEST = 8, DEEPEST = 2, LARGE = 3000 };

typedef enum Kind {
    SUM,          // x = sum of all x
    LARGE_SUM,    // the same with many elements
    BROADCAST,    // x = x of the root
    GATHER,       // x = sum over r of (r + 1) * x of r
    SCATTER,      // x = sum over r of x of r, plus own id
    ALL_TO_ALL,   // x = sum over r of x of r * (id + 1)
    BARRIER,      // x does not change
    ADD_ID,       // x += id, without the other replicas
    MERGE_SUM,    // x += sum of all x, by a merge
    MERGE_NESTED, // x = the result of a nested program
    KINDS
} Kind;

typedef enum Fault { NO_FAULT, RETURNS, EXITS, LEAVES, OTHER_KIND, BAD_DTYPE, FAULTS } Fault;

typedef struct Program {
    Kind kinds[LONGEST];
    uint32_t roots[LONGEST];
    struct Program *nested[LONGEST];
    int length;
    Fault fault; // only in the outermost program
    int fault_at;
    int32_t fault_who;
    mdist_status_t *statuses; // of the failed call, by replica; checked afterwards
} Program;

// ---- Making programs.

static uint64_t random_state;

static uint32_t draw(uint32_t below) {
    return draw_from(&random_state, below);
}

static Program *make_program(uint32_t replicas, int depth) {
    Program *self = calloc(1, sizeof *self);
    assert_non_null(self);
    self->length = 1 + (int)draw(LONGEST);
    for (int i = 0; i < self->length; ++i) {
        self->kinds[i] = (Kind)draw(depth < DEEPEST ? KINDS : MERGE_NESTED);
        self->roots[i] = draw(replicas);
        if (self->kinds[i] == MERGE_NESTED) self->nested[i] = make_program(replicas, depth + 1);
    }
    return self;
}

static void free_program(Program *self) {
    if (self == NULL) return;
    for (int i = 0; i < self->length; ++i) free_program(self->nested[i]);
    free(self);
}

// ---- The model.

static int64_t wrapped(uint64_t number) {
    return (int64_t)number;
}

static void model(const Program *self, int64_t *x, uint32_t n) {
    for (int i = 0; i < self->length; ++i) {
        uint64_t sum = 0, weighted = 0;
        for (uint32_t r = 0; r < n; ++r) {
            sum += (uint64_t)x[r];
            weighted += (uint64_t)x[r] * (r + 1);
        }
        const int64_t root = x[self->roots[i]];
        if (self->kinds[i] == MERGE_NESTED) model(self->nested[i], x, n);
        for (uint32_t r = 0; r < n; ++r) {
            switch (self->kinds[i]) {
                case SUM:
                case LARGE_SUM:
                    x[r] = wrapped(sum);
                    break;
                case BROADCAST:
                    x[r] = root;
                    break;
                case GATHER:
                    x[r] = wrapped(weighted);
                    break;
                case SCATTER:
                    x[r] = wrapped(sum + r);
                    break;
                case ALL_TO_ALL:
                    x[r] = wrapped(sum * (r + 1));
                    break;
                case ADD_ID:
                    x[r] = wrapped((uint64_t)x[r] + r);
                    break;
                case MERGE_SUM:
                    x[r] = wrapped((uint64_t)x[r] + sum);
                    break;
                default:
                    break;
            }
        }
    }
}

// ---- The same program on replicas.

static int32_t step(mdist_replica_t *replica, void *user_data);

static int32_t merge_sum(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                         mdist_value_t **results, size_t result_count, void *user_data) {
    (void)argument_count, (void)result_count, (void)user_data;
    const int one = mdist_strategy_replica_count(strategy) == 1;
    return mdist_strategy_reduce(strategy, one ? MDIST_MAX : MDIST_SUM, arguments[0], results, NULL, NULL) == MDIST_OK
               ? 0
               : 1;
}

static int32_t merge_nested(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                            mdist_value_t **results, size_t result_count, void *user_data) {
    (void)argument_count, (void)result_count;
    return mdist_run(strategy, step, user_data,
                     &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = arguments, .argument_count = 1,
                                       .results = results, .result_count = 1},
                     NULL) == MDIST_OK
               ? 0
               : 1;
}

static mdist_status_t merged(mdist_replica_t *replica, const Program *self, int at, int64_t *x) {
    const mdist_tensor_t argument = tensor_of(x, MDIST_INT64, 0);
    mdist_tensor_t result;
    const int sum = self->kinds[at] == MERGE_SUM;
    const mdist_status_t status = mdist_merge_call(replica, sum ? merge_sum : merge_nested, self->nested[at], &argument,
                                                   1, &result, 1, NULL, NULL);
    if (status != MDIST_OK) return status;
    const uint64_t number = *(uint64_t *)result.data;
    *x = wrapped(sum ? (uint64_t)*x + number : number);
    return MDIST_OK;
}

static mdist_status_t operate(mdist_replica_t *replica, const Program *self, int at, int64_t *x) {
    const uint32_t n = mdist_replica_count(replica), id = mdist_replica_id(replica);
    int64_t many[LARGE], all[LARGE];
    mdist_buffer_t one = buffer_of(x, MDIST_INT64, 1), in = buffer_of(many, MDIST_INT64, n);
    mdist_buffer_t out = buffer_of(all, MDIST_INT64, n);
    mdist_status_t status = MDIST_OK;
    uint64_t sum = 0;
    for (int i = 0; i < LARGE; ++i) many[i] = *x;
    switch (self->kinds[at]) {
        case SUM:
            return mdist_all_reduce(replica, MDIST_SUM, &one, &one, 1, NULL, NULL);
        case LARGE_SUM:
            in.elements = out.elements = LARGE;
            status = mdist_all_reduce(replica, MDIST_SUM, &in, &out, 1, NULL, NULL);
            if (status == MDIST_OK) *x = all[LARGE - 1];
            return status;
        case BROADCAST:
            return mdist_broadcast(replica, self->roots[at], &one, 1, NULL, NULL);
        case GATHER:
            status = mdist_all_gather(replica, &one, &out, 1, NULL, NULL);
            for (uint32_t r = 0; r < n && status == MDIST_OK; ++r) sum += (uint64_t)all[r] * (r + 1);
            break;
        case SCATTER:
            out.elements = 1;
            status = mdist_reduce_scatter(replica, MDIST_SUM, &in, &out, 1, NULL, NULL);
            if (status == MDIST_OK) sum = (uint64_t)all[0] + id;
            break;
        case ALL_TO_ALL:
            for (uint32_t r = 0; r < n; ++r) many[r] = wrapped((uint64_t)*x * (r + 1));
            status = mdist_all_to_all(replica, &in, &out, 1, NULL, NULL);
            for (uint32_t r = 0; r < n && status == MDIST_OK; ++r) sum += (uint64_t)all[r];
            break;
        case BARRIER:
            return mdist_barrier(replica, NULL, NULL);
        case ADD_ID:
            *x = wrapped((uint64_t)*x + id);
            return MDIST_OK;
        default:
            return merged(replica, self, at, x);
    }
    if (status == MDIST_OK) *x = wrapped(sum);
    return status;
}

/// Does what the fault does. Returns the number that the step returns; -1: it continues.
static int32_t fault_of(mdist_replica_t *replica, const Program *self, int64_t x) {
    const mdist_buffer_t odd = buffer_of(&x, MDIST_UINT64, 1), bad = buffer_of(&x, (mdist_dtype_t)77, 1);
    switch (self->fault) {
        case RETURNS:
            return 1234;
        case EXITS:
            pthread_exit(NULL);
        case LEAVES:
            return 0;
        case OTHER_KIND:
            mdist_all_reduce(replica, MDIST_PROD, &odd, &odd, 1, NULL, NULL);
            return 0;
        case BAD_DTYPE:
            mdist_all_reduce(replica, MDIST_SUM, &bad, &bad, 1, NULL, NULL);
            return 0;
        default:
            return -1;
    }
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    const Program *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    mdist_tensor_t in;
    if (mdist_replica_argument(replica, 0, NULL, &in, NULL) != MDIST_OK) return 98;
    int64_t x = *(int64_t *)in.data;
    for (int at = 0; at < self->length; ++at) {
        if (self->fault != NO_FAULT && at == self->fault_at && id == self->fault_who) {
            const int32_t code = fault_of(replica, self, x);
            if (code >= 0) return code;
        }
        if (operate(replica, self, at, &x) != MDIST_OK) return 0; // the run fails anyway
    }
    const mdist_tensor_t result = tensor_of(&x, MDIST_INT64, 0);
    return mdist_replica_set_result(replica, 0, NULL, &result, NULL) == MDIST_OK ? 0 : 97;
}

// ---- One program.

static mdist_status_t expected(const Program *self, uint32_t n) {
    switch (self->fault) {
        case RETURNS:
        case EXITS:
            return MDIST_ERR_CALLBACK;
        case BAD_DTYPE:
            return MDIST_ERR_INVALID_ARGUMENT;
        case LEAVES:
        case OTHER_KIND:
            // The other replicas miss the call, or its result. A single replica cannot disagree.
            return n == 1 ? MDIST_OK : MDIST_ERR_MISMATCH;
        default:
            return MDIST_OK;
    }
}

typedef struct Call {
    mdist_strategy_t *strategy;
    Program *program;
    mdist_value_t *argument, *result;
    mdist_status_t status;
    int32_t replica;
    char message[400];
} Call;

static void *call_run(void *argument) {
    Call *self = argument;
    mdist_error_t *error = NULL;
    self->status = mdist_run(self->strategy, step, self->program,
                             &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &self->argument,
                                               .argument_count = 1, .results = &self->result, .result_count = 1},
                             &error);
    self->replica = mdist_error_replica(error);
    snprintf(self->message, sizeof self->message, "%s", mdist_error_message(error));
    mdist_error_free(error);
    return self;
}

static void check_program(mdist_strategy_t *strategy, Program *program, uint32_t n, unsigned long seed) {
    mdist_error_t *error = NULL;
    int64_t x[MOST];
    mdist_tensor_t tensors[MOST], seen;
    Call call = {.strategy = strategy, .program = program, .replica = -1};
    for (uint32_t r = 0; r < n; ++r) {
        x[r] = (int64_t)draw(2000) - 1000;
        tensors[r] = tensor_of(&x[r], MDIST_INT64, 0);
    }
    OK(mdist_value_per_replica(strategy, tensors, n, &call.argument, &error));
    pthread_t thread; // replica 0 may end the calling thread
    void *returned = NULL;
    assert_int_equal(pthread_create(&thread, NULL, call_run, &call), 0);
    pthread_join(thread, &returned);
    mdist_value_destroy(call.argument);
    if (program->fault == EXITS && program->fault_who == 0) {
        assert_null(returned);
        return;
    }
    const mdist_status_t wanted = expected(program, n);
    if (call.status != wanted)
        fail_msg("seed %lu, %u replicas, fault %d: %s, not %s: %s", seed, n, program->fault,
                 mdist_status_name(call.status), mdist_status_name(wanted), call.message);
    if (program->fault != NO_FAULT && program->fault != OTHER_KIND && wanted < 0 && call.replica != program->fault_who)
        fail_msg("seed %lu: names replica %d, not %d: %s", seed, call.replica, program->fault_who, call.message);
    if (program->fault == NO_FAULT) {
        model(program, x, n);
        for (uint32_t r = 0; r < n; ++r) {
            OK(mdist_value_tensor(call.result, r, &seen, &error));
            if (*(int64_t *)seen.data != x[r]) fail_msg("seed %lu, %u replicas: replica %u differs", seed, n, r);
        }
    }
    mdist_value_destroy(call.result);
}

static void random_programs_do_what_the_model_says(void **state) {
    (void)state;
    const uint64_t first = test_seed(1), count = seed_count(300, 5000);
    mdist_strategy_t *strategies[MOST + 1] = {NULL};
    for (uint32_t n = 1; n <= MOST; ++n) strategies[n] = make_strategy(n, NULL);
    for (uint64_t seed = first; seed < first + count; ++seed) {
        random_state = seed;
        const uint32_t n = 1 + draw(MOST);
        Program *program = make_program(n, 0);
        if (draw(2) == 0) {
            program->fault = (Fault)draw(FAULTS);
            program->fault_at = (int)draw((uint32_t)program->length);
            program->fault_who = (int32_t)draw(n);
        }
        check_program(strategies[n], program, n, seed);
        program->fault = NO_FAULT;
        check_program(strategies[n], program, n, seed); // the strategy must work after the last program
        free_program(program);
    }
    for (uint32_t n = 1; n <= MOST; ++n) mdist_strategy_destroy(strategies[n]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs_do_what_the_model_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
