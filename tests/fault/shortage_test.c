// SPDX-License-Identifier: Apache-2.0
// A whole life of strategy, variables, values and datasets, with every single request for memory or threads refused in
// turn: always a status with an error to read, never a crash, a deadlock or a leak (the last by AddressSanitizer).
#include "mdist_test.h"
#include "started.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "shortage.h"

enum { REPLICAS = 3, LARGE = 6000, ROWS = 12 };

typedef struct Life {
    mdist_config_t *config;
    mdist_strategy_t *strategy;
    mdist_variable_t *variable;
    mdist_gradients_t *gradients;
    mdist_value_t *argument, *result, *reduced, *gathered, *read, *mirrored;
    mdist_dataset_t *datasets[6];
    mdist_iterator_t *iterator, *of_function;
    mdist_value_t *element;
    mdist_status_t status; // the first that failed
    const char *call;
    char wrong[256]; // what is not as promised; nothing may be asserted, nor memory asked for, during a shortage
    atomic_int step_wrong;
    atomic_int aborted; // since a replica could not enter
} Life;

static float rows[ROWS];

/// Keeps the first failure, and checks that it comes with its story.
static int went(Life *self, const char *call, mdist_status_t status, mdist_error_t *error) {
    if (status >= 0 && error == NULL) return 1;
    if (self->status == 0) {
        self->status = status;
        self->call = call;
    }
    if (status >= 0 || error == NULL || mdist_error_status(error) != status)
        snprintf(self->wrong, sizeof self->wrong, "%s gave %d, and its error %d", call, (int)status,
                 (int)mdist_error_status(error));
    else if (status != MDIST_ERR_CALLBACK && mdist_error_message(error)[0] == '\0')
        snprintf(self->wrong, sizeof self->wrong, "%s gave %d without a word", call, (int)status);
    mdist_error_free(error);
    return 0;
}

