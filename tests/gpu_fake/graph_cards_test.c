// SPDX-License-Identifier: Apache-2.0
// Recorded parts of steps on several cards of a process, with NCCL: each replica launches a graph of its own, and the
// collectives between them are in all of these graphs. A card runs one communicator's kernels at a time here, so
// launches of two strategies that nobody orders would wait for each other.
#include "gpu_support.h"
#include "started.h"

#include <pthread.h>

enum { kCount = 100, kMost = 4 };

typedef struct Card {
    mdist_tensor_t numbers, ones, sum, parts;
    int calls; // how often the body was called
    Note note;
    char message[512];
} Card;

typedef struct World {
    mdist_strategy_t *strategy;
    uint32_t replicas;
    Card cards[kMost];
    uint64_t key;
    mdist_step_fn body;
    uint32_t which;    // the replica that does something else
    uint64_t limit_ns; // of a run; 0: that of the strategy
} World;

static World make(const char *devices, mdist_step_fn body) {
    mdist_error_t *error = NULL;
    float ones[kCount];
    mdist_config_t *config = gpu_config(devices);
    OK(mdist_config_set(config, "communication.implementation", "nccl", &error));
    OK(mdist_config_set(config, "communication.timeout", "60s", &error));
    World self = {.strategy = strategy_by(config), .body = body, .which = 1};
    self.replicas = mdist_strategy_replica_count(self.strategy);
    for (int i = 0; i < kCount; ++i) ones[i] = 1;
    for (uint32_t r = 0; r < self.replicas; ++r) {
        const int32_t gpu = devices[6 * r + 4] - '0';
        self.cards[r].numbers = floats_on(self.strategy, r, NULL, kCount, gpu);
        self.cards[r].ones = floats_on(self.strategy, r, ones, kCount, gpu);
        self.cards[r].sum = floats_on(self.strategy, r, NULL, kCount, gpu);
        self.cards[r].parts = floats_on(self.strategy, r, NULL, (uint64_t)kCount * self.replicas, gpu);
        const mdist_tensor_t zeros = self.cards[r].sum, to = self.cards[r].numbers;
        OK(mdist_tensor_copy(&to, &zeros, &error));
    }
    return self;
}

static void end(World *self) {
    for (uint32_t r = 0; r < self->replicas; ++r) {
        mdist_free(self->cards[r].numbers.data);
        mdist_free(self->cards[r].ones.data);
        mdist_free(self->cards[r].sum.data);
        mdist_free(self->cards[r].parts.data);
    }
    mdist_strategy_destroy(self->strategy);
    expect_no_problems();
}

static void expect_nothing_left(void **state) {
    (void)state;
    fake_gpu_live live;
    fake->live(&live);
    assert_int_equal(live.graphs, 0);
    assert_int_equal(live.comms, 0);
}

static mdist_status_t run(World *self, mdist_step_fn step) {
    mdist_error_t *error = NULL;
    const mdist_call_options_t options = {.struct_size = sizeof options, .timeout_ns = self->limit_ns};
    const mdist_status_t status =
        mdist_run(self->strategy, step, self,
                  &(mdist_run_io_t){sizeof(mdist_run_io_t), .timeout_ns = options.timeout_ns}, &error);
    mdist_error_free(error);
    return status;
}

static void expect_ok(World *self, mdist_step_fn step) {
    const mdist_status_t status = run(self, step);
    for (uint32_t r = 0; r < self->replicas; ++r) assert_string_equal(self->cards[r].note.text, "");
    assert_int_equal(status, MDIST_OK);
}

static Card *card_of(mdist_replica_t *replica, World *self) {
    return &self->cards[mdist_replica_local_index(replica)];
}

static mdist_buffer_t buffer(const mdist_tensor_t *tensor) {
    return buffer_of(tensor->data, MDIST_FLOAT32, mdist_tensor_elements(tensor));
}

