// SPDX-License-Identifier: Apache-2.0
// Workers make different calls, come late or never, or fail by themselves. All workers must be told what was wrong and
// where. None may hang or get a wrong sum.
#include "multi.h"
#include "started.h"

enum { LENGTH = 50000, BUFFERS = 6 };

// --- calls that differ

typedef struct Call {
    enum { ALL_REDUCE, BROADCAST, ALL_GATHER, BARRIER, STARTED, NOTHING } kind;
    mdist_reduce_op_t op;
    mdist_dtype_t dtype;
    uint64_t length; // elements of the last buffer; the others have 10
    size_t buffers;
    uint32_t root;
} Call;

/// What the others call, what the victim calls, and words that every worker's message must contain.
typedef struct Difference {
    const char *name;
    Call right, wrong;
    const char *words[2];
} Difference;

#define SUM_OF(length) \
    { ALL_REDUCE, MDIST_SUM, MDIST_FLOAT32, length, 1, 0 }

static const Difference differences[] = {
    {"op", SUM_OF(10), {ALL_REDUCE, MDIST_MAX, MDIST_FLOAT32, 10, 1, 0}, {"SUM", "MAX"}},
    {"op, large", SUM_OF(LENGTH), {ALL_REDUCE, MDIST_PROD, MDIST_FLOAT32, LENGTH, 1, 0}, {"SUM", "PROD"}},
    {"dtype", SUM_OF(10), {ALL_REDUCE, MDIST_SUM, MDIST_INT32, 10, 1, 0}, {"float32", "int32"}},
    {"length", SUM_OF(10), SUM_OF(11), {"x 10", "x 11"}},
    {"length, large", SUM_OF(LENGTH), SUM_OF(LENGTH - 1), {"50000", "49999"}},
    {"small and large", SUM_OF(LENGTH), SUM_OF(1), {"x 50000", "x 1"}},
    {"length of a later buffer",
     {ALL_REDUCE, MDIST_SUM, MDIST_FLOAT32, 20, BUFFERS, 0},
     {ALL_REDUCE, MDIST_SUM, MDIST_FLOAT32, 21, BUFFERS, 0},
     {"6 buffers", "later buffer"}},
    {"buffers",
     {ALL_REDUCE, MDIST_SUM, MDIST_FLOAT32, 10, 3, 0},
     {ALL_REDUCE, MDIST_SUM, MDIST_FLOAT32, 10, 2, 0},
     {"3 buffers", "2 buffers"}},
    {"root", {BROADCAST, 0, MDIST_FLOAT32, 10, 1, 0}, {BROADCAST, 0, MDIST_FLOAT32, 10, 1, 1}, {"root 0", "root 1"}},
    {"kind", SUM_OF(LENGTH), {ALL_GATHER, 0, MDIST_FLOAT32, LENGTH, 1, 0}, {"mdist_all_reduce", "mdist_all_gather"}},
    {"kind, of a started one",
     {STARTED, MDIST_SUM, MDIST_FLOAT32, 10, 1, 0},
     {BROADCAST, 0, MDIST_FLOAT32, 10, 1, 1},
     {"mdist_all_reduce", "mdist_broadcast"}},
    {"order", SUM_OF(LENGTH), {BARRIER, 0, 0, 0, 0, 0}, {"mdist_all_reduce", "mdist_barrier"}},
    {"one call too few", SUM_OF(10), {NOTHING, 0, 0, 0, 0, 0}, {"mdist_all_reduce", "mdist_barrier"}},
};
enum { DIFFERENCES = sizeof differences / sizeof differences[0] };

static mdist_status_t reduce_started(mdist_replica_t *replica, const Call *call, const mdist_buffer_t *buffers) {
    mdist_work_t *work = NULL;
    int32_t done = 0;
    mdist_status_t status = start_all_reduce(replica, call->op, buffers, buffers, call->buffers, &work, NULL, NULL);
    if (status == MDIST_OK) status = mdist_work_wait(work, MDIST_FOREVER, &done, NULL);
    mdist_work_destroy(work);
    return status;
}