#define GO(call)                                       \
    do {                                               \
        mdist_error_t *error = NULL;                   \
        const mdist_status_t status = (call);          \
        if (!went(life, #call, status, error)) return; \
    } while (0)

static int32_t nested(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    return mdist_barrier(replica, NULL, NULL) == MDIST_OK ? 0 : 1;
}

static int32_t merge(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                     mdist_value_t **results, size_t result_count, void *user_data) {
    (void)argument_count, (void)result_count, (void)user_data;
    if (mdist_run(strategy, nested, NULL, NULL, NULL) != MDIST_OK) return 1;
    return mdist_strategy_reduce(strategy, MDIST_SUM, arguments[0], &results[0], NULL, NULL) == MDIST_OK ? 0 : 2;
}

/// Replica 0 asks until the round has ended, the others wait.
static mdist_status_t end_round(mdist_replica_t *replica, Life *life, mdist_error_t **error) {
    if (mdist_replica_id(replica) != 0) return mdist_gradients_wait(replica, life->gradients, NULL, NULL, error);
    mdist_status_t status = MDIST_OK;
    for (int32_t done = 0; status == MDIST_OK && !done; sched_yield())
        status = mdist_gradients_test(replica, life->gradients, &done, NULL, NULL, error);
    return status;
}

/// Two rounds of two gradients, in different orders.
static mdist_status_t reduce_gradients(mdist_replica_t *replica, Life *life, mdist_error_t **error) {
    const size_t first = (size_t)mdist_replica_id(replica) % 2;
    mdist_tensor_t tensors[2];
    mdist_status_t status = MDIST_OK;
    for (size_t g = 0; g < 2 && status == MDIST_OK; ++g)
        status = mdist_gradients_tensor(life->gradients, mdist_replica_local_index(replica), g, &tensors[g], error);
    for (int round = 0; round < 2 && status == MDIST_OK; ++round) {
        for (int g = 0; g < 2; ++g) *(float *)tensors[g].data = 1;
        if (round == 0) status = mdist_gradients_accumulate(replica, life->gradients, error);
        if (status == MDIST_OK) status = mdist_gradients_ready(replica, life->gradients, first, error);
        if (status == MDIST_OK) status = mdist_gradients_ready(replica, life->gradients, 1 - first, error);
        if (status == MDIST_OK) status = end_round(replica, life, error);
    }
    if (status == MDIST_OK && (*(float *)tensors[0].data != 6 || *(float *)tensors[1].data != 6)) life->step_wrong = 4;
    return status;
}

static int32_t work(mdist_replica_t *replica, void *user_data) {
    Life *life = user_data;
    const float id = (float)mdist_replica_id(replica);
    mdist_tensor_t in, merged;
    float large[LARGE], out[LARGE], number = id;
    mdist_error_t *error = NULL;
    for (int i = 0; i < LARGE; ++i) large[i] = id;
    const mdist_buffer_t small = buffer_of(&number, MDIST_FLOAT32, 1);
    const mdist_buffer_t from = buffer_of(large, MDIST_FLOAT32, LARGE), to = buffer_of(out, MDIST_FLOAT32, LARGE);
    const mdist_tensor_t tensor = tensor_of(&number, MDIST_FLOAT32, 0);
    mdist_status_t status = mdist_replica_argument(replica, 0, NULL, &in, &error);
    if (status == MDIST_OK) status = mdist_all_reduce(replica, MDIST_SUM, &small, &small, 1, NULL, &error);
    if (status == MDIST_OK) status = mdist_all_reduce(replica, MDIST_SUM, &from, &to, 1, NULL, &error);
    if (status == MDIST_OK && (number != 3 || out[0] != 3 || out[LARGE - 1] != 3)) life->step_wrong = 1;
    if (status == MDIST_OK) status = mdist_merge_call(replica, merge, NULL, &tensor, 1, &merged, 1, NULL, &error);
    if (status == MDIST_OK && *(float *)merged.data != 9) life->step_wrong = 2;
    if (status == MDIST_OK)
        status = mdist_replica_assign(replica, life->variable, MDIST_ASSIGN_ADD, &tensor, NULL, &error);
    if (status == MDIST_OK) status = reduce_gradients(replica, life, &error);
    if (status == MDIST_OK) status = mdist_replica_set_result(replica, 0, NULL, &tensor, &error);
    if ((status == MDIST_OK) != (error == NULL)) life->step_wrong = 3;
    mdist_error_free(error);
    return status == MDIST_OK ? 0 : 1;
}

static void read_data(Life *life) {
    const mdist_tensor_t array = tensor_of(rows, MDIST_FLOAT32, ROWS);
    mdist_dataset_t **sets = life->datasets;
    GO(mdist_dataset_from_tensors(&array, 1, NULL, NULL, &sets[0], NULL, &error));
    GO(mdist_dataset_shuffle(sets[0], 4, 7, &sets[1], NULL, &error));
    GO(mdist_dataset_batch(sets[1], 6, &sets[2], NULL, &error));
    GO(mdist_dataset_prefetch(sets[2], 2, &sets[3], NULL, &error));
    GO(mdist_distribute_dataset(life->strategy, sets[3], &sets[4], NULL, &error));
    GO(mdist_iterator_create(sets[4], &life->iterator, &error));
    for (int batch = 0; batch <= ROWS / 6; ++batch) {
        mdist_value_destroy(life->element);
        life->element = NULL;
        GO(mdist_iterator_next(life->iterator, &life->element, 1, &error));
    }
}

static int32_t make_batches(const mdist_input_context_t *context, mdist_dataset_t **out, void *user_data) {
    Life *life = user_data;
    mdist_dataset_t *batches = NULL;
    mdist_status_t status = mdist_dataset_batch(life->datasets[1], 5, &batches, NULL, NULL);
    if (status == MDIST_OK)
        status = mdist_dataset_shard(batches, context->pipeline_count, context->pipeline, out, NULL, NULL);
    mdist_dataset_destroy(batches);
    return status != MDIST_OK;
}

static void read_data_of_function(Life *life) {
    const mdist_input_options_t options = {
        .struct_size = sizeof options, .replication_mode = MDIST_REPLICATION_PER_REPLICA, .fetch_to_device = 1};
    char text[64];
    uint64_t seen[REPLICAS];
    GO(mdist_distribute_from_function(life->strategy, make_batches, life, &life->datasets[5], &options, &error));
    GO(mdist_dataset_explain(life->datasets[5], text, sizeof text, NULL, &error));
    GO(mdist_iterator_create(life->datasets[5], &life->of_function, &error));
    mdist_value_destroy(life->element);
    life->element = NULL;
    GO(mdist_iterator_next(life->of_function, &life->element, 1, &error));
    GO(mdist_iterator_row_counts(life->of_function, seen, REPLICAS, &error));
    if (seen[0] != 5 || seen[1] != 5 || seen[2] != 2) snprintf(life->wrong, sizeof life->wrong, "wrong rows");
}

static void live(Life *life) {
    float one = 1;
    mdist_tensor_t seen;
    const mdist_tensor_t scalar = tensor_of(&one, MDIST_FLOAT32, 0);
    const mdist_tensor_t alike[2] = {scalar, scalar};
    const mdist_variable_options_t options = {.struct_size = sizeof options, .aggregation = MDIST_AGGREGATION_MEAN};
    const mdist_gradients_options_t buckets = {.struct_size = sizeof buckets, .bucket_bytes = 1};
    GO(mdist_config_create(&life->config, &error));
    GO(mdist_config_set(life->config, "devices", "cpu*3", &error));
    GO(mdist_config_load_text(life->config, "communication:\n  timeout: 100s\n", 31, &error));
    GO(mdist_strategy_create(life->config, &life->strategy, &error));
    GO(mdist_variable_create(life->strategy, "a variable with a long name", &scalar, &life->variable, &options,
                             &error));
    GO(mdist_gradients_create(life->strategy, alike, 2, &life->gradients, &buckets, &error));
    GO(mdist_value_create(&scalar, &life->argument, &error));
    GO(mdist_run(life->strategy, work, life,
                 &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &life->argument, .argument_count = 1,
                                   .results = &life->result, .result_count = 1},
                 &error));
    GO(mdist_strategy_reduce(life->strategy, MDIST_SUM, life->result, &life->reduced, NULL, &error));
    GO(mdist_strategy_broadcast(life->strategy, &scalar, &life->mirrored, &error));
    GO(mdist_variable_read(life->variable, &life->read, NULL, &error));
    GO(mdist_value_tensor(life->reduced, 0, &seen, &error));
    if (*(float *)seen.data != 9) snprintf(life->wrong, sizeof life->wrong, "a wrong sum");
    GO(mdist_value_tensor(life->read, 0, &seen, &error));
    if (*(float *)seen.data != 4) snprintf(life->wrong, sizeof life->wrong, "a wrong variable");
    read_data(life);
    if (life->status == 0) read_data_of_function(life);
}

// ---- The same in brackets, on threads of the test's own.

typedef struct Own {
    Life *life;
    uint32_t local;
    mdist_status_t status; // of what the replica did
    const char *call;
    int wrong;
} Own;

#define DO(function)                                                      \
    do {                                                                  \
        mdist_error_t *error = NULL;                                      \
        own->status = (function);                                         \
        if ((own->status == MDIST_OK) != (error == NULL)) own->wrong = 1; \
        if (mdist_error_status(error) != own->status) own->wrong = 2;     \
        mdist_error_free(error);                                          \
        if (own->status != MDIST_OK) own->call = #function;               \
        if (own->status != MDIST_OK) return;                              \
    } while (0)

static void do_step(Own *own, mdist_replica_t *replica) {
    float *large = NULL, one = 1;
    int32_t done = 0;
    mdist_work_t *work = NULL;
    mdist_value_t *values[1] = {NULL}, *sum = NULL, *none = NULL;
    mdist_tensor_t result;
    const mdist_tensor_t tensor = tensor_of(&one, MDIST_FLOAT32, 0);
    mdist_status_t status = mdist_alloc(own->life->strategy, own->local, LARGE * sizeof *large, (void **)&large, NULL);
    if (status != MDIST_OK) {
        own->status = status;
        return;
    }
    for (int i = 0; i < LARGE; ++i) large[i] = 1;
    const mdist_buffer_t buffer = buffer_of(large, MDIST_FLOAT32, LARGE);
    status = start_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, &work, NULL, NULL);
    if (status == MDIST_OK) status = mdist_work_wait(work, MDIST_FOREVER, &done, NULL);
    mdist_work_destroy(work);
    if (status == MDIST_OK && (large[0] != REPLICAS || large[LARGE - 1] != REPLICAS || !done)) own->wrong = 3;
    mdist_free(large);
    own->status = status;
    if (status != MDIST_OK) return;
    DO(mdist_merge_begin(replica, &tensor, 1, values, NULL, &error));
    if (own->local == 0) {
        mdist_run(own->life->strategy, nested, NULL, NULL, NULL);
        if (mdist_run_begin(own->life->strategy, NULL, NULL) == MDIST_OK)
            mdist_run_end(own->life->strategy, NULL, 0, NULL);
        status = mdist_strategy_reduce(own->life->strategy, MDIST_SUM, values[0], &sum, NULL, NULL);
    }
    own->status =
        mdist_merge_end(replica, status == MDIST_OK ? 0 : 5, own->local == 0 ? &sum : &none, &result, 1, NULL);
    if (own->status == MDIST_OK && *(float *)result.data != REPLICAS) own->wrong = 4;
    mdist_value_destroy(values[0]);
    mdist_value_destroy(sum);
    if (own->status != MDIST_OK) return;
    DO(mdist_merge_call(replica, merge, NULL, &tensor, 1, &result, 1, NULL, &error));
    DO(mdist_replica_set_result(replica, 0, NULL, &tensor, &error));
}