/// numbers += (id + 1) * ones, by kernels of the step's own.
static int32_t add_up(mdist_replica_t *replica, Card *card) {
    mdist_error_t *error = NULL;
    void *stream = NULL;
    note(&card->note, MDIST_OK, mdist_replica_stream(replica, &stream, &error), &error, "stream");
    for (uint32_t i = 0; i <= mdist_replica_id(replica); ++i)
        if (combine_floats(MDIST_SUM, &card->numbers, &card->ones, kCount, stream) != 0) return 1;
    return 0;
}

/// Kernels, then a gather, a started sum, and a mean of that, which reads what the others have written.
static int32_t count_up(mdist_replica_t *replica, void *user_data) {
    Card *const card = card_of(replica, user_data);
    mdist_error_t *error = NULL;
    mdist_work_t *work = NULL;
    int32_t done = 0;
    ++card->calls;
    if (add_up(replica, card) != 0) return 9;
    const mdist_buffer_t numbers = buffer(&card->numbers), sum = buffer(&card->sum), parts = buffer(&card->parts);
    note(&card->note, MDIST_OK, mdist_all_gather(replica, &numbers, &parts, 1, NULL, &error), &error, "gather");
    note(&card->note, MDIST_OK, start_all_reduce(replica, MDIST_SUM, &numbers, &sum, 1, &work, NULL, &error), &error,
         "start");
    note(&card->note, MDIST_OK, mdist_work_wait(work, MDIST_FOREVER, &done, &error), &error, "wait");
    mdist_work_destroy(work);
    note(&card->note, MDIST_OK, mdist_all_reduce(replica, MDIST_MEAN, &sum, &sum, 1, NULL, &error), &error, "mean");
    return 0;
}

static int32_t by_graph(mdist_replica_t *replica, void *user_data) {
    World *const self = user_data;
    mdist_error_t *error = NULL;
    note(&card_of(replica, self)->note, MDIST_OK, mdist_replica_graph(replica, self->key, self->body, self, &error),
         &error, "graph");
    return 0;
}

static int32_t between(mdist_replica_t *replica, void *user_data) {
    World *const self = user_data;
    Note *const told = &card_of(replica, self)->note;
    mdist_error_t *error = NULL;
    int32_t record = 0;
    note(told, MDIST_OK, mdist_replica_graph_begin(replica, self->key, &record, &error), &error, "begin");
    if (record != 0 && self->body(replica, self) != 0) return 1;
    note(told, MDIST_OK, mdist_replica_graph_end(replica, &error), &error, "end");
    return 0;
}

/// What count_up() leaves after so many times: gathered numbers, and their sum on every card.
static void expect_counted(const World *self, int times, int calls) {
    for (uint32_t r = 0; r < self->replicas; ++r) {
        const Card *const card = &self->cards[r];
        float parts[kCount * kMost];
        assert_int_equal(card->calls, calls);
        expect_floats(&card->sum, (float)(times * (int)(self->replicas * (self->replicas + 1) / 2)));
        floats_of(&card->parts, parts);
        for (uint32_t i = 0; i < kCount * self->replicas; ++i)
            assert_true(parts[i] == (float)(times * (int)(i / kCount + 1)));
    }
}

static void each_card_launches_what_it_recorded(void **state) {
    (void)state;
    const char *const devices[] = {"gpu:0", "gpu:0,gpu:1", "gpu:3,gpu:1,gpu:2", "gpu:0,gpu:1,gpu:2,gpu:3"};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; ++i) {
        World world = make(devices[i], count_up);
        for (int round = 1; round <= 20; ++round) {
            world.key = (uint64_t)round % 2;
            expect_ok(&world, round % 3 == 0 ? between : by_graph);
            expect_counted(&world, round, round < 2 ? 1 : 2);
        }
        expect_ok(&world, count_up); // in line with work that is not recorded
        expect_counted(&world, 21, 3);
        end(&world);
    }
}

/// Keeps what one collective says.
static int32_t sum_once(mdist_replica_t *replica, void *user_data) {
    Card *const card = card_of(replica, user_data);
    mdist_error_t *error = NULL;
    const mdist_buffer_t numbers = buffer(&card->numbers), sum = buffer(&card->sum);
    const mdist_status_t status = mdist_all_reduce(replica, MDIST_SUM, &numbers, &sum, 1, NULL, &error);
    if (status != MDIST_OK) snprintf(card->message, sizeof card->message, "%s", mdist_error_message(error));
    mdist_error_free(error);
    return status != MDIST_OK;
}