static mdist_status_t make(const Call *call, mdist_replica_t *replica, char *memory) {
    const uint32_t count = mdist_replica_count(replica);
    mdist_buffer_t in[BUFFERS], out[BUFFERS];
    for (size_t i = 0; i < call->buffers; ++i)
        in[i] = buffer_of(memory + i * 4096, call->dtype, i + 1 < call->buffers ? 10 : call->length);
    switch (call->kind) {
        case ALL_REDUCE:
            return mdist_all_reduce(replica, call->op, in, in, call->buffers, NULL, NULL);
        case STARTED:
            return reduce_started(replica, call, in);
        case BROADCAST:
            return mdist_broadcast(replica, call->root, in, call->buffers, NULL, NULL);
        case ALL_GATHER:
            out[0] = buffer_of(memory + LENGTH * 4, call->dtype, call->length * count);
            return mdist_all_gather(replica, in, out, 1, NULL, NULL);
        case BARRIER:
            return mdist_barrier(replica, NULL, NULL);
        default:
            return MDIST_OK;
    }
}

/// Makes a call that is right, then the different ones, then one more call.
static int32_t different_step(mdist_replica_t *replica, void *user_data) {
    const Difference *difference = user_data;
    const uint32_t count = mdist_replica_count(replica);
    char *memory = calloc(LENGTH * 4, 1 + count);
    if (memory == NULL) return 3;
    float one = 1;
    const mdist_buffer_t ones = buffer_of(&one, MDIST_FLOAT32, 1);
    int32_t result = 1;
    if (mdist_all_reduce(replica, MDIST_SUM, &ones, &ones, 1, NULL, NULL) == MDIST_OK)
        result = one == (float)count ? 0 : 2;
    const Call *call = rank == victim ? &difference->wrong : &difference->right;
    if (result == 0 && make(call, replica, memory) == MDIST_OK)
        result = call->kind == NOTHING ? 0 : 4; // only the worker that makes no call may succeed
    if (result == 0) result = mdist_barrier(replica, NULL, NULL) == MDIST_OK ? 4 : 1;
    free(memory);
    return result;
}

/// Whether all are told what most workers call. If so, they are told who does not.
static int names_the_victim(uint32_t workers) {
    char most[64], other[64];
    snprintf(most, sizeof most, "%u of %u workers are in operation ", workers - 1, workers);
    snprintf(other, sizeof other, ", worker %u in operation ", victim);
    if (strstr(message, most) == NULL) return 0;
    REQUIRE(strstr(message, other) != NULL && guilty_worker == victim);
    return 1;
}

/// Tries each difference in a job of its own. Where most agree, all are told so, unless a worker is very late.
static void differ(void) {
    uint32_t named = 0, workers = 0;
    for (size_t i = 0; i < DIFFERENCES; ++i) {
        Difference difference = differences[i];
        mdist_strategy_t *strategy = join();
        GIVES(MDIST_ERR_MISMATCH, mdist_run(strategy, different_step, &difference, NULL, &error));
        for (int w = 0; w < 2; ++w) {
            if (strstr(message, difference.words[w]) != NULL) continue;
            fprintf(stderr, "%s: no \"%s\" in: %s\n", difference.name, difference.words[w], message);
            GIVE_UP("both sides are in the message");
        }
        REQUIRE(strcmp(reason, "different_calls") == 0);
        workers = mdist_strategy_worker_count(strategy);
        named += names_the_victim(workers);
        GIVES(MDIST_ERR_ABORTED, mdist_run(strategy, different_step, &difference, NULL, &error));
        mdist_strategy_destroy(strategy);
    }
    REQUIRE(workers == 2 ? named == 0 : named > DIFFERENCES / 2);
}

// --- calls in cross-replica context that one worker makes wrongly

typedef enum Wrong { BAD_OP, NO_PLACE_FOR_IT, BAD_AXIS, BAD_HANDLE, NO_BUFFERS, BAD_SPEC, BAD_BATCH, WRONGS } Wrong;