static void *enter_and_do(void *argument) {
    Own *own = argument;
    mdist_replica_t *replica = NULL;
    own->status = mdist_replica_enter(own->life->strategy, own->local, &replica, NULL);
    if (own->status != MDIST_OK) {
        own->life->aborted = 1;
        mdist_strategy_abort(own->life->strategy); // or the others wait for it
        return NULL;
    }
    do_step(own, replica);
    mdist_replica_exit(replica, own->status == MDIST_OK ? 0 : 6, NULL);
    if (mdist_replica_id(replica) != MDIST_NONE) own->wrong = 5;
    return NULL;
}

static pthread_barrier_t before, after;
static Own owns[REPLICAS];
static atomic_int no_more;

/// Threads that are there before the shortage: their own memory is not what is asked about.
static void *persist(void *argument) {
    Own *own = argument;
    for (;;) {
        pthread_barrier_wait(&before);
        if (no_more) return NULL;
        enter_and_do(own);
        pthread_barrier_wait(&after);
    }
}

static void live_in_brackets(Life *life) {
    const mdist_call_options_t soon = {.struct_size = sizeof soon, .timeout_ns = 100000000000u};
    GO(mdist_config_create(&life->config, &error));
    GO(mdist_config_set(life->config, "devices", "cpu*3", &error));
    GO(mdist_strategy_create(life->config, &life->strategy, &error));
    GO(mdist_run_begin(life->strategy,
                       &(mdist_run_io_t){sizeof(mdist_run_io_t), .result_count = 1, .timeout_ns = soon.timeout_ns},
                       &error));
    for (uint32_t i = 0; i < REPLICAS; ++i) owns[i] = (Own){.life = life, .local = i};
    pthread_barrier_wait(&before);
    pthread_barrier_wait(&after);
    for (uint32_t i = 0; i < REPLICAS; ++i)
        if (owns[i].wrong != 0) snprintf(life->wrong, sizeof life->wrong, "replica %u: %d", (unsigned)i, owns[i].wrong);
    // One that could not enter is missing, and the others waited in vain or were let go.
    GO(mdist_run_end(life->strategy, &life->result, 1, &error));
    for (uint32_t i = 0; i < REPLICAS; ++i)
        if (owns[i].status != MDIST_OK)
            snprintf(life->wrong, sizeof life->wrong, "the run went well, and replica %u gave %d", (unsigned)i,
                     (int)owns[i].status);
}