static int32_t one_without(mdist_replica_t *replica, void *user_data) {
    World *const self = user_data;
    if (mdist_replica_id(replica) == self->which) return sum_once(replica, self);
    return mdist_replica_graph(replica, 5, sum_once, self, NULL);
}

static void a_collective_that_only_some_record_is_a_mismatch(void **state) {
    (void)state;
    World world = make("gpu:0,gpu:1,gpu:2", count_up);
    for (world.which = 0; world.which < 3; ++world.which) {
        assert_int_equal(run(&world, one_without), MDIST_ERR_MISMATCH);
        for (int r = 0; r < 3; ++r)
            assert_non_null(strstr(world.cards[r].message, "1 buffer on the GPU, recorded by a graph: float32 x 100"));
    }
    expect_ok(&world, by_graph);
    expect_ok(&world, by_graph);
    expect_counted(&world, 2, 1);
    end(&world);
}

/// One replica fails after it has started a collective that the others have yet to call.
static int32_t fail_in_it(mdist_replica_t *replica, void *user_data) {
    World *const self = user_data;
    Card *const card = card_of(replica, self);
    mdist_work_t *work = NULL;
    const mdist_buffer_t numbers = buffer(&card->numbers), sum = buffer(&card->sum);
    if (add_up(replica, card) != 0) return 9;
    if (mdist_replica_id(replica) != self->which) return sum_once(replica, self);
    if (start_all_reduce(replica, MDIST_SUM, &numbers, &sum, 1, &work, NULL, NULL) != MDIST_OK) return 8;
    mdist_work_destroy(work);
    return 7;
}

static int32_t failing_graph(mdist_replica_t *replica, void *user_data) {
    return mdist_replica_graph(replica, 5, fail_in_it, user_data, NULL);
}

static void a_recording_that_fails_on_one_card_leaves_nothing(void **state) {
    (void)state;
    World world = make("gpu:0,gpu:1", count_up);
    for (int i = 0; i < 20; ++i) {
        world.which = (uint32_t)i % 2;
        assert_int_not_equal(run(&world, failing_graph), MDIST_OK);
        for (uint32_t r = 0; r < world.replicas; ++r) expect_floats(&world.cards[r].numbers, 0);
    }
    world.key = 5;
    expect_ok(&world, by_graph);
    expect_ok(&world, by_graph);
    expect_counted(&world, 2, 1);
    end(&world);
}

/// Goes on after a collective that fails, because one replica calls another.
static int32_t go_on(mdist_replica_t *replica, void *user_data) {
    World *const self = user_data;
    Card *const card = card_of(replica, self);
    const mdist_buffer_t numbers = buffer(&card->numbers), sum = buffer(&card->sum);
    const mdist_reduce_op_t op = mdist_replica_id(replica) == self->which ? MDIST_MAX : MDIST_SUM;
    ++card->calls;
    return mdist_all_reduce(replica, op, &numbers, &sum, 1, NULL, NULL) == MDIST_OK;
}

static void a_failure_that_the_body_ignores_is_not_recorded(void **state) {
    (void)state;
    World world = make("gpu:0,gpu:1", go_on);
    for (int i = 1; i <= 3; ++i) {
        assert_int_equal(run(&world, by_graph), MDIST_ERR_MISMATCH);
        for (uint32_t r = 0; r < world.replicas; ++r) {
            assert_int_equal(world.cards[r].calls, i); // there is no graph yet
            world.cards[r].note.text[0] = '\0';
        }
    }
    end(&world);
}

/// NCCL has no bitwise operations, and what the library's kernels do needs the memory of all cards.
static int32_t by_bits(mdist_replica_t *replica, void *user_data) {
    Card *const card = card_of(replica, user_data);
    mdist_error_t *error = NULL;
    const mdist_buffer_t bits = buffer_of(card->sum.data, MDIST_INT32, kCount);
    const mdist_status_t status = mdist_all_reduce(replica, MDIST_AND, &bits, &bits, 1, NULL, &error);
    if (error == NULL || strcmp(mdist_error_reason(error), "recording") != 0)
        note(&card->note, MDIST_ERR_WRONG_CONTEXT, status, &error, "bits");
    mdist_error_free(error);
    return 0;
}