static mdist_status_t call_across(mdist_strategy_t *strategy, Wrong wrong, int is_wrong, mdist_error_t **why) {
    float number = 1;
    const uint32_t locals = mdist_strategy_local_replica_count(strategy);
    const mdist_tensor_t spec = tensor_of(&number, MDIST_FLOAT32, 1);
    mdist_tensor_t tensors[8];
    mdist_buffer_t buffers[8];
    for (uint32_t i = 0; i < locals; ++i) tensors[i] = spec, buffers[i] = buffer_of(&number, MDIST_FLOAT32, 1);
    mdist_value_t *value = NULL, *out = NULL;
    mdist_variable_t *variable = NULL;
    GIVES(MDIST_OK, mdist_value_per_replica(strategy, tensors, locals, &value, &error));
    mdist_value_t *const none = NULL;
    mdist_value_t *const *const values = is_wrong ? &none : &value;
    const int32_t axis = is_wrong ? 3 : 0;
    mdist_status_t status = MDIST_OK;
    if (wrong == BAD_OP)
        status = mdist_strategy_reduce_to(strategy, is_wrong ? 9 : MDIST_SUM, &value, NULL, 1, &out, NULL, why);
    if (wrong == NO_PLACE_FOR_IT) status = mdist_strategy_gather(strategy, value, 0, is_wrong ? NULL : &out, NULL, why);
    if (wrong == BAD_AXIS) status = mdist_strategy_reduce_axes(strategy, MDIST_SUM, value, &axis, 1, &out, NULL, why);
    if (wrong == BAD_HANDLE) status = mdist_strategy_reduce(strategy, MDIST_SUM, *values, &out, NULL, why);
    if (wrong == NO_BUFFERS)
        status = mdist_strategy_all_reduce(strategy, MDIST_SUM, is_wrong ? NULL : buffers, buffers, 1, NULL, why);
    if (wrong == BAD_SPEC) status = mdist_variable_create(strategy, is_wrong ? "" : "x", &spec, &variable, NULL, why);
    if (wrong == BAD_BATCH) status = mdist_strategy_reduce_to(strategy, MDIST_SUM, values, NULL, 1, &out, NULL, why);
    mdist_variable_destroy(variable);
    mdist_value_destroy(out);
    mdist_value_destroy(value);
    return status;
}

/// The victim makes a wrong call. The others wait for it, and are told what was wrong. After that nobody waits any
/// more.
static void one_calls_wrongly(void) {
    static const char *const functions[] = {
        "mdist_strategy_reduce_to",  "mdist_strategy_gather", "mdist_strategy_reduce",   "mdist_strategy_reduce",
        "mdist_strategy_all_reduce", "mdist_variable_create", "mdist_strategy_reduce_to"};
    for (Wrong wrong = 0; wrong < WRONGS; ++wrong) {
        mdist_strategy_t *strategy = join();
        const mdist_status_t own =
            wrong == BAD_HANDLE || wrong == BAD_BATCH ? MDIST_ERR_BAD_HANDLE : MDIST_ERR_INVALID_ARGUMENT;
        GIVES(MDIST_OK, call_across(strategy, BAD_AXIS, 0, &error));
        GIVES(rank == victim ? own : MDIST_ERR_ABORTED, call_across(strategy, wrong, rank == victim, &error));
        if (rank != victim) REQUIRE(guilty_worker == victim && strstr(message, functions[wrong]) != NULL);
        GIVES(MDIST_ERR_ABORTED, call_across(strategy, BAD_OP, 0, &error));
        mdist_strategy_destroy(strategy);
    }
}

// --- steps that fail

static int32_t barrier_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    return mdist_barrier(replica, NULL, NULL) != MDIST_OK;
}

/// Returns a sentence of the greatest length, made of characters of two bytes.
static const char *why_it_fails(void) {
    static char why[512];
    snprintf(why, sizeof why, "the loss is NaN");
    for (size_t end = strlen(why); end + 2 < sizeof why; end += 2) snprintf(why + end, 3, "\xc3\xa9");
    return why;
}

static int32_t returning_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 1;
    if (rank == victim && mdist_replica_local_index(replica) == 0) {
        mdist_fail(0, why_it_fails());
        return 77;
    }
    return mdist_barrier(replica, NULL, NULL) != MDIST_OK;
}

static mdist_error_t *failure_of(mdist_strategy_t *strategy, mdist_step_fn step, mdist_status_t wanted) {
    mdist_error_t *error = NULL;
    const mdist_status_t status = mdist_run(strategy, step, strategy, NULL, &error);
    if (status != wanted)
        fprintf(stderr, "worker %u: %s, not %s: %s\n", rank, mdist_status_name(status), mdist_status_name(wanted),
                mdist_error_message(error));
    REQUIRE(status == wanted);
    return error;
}