static void end(Life *life) {
    mdist_value_destroy(life->element);
    mdist_iterator_destroy(life->iterator);
    mdist_iterator_destroy(life->of_function);
    for (int i = 0; i < 6; ++i) mdist_dataset_destroy(life->datasets[i]);
    mdist_strategy_abort(life->strategy);
    mdist_strategy_destroy(life->strategy);
    mdist_variable_destroy(life->variable);
    mdist_gradients_destroy(life->gradients);
    mdist_value_destroy(life->argument);
    mdist_value_destroy(life->result);
    mdist_value_destroy(life->reduced);
    mdist_value_destroy(life->gathered);
    mdist_value_destroy(life->read);
    mdist_value_destroy(life->mirrored);
    mdist_config_destroy(life->config);
}

static void live_and_end(Life *life, void (*live_how)(Life *)) {
    live_how(life);
    if (life->step_wrong != 0) snprintf(life->wrong, sizeof life->wrong, "step: %d", life->step_wrong);
    end(life);
}

/// Lives with the nth request refused, for nth from 1 on until one life needs no more than it got.
static void live_through(void (*live_how)(Life *), ShortOf what, int for_good, mdist_status_t wanted, uint64_t stride) {
    Life easy = {0};
    live_and_end(&easy, live_how); // what is made once in a process is there now
    if (easy.status != 0) fail_msg("%s gave %s with all it needs", easy.call, mdist_status_name(easy.status));
    assert_string_equal(easy.wrong, "");
    uint64_t refused = 1, nth = 1;
    for (; refused != 0; nth += stride) {
        Life life = {0};
        shortage_start(what, nth, for_good);
        live_and_end(&life, live_how);
        refused = shortage_stop();
        const char *name = life.call == NULL ? "nothing" : life.call;
        if (life.wrong[0] != '\0') fail_msg("request %llu: %s", (unsigned long long)nth, life.wrong);
        const int expected = life.status == wanted || life.status == MDIST_ERR_CALLBACK ||
                             (life.aborted && life.status == MDIST_ERR_ABORTED);
        if (life.status != 0 && !expected)
            fail_msg("request %llu: %s gave %s", (unsigned long long)nth, name, mdist_status_name(life.status));
        if (refused == 0) assert_int_equal(life.status, 0);
    }
    print_message("# %llu requests\n", (unsigned long long)nth - 1);
}