static int32_t refused_graph(mdist_replica_t *replica, void *user_data) {
    World *const self = user_data;
    return mdist_replica_graph(replica, 6, by_bits, self, NULL) != MDIST_ERR_WRONG_CONTEXT;
}

static void what_nccl_does_not_have_is_refused(void **state) {
    (void)state;
    World world = make("gpu:0,gpu:1", count_up);
    assert_int_equal(run(&world, refused_graph), MDIST_ERR_WRONG_CONTEXT);
    expect_ok(&world, by_graph);
    expect_counted(&world, 1, 1);
    end(&world);
}

static int32_t forget(mdist_replica_t *replica, void *user_data) {
    World *const self = user_data;
    if (mdist_replica_id(replica) < self->which) return mdist_replica_graph(replica, self->key, NULL, NULL, NULL);
    return 0;
}

static int32_t try_graph(mdist_replica_t *replica, void *user_data) {
    World *const self = user_data;
    return mdist_replica_graph(replica, self->key, self->body, self, NULL);
}

static void a_graph_that_one_replica_forgot_is_a_mismatch(void **state) {
    (void)state;
    World world = make("gpu:0,gpu:1", sum_once);
    expect_ok(&world, by_graph);
    expect_ok(&world, forget);
    assert_int_equal(run(&world, try_graph), MDIST_ERR_MISMATCH);
    world.which = 2; // all
    expect_ok(&world, forget);
    expect_ok(&world, by_graph);
    end(&world);
}

/// NCCL's kernels hang until they are aborted. So does the launch, if it waits for them.
static void a_launch_that_hangs_ends_at_the_deadline(void **state) {
    (void)state;
    World world = make("gpu:0,gpu:1", sum_once);
    assert_int_equal(fake->plan("nccl_all_reduce@1:hang"), 1);
    world.limit_ns = 1000000000; // only what hangs needs to keep it
    assert_int_equal(run(&world, try_graph), MDIST_ERR_TIMEOUT);
    end(&world);
    fake->reset();
}

static void *launch_often(void *argument) {
    World *const self = argument;
    for (int i = 0; i < 100; ++i)
        if (run(self, by_graph) != MDIST_OK) return argument;
    return NULL;
}

static void launches_of_two_strategies_take_turns(void **state) {
    (void)state;
    World worlds[2] = {make("gpu:0,gpu:1,gpu:2", count_up), make("gpu:2,gpu:0,gpu:1", count_up)};
    pthread_t threads[2];
    void *wrong[2];
    for (int i = 0; i < 2; ++i) assert_int_equal(pthread_create(&threads[i], NULL, launch_often, &worlds[i]), 0);
    for (int i = 0; i < 2; ++i) assert_int_equal(pthread_join(threads[i], &wrong[i]), 0);
    for (int i = 0; i < 2; ++i) {
        assert_null(wrong[i]);
        for (uint32_t r = 0; r < worlds[i].replicas; ++r) assert_string_equal(worlds[i].cards[r].note.text, "");
        expect_counted(&worlds[i], 100, 1);
        end(&worlds[i]);
    }
}

GPU_TESTS("devices=4,delay_us=200,nccl_alone=1", cmocka_unit_test(each_card_launches_what_it_recorded),
          cmocka_unit_test(a_collective_that_only_some_record_is_a_mismatch),
          cmocka_unit_test(a_recording_that_fails_on_one_card_leaves_nothing),
          cmocka_unit_test(a_failure_that_the_body_ignores_is_not_recorded),
          cmocka_unit_test(what_nccl_does_not_have_is_refused),
          cmocka_unit_test(a_graph_that_one_replica_forgot_is_a_mismatch),
          cmocka_unit_test(a_launch_that_hangs_ends_at_the_deadline),
          cmocka_unit_test(launches_of_two_strategies_take_turns), cmocka_unit_test(expect_nothing_left))