/// Checks what all workers are told: it contains the sentence to its end.
static void require_cause(const mdist_error_t *cause) {
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "the step of replica %u returned 77: %s", first_replica_of[victim],
             why_it_fails());
    REQUIRE(strstr(mdist_error_message(cause), sentence) != NULL);
    REQUIRE(mdist_error_native(cause) == 77);
    REQUIRE(mdist_error_rank(cause) == victim || (rank == victim && mdist_error_rank(cause) == MDIST_NONE));
}

static void one_step_fails(void) {
    mdist_strategy_t *strategy = join();
    mdist_error_t *cause =
        failure_of(strategy, returning_step, rank == victim ? MDIST_ERR_CALLBACK : MDIST_ERR_ABORTED);
    require_cause(cause);
    mdist_error_free(cause);
    GIVES(MDIST_ERR_ABORTED, mdist_run(strategy, barrier_step, NULL, NULL, &error));
    mdist_strategy_destroy(strategy);
}

/// Tests the same with replicas that the program's own thread enters.
static void one_exit_fails(void) {
    mdist_strategy_t *strategy = join();
    mdist_replica_t *replica = NULL;
    mdist_error_t *cause = NULL;
    GIVES(MDIST_OK, mdist_run_begin(strategy, NULL, &error));
    GIVES(MDIST_OK, mdist_replica_enter(strategy, 0, &replica, &error));
    const int32_t code = returning_step(replica, NULL);
    REQUIRE(code == (rank == victim ? 77 : 1));
    GIVES(MDIST_OK, mdist_replica_exit(replica, code, &error));
    REQUIRE(mdist_run_end(strategy, NULL, 0, &cause) == (rank == victim ? MDIST_ERR_CALLBACK : MDIST_ERR_ABORTED));
    require_cause(cause);
    mdist_error_free(cause);
    mdist_strategy_destroy(strategy);
}

static int32_t aborting_step(mdist_replica_t *replica, void *user_data) {
    if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 1;
    if (rank == victim && mdist_replica_local_index(replica) == 0) mdist_strategy_abort(user_data);
    return mdist_barrier(replica, NULL, NULL) != MDIST_OK;
}

static void one_aborts(void) {
    mdist_strategy_t *strategy = join();
    mdist_error_free(failure_of(strategy, aborting_step, MDIST_ERR_ABORTED));
    GIVES(MDIST_ERR_ABORTED, mdist_run(strategy, barrier_step, NULL, NULL, &error));
    mdist_strategy_destroy(strategy);
}

// --- those who are late, or do not come

/// `user_data` is the call that the victim is late for.
static int32_t late_step(mdist_replica_t *replica, void *user_data) {
    char memory[64] = {0};
    if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 1;
    if (rank == victim) outlive_others();
    return make(user_data, replica, memory) != MDIST_OK;
}

static void is_late_for(Call call) {
    mdist_strategy_t *strategy = join();
    if (rank == victim) {
        mdist_error_t *error = NULL;
        const mdist_status_t status = mdist_run(strategy, late_step, &call, NULL, &error);
        REQUIRE(status == MDIST_ERR_TIMEOUT || status == MDIST_ERR_ABORTED);
        REQUIRE_UNLESS_LATE(mdist_error_rank(error) == victim, status);
        mdist_error_free(error);
    } else {
        GIVES(MDIST_ERR_TIMEOUT, mdist_run(strategy, late_step, &call, NULL, &error));
        char words[64];
        snprintf(words, sizeof words, "worker %u (127.", victim);
        const char *const named = strstr(message, words);
        const char *const process = named != NULL ? strstr(named, ", pid ") : NULL;
        if (guilty_worker != victim || process == NULL || strstr(process, "), which has entered ") == NULL) {
            fprintf(stderr, "it names worker %d: %s\n", guilty_worker, message);
            fail_or_late(last_status, "the late one is named, with host and pid and what it has entered", __FILE__,
                         __LINE__);
        }
    }
    mdist_strategy_destroy(strategy);
}

static void one_is_late(void) {
    is_late_for((Call){BARRIER, 0, 0, 0, 0, 0});
}

/// Here some workers do not wait for the late worker itself, but for others that do.
static void one_is_late_for_a_sum(void) {
    is_late_for((Call)SUM_OF(10));
}