/// Skips where exceptions without memory end the process: libc++ has 512 bytes for them (libstdc++ some 70 KiB).
static void need_reserve(void) {
#ifdef MDIST_TEST_LIBCXX
    skip();
#endif
}

static void brackets_live_with_little_memory_too(void **state) {
    (void)state;
    need_reserve();
    pthread_t threads[REPLICAS];
    pthread_barrier_init(&before, NULL, REPLICAS + 1);
    pthread_barrier_init(&after, NULL, REPLICAS + 1);
    for (uint32_t i = 0; i < REPLICAS; ++i) assert_int_equal(pthread_create(&threads[i], NULL, persist, &owns[i]), 0);
    live_through(live_in_brackets, SHORT_OF_MEMORY, 0, MDIST_ERR_OUT_OF_MEMORY, 1);
    live_through(live_in_brackets, SHORT_OF_MEMORY, 1, MDIST_ERR_OUT_OF_MEMORY, 1);
    no_more = 1;
    pthread_barrier_wait(&before);
    for (uint32_t i = 0; i < REPLICAS; ++i) pthread_join(threads[i], NULL);
}

static void each_request_for_memory_may_be_refused(void **state) {
    (void)state;
    live_through(live, SHORT_OF_MEMORY, 0, MDIST_ERR_OUT_OF_MEMORY, 1);
}

static void memory_may_run_out_at_any_moment(void **state) {
    (void)state;
    need_reserve();
    live_through(live, SHORT_OF_MEMORY, 1, MDIST_ERR_OUT_OF_MEMORY, 1);
}

static void live_alone(Life *life) {
    GO(mdist_strategy_create(NULL, &life->strategy, &error));
}

static void a_cluster_is_read_with_little_memory_too(void **state) {
    (void)state;
    const char *const cluster =
        "{\"cluster\": {\"worker\": [\"alpha:7000\", \"beta:7000\"], \"evaluator\": [\"gamma:7000\"]},"
        " \"task\": {\"type\": \"evaluator\", \"index\": 0}, \"more\": [1, [2, {\"a\": null}]]}";
    setenv("TF_CONFIG", cluster, 1);
    live_through(live_alone, SHORT_OF_MEMORY, 0, MDIST_ERR_OUT_OF_MEMORY, 1);
    live_through(live_alone, SHORT_OF_MEMORY, 1, MDIST_ERR_OUT_OF_MEMORY, 1);
    unsetenv("TF_CONFIG");
}

static void each_thread_may_be_refused(void **state) {
    (void)state;
    live_through(live, SHORT_OF_THREADS, 0, MDIST_ERR_RESOURCE, 1);
    live_through(live, SHORT_OF_THREADS, 1, MDIST_ERR_RESOURCE, 1);
}