static void one_does_not_come(void) {
    if (rank == victim) return;
    mdist_strategy_t *strategy = NULL;
    GIVES(MDIST_ERR_TIMEOUT, mdist_strategy_create(NULL, &strategy, &error));
    REQUIRE(strategy == NULL);
    char words[32];
    snprintf(words, sizeof words, "missing: %u", victim);
    if (strstr(message, words) == NULL) fprintf(stderr, "no \"%s\" in: %s\n", words, message);
    REQUIRE_UNLESS_LATE(strstr(message, words) != NULL, last_status);
}

enum { LONG_BYTES = 1 << 30 };

/// Worker 0 sends what takes many times communication.call_timeout. Bytes move all the time.
static int32_t long_step(mdist_replica_t *replica, void *user_data) {
    float *const values = user_data;
    const mdist_buffer_t buffer = buffer_of(values, MDIST_FLOAT32, LONG_BYTES / sizeof *values);
    mdist_error_t *error = NULL;
    if (rank == 0) values[0] = 1;
    const mdist_status_t status = rank == 0 ? mdist_send(replica, 1, 7, &buffer, NULL, &error)
                                            : mdist_receive(replica, 0, 7, &buffer, NULL, &error);
    REQUIRE_UNLESS_LATE(values[0] == 1, status);
    REQUIRE(status == MDIST_ERR_TIMEOUT || status == MDIST_ERR_ABORTED);
    REQUIRE(strstr(mdist_error_message(error), "communication.call_timeout") != NULL);
    mdist_error_free(error);
    return 1;
}

/// A scenario of tests/netns/networks_test.py, where the wire is slow.
static void a_call_is_too_long(void) {
    mdist_strategy_t *strategy = join();
    float *const values = calloc(LONG_BYTES, 1);
    mdist_error_t *error = NULL;
    REQUIRE(values != NULL);
    REQUIRE(mdist_run(strategy, long_step, values, NULL, &error) != MDIST_OK);
    mdist_error_free(error);
    mdist_strategy_destroy(strategy);
    free(values);
}

/// A scenario of tests/netns/names_test.py.
static void nobody_knows_the_store(void) {
    mdist_strategy_t *strategy = NULL;
    GIVES(MDIST_ERR_NOT_FOUND, mdist_strategy_create(NULL, &strategy, &error));
    REQUIRE(strategy == NULL && strcmp(reason, "name_resolution") == 0);
}

static void all_is_well(void) {
    mdist_strategy_t *strategy = join();
    GIVES(MDIST_OK, mdist_run(strategy, barrier_step, NULL, NULL, &error));
    mdist_strategy_destroy(strategy);
}

/// The victim, which is not the chief, is refused with the line that differs. The chief reports that while it waits.
static void differs_in(const char *key, const char *value, const char *words) {
    mdist_config_t *config = NULL;
    mdist_strategy_t *strategy = NULL;
    GIVES(MDIST_OK, mdist_config_create(&config, &error));
    GIVES(MDIST_OK, mdist_config_load_environment(config, &error));
    if (rank == victim) {
        GIVES(MDIST_OK, mdist_config_set(config, key, value, &error));
        GIVES(MDIST_ERR_CONFIG, mdist_strategy_create(config, &strategy, &error));
        if (strstr(message, words) == NULL) fprintf(stderr, "no \"%s\" in: %s\n", words, message);
        REQUIRE(strstr(message, words) != NULL);
    } else {
        GIVES(MDIST_ERR_TIMEOUT, mdist_strategy_create(config, &strategy, &error));
        REQUIRE_UNLESS_LATE(strstr(message, "missing: 1 (refused") != NULL, last_status);
    }
    REQUIRE(strategy == NULL);
    mdist_config_destroy(config);
}

static void one_has_other_replicas(void) {
    differs_in("devices", "cpu*2", "replicas on each worker");
}

static void one_has_another_order(void) {
    differs_in("data.order", "replica", "data.order");
}

static void one_would_be_led(void) {
    differs_in("strategy", "in_graph", "strategy = in_graph");
}

// --- the tests

/// `limit` is the variable of a time limit that is to run out, or NULL.
static void check(const char *scenario, uint32_t workers, const char *devices, uint32_t victim_rank, const char *limit,
                  const char *variable) {
    const char *const environment[] = {variable, NULL};
    const Workers job = {
        .scenario = scenario, .count = workers, .devices = devices, .environment = environment, .victim = victim_rank};
    if ((limit != NULL ? run_workers_in_time(&job, limit) : run_workers(&job)) == 0) return;
    print_error("%s: %u workers with %s, victim %u\n", scenario, workers, devices, victim_rank);
    fail();
}

#define SOCKETS "MDIST_COMMUNICATION_IMPLEMENTATION=tcp"
#define SOON "MDIST_COMMUNICATION_TIMEOUT"
#define JOIN_SOON "MDIST_COMMUNICATION_JOIN_TIMEOUT"

static void calls_that_differ_are_told_to_all(void **unused) {
    (void)unused;
    check("differ", 2, "cpu*1", 1, NULL, NULL);
    check("differ", 3, "cpu*2", 0, NULL, NULL);
    check("differ", 4, "cpu*1", 2, NULL, SOCKETS);
    check("differ", 3, "cpu*3|cpu*1|cpu*2", 1, NULL, NULL);
}

static void wrong_arguments_of_one_worker_are_told_to_all(void **unused) {
    (void)unused;
    check("one_calls_wrongly", 3, "cpu*1", 1, NULL, NULL);
    check("one_calls_wrongly", 2, "cpu*2", 0, NULL, SOCKETS);
}

static void a_step_that_fails_is_told_to_all(void **unused) {
    (void)unused;
    check("one_step_fails", 2, "cpu*1", 0, NULL, NULL);
    check("one_step_fails", 3, "cpu*2", 2, NULL, SOCKETS);
    check("one_step_fails", 3, "cpu*1|cpu*4|cpu*2", 2, NULL, SOCKETS);
    check("one_exit_fails", 3, "cpu*1", 1, NULL, NULL);
}

static void one_that_aborts_ends_it_for_all(void **unused) {
    (void)unused;
    check("one_aborts", 3, "cpu*1", 1, NULL, NULL);
    check("one_aborts", 2, "cpu*2", 0, NULL, SOCKETS);
    check("one_aborts", 3, "cpu*3|cpu*3|cpu*1", 2, NULL, NULL);
}

static void one_that_is_late_is_named(void **unused) {
    (void)unused;
    check("one_is_late", 3, "cpu*1", 1, SOON, NULL);
    check("one_is_late", 2, "cpu*2", 0, SOON, SOCKETS);
    check("one_is_late_for_a_sum", 5, "cpu*1", 3, SOON, SOCKETS);
    check("one_is_late_for_a_sum", 4, "cpu*1", 0, SOON, SOCKETS);
}

static void one_that_does_not_come_is_named(void **unused) {
    (void)unused;
    check("one_does_not_come", 3, "cpu*1", 1, JOIN_SOON, NULL);
    check("one_does_not_come", 2, "cpu*1", 0, JOIN_SOON, NULL);
}

static void one_configured_differently_is_refused(void **unused) {
    (void)unused;
    check("one_has_other_replicas", 2, "cpu*1", 1, JOIN_SOON, NULL);
    check("one_has_another_order", 2, "cpu*1", 1, JOIN_SOON, NULL);
    check("one_would_be_led", 2, "cpu*1", 1, JOIN_SOON, NULL);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_differ_are_told_to_all),
        cmocka_unit_test(wrong_arguments_of_one_worker_are_told_to_all),
        cmocka_unit_test(a_step_that_fails_is_told_to_all),
        cmocka_unit_test(one_that_aborts_ends_it_for_all),
        cmocka_unit_test(one_that_is_late_is_named),
        cmocka_unit_test(one_that_does_not_come_is_named),
        cmocka_unit_test(one_configured_differently_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {
        {"differ", differ},
        {"one_calls_wrongly", one_calls_wrongly},
        {"one_step_fails", one_step_fails},
        {"one_exit_fails", one_exit_fails},
        {"one_aborts", one_aborts},
        {"one_is_late", one_is_late},
        {"one_is_late_for_a_sum", one_is_late_for_a_sum},
        {"one_does_not_come", one_does_not_come},
        {"nobody_knows_the_store", nobody_knows_the_store},
        {"a_call_is_too_long", a_call_is_too_long},
        {"all_is_well", all_is_well},
        {"one_has_other_replicas", one_has_other_replicas},
        {"one_has_another_order", one_has_another_order},
        {"one_would_be_led", one_would_be_led},
    };
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