static int32_t end_thread(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    if (mdist_replica_id(replica) != 0) pthread_exit(NULL);
    return 0;
}

static void a_thread_that_cannot_be_replaced_is_asked_for_again(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(REPLICAS, NULL);
    for (uint64_t nth = 1; nth < REPLICAS; ++nth) {
        FAILS(MDIST_ERR_CALLBACK, mdist_run(strategy, end_thread, NULL, NULL, &error));
        shortage_start(SHORT_OF_THREADS, nth, 0);
        const mdist_status_t status = mdist_run(strategy, nested, NULL, NULL, &error);
        assert_int_equal(shortage_stop(), 1);
        assert_int_equal(status, MDIST_ERR_RESOURCE);
        assert_int_equal(mdist_error_native(error), 11); // EAGAIN
        mdist_error_free(error);
        OK(mdist_run(strategy, nested, NULL, NULL, &error));
    }
    FAILS(MDIST_ERR_CALLBACK, mdist_run(strategy, end_thread, NULL, NULL, &error));
    mdist_strategy_destroy(strategy);
}

// ---- Failures that need words for which there is no memory.

static int32_t fail_somehow(mdist_replica_t *replica, void *user_data) {
    const int mode = *(const int *)user_data;
    const int32_t id = mdist_replica_id(replica);
    const mdist_call_options_t options = {.struct_size = sizeof options, .timeout_ns = 100000000000u};
    if (mode == 0 && id == 1) return 5;
    if (mode == 1 && id == 1) return 0; // leaves early
    if (mode == 2) {
        float number = 0;
        const mdist_buffer_t buffer = buffer_of(&number, id == 1 ? MDIST_FLOAT32 : MDIST_INT32, 1);
        mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL);
        return 0;
    }
    if (mode == 3 && id == 1) pthread_exit(NULL);
    mdist_barrier(replica, &options, NULL);
    return 0;
}

static void a_failure_without_memory_for_its_words_is_one_all_the_same(void **state) {
    (void)state;
    need_reserve();
    mdist_error_t *error = NULL;
    for (int mode = 0; mode < 4; ++mode) {
        for (int for_good = 0; for_good < 2; ++for_good) {
            mdist_strategy_t *strategy = make_strategy(REPLICAS, NULL);
            OK(mdist_run(strategy, nested, NULL, NULL, &error));
            uint64_t refused = 1;
            for (uint64_t nth = 1; refused != 0; ++nth) {
                shortage_start(SHORT_OF_MEMORY, nth, for_good);
                const mdist_status_t status = mdist_run(strategy, fail_somehow, &mode, NULL, &error);
                refused = shortage_stop();
                assert_true(status < 0);
                assert_int_equal(mdist_error_status(error), status);
                const mdist_status_t full = mode == 0 || mode == 3 ? MDIST_ERR_CALLBACK : MDIST_ERR_MISMATCH;
                if (refused == 0) assert_int_equal(status, full);
                if (status != full) assert_int_equal(status, MDIST_ERR_OUT_OF_MEMORY);
                mdist_error_free(error);
                error = NULL;
                OK(mdist_run(strategy, nested, NULL, NULL, &error)); // all is well again
            }
            mdist_strategy_destroy(strategy);
        }
    }
}

static void an_abort_needs_no_memory(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint64_t nth = 1; nth < 6; ++nth) {
        mdist_strategy_t *strategy = make_strategy(2, NULL);
        shortage_start(SHORT_OF_MEMORY, nth, 1);
        mdist_strategy_abort(strategy);
        shortage_stop();
        FAILS(MDIST_ERR_ABORTED, mdist_run(strategy, nested, NULL, NULL, &error));
        mdist_strategy_destroy(strategy);
    }
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_request_for_memory_may_be_refused),
        cmocka_unit_test(memory_may_run_out_at_any_moment),
        cmocka_unit_test(brackets_live_with_little_memory_too),
        cmocka_unit_test(a_cluster_is_read_with_little_memory_too),
        cmocka_unit_test(each_thread_may_be_refused),
        cmocka_unit_test(a_thread_that_cannot_be_replaced_is_asked_for_again),
        cmocka_unit_test(a_failure_without_memory_for_its_words_is_one_all_the_same),
        cmocka_unit_test(an_abort_needs_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
