// SPDX-License-Identifier: Apache-2.0
// Operators of the program over workers x replicas: the bits of the tree in every layout and over every link, and what
// happens if workers disagree or a function fails.
#include "multi.h"

#include "../support/operators.h"

static void random_reductions(void) {
    OperatorRun run = {.seed = test_seed(0) + strtoull(getenv("TEST_LAYOUT"), NULL, 10),
                       .rounds = is_long() ? 150 : 20};
    REQUIRE(create_operators(run.ops) == 0);
    mdist_strategy_t *strategy = join();
    GIVES(MDIST_OK, mdist_run(strategy, operators_step, &run, NULL, &error));
    mdist_strategy_destroy(strategy);
    destroy_operators(run.ops);
}

/// Outside of steps, in memory that workers share and in other memory.
static void outside_of_steps(void) {
    OperatorRun run = {0};
    REQUIRE(create_operators(run.ops) == 0);
    mdist_strategy_t *strategy = join();
    const uint32_t n = mdist_strategy_replica_count(strategy);
    for (int shared = 0; shared < 2; ++shared)
        for (uint64_t elements = 10; elements < 2000000; elements *= 100) {
            const KnownOperator *const op = &known_operators[0];
            void *memory = NULL;
            if (shared)
                GIVES(MDIST_OK, mdist_alloc(strategy, 0, elements * op->bytes, &memory, &error));
            else
                memory = aligned_alloc(64, (elements * op->bytes + 63) / 64 * 64);
            REQUIRE(memory != NULL && mdist_strategy_local_replica_count(strategy) == 1);
            for (uint64_t i = 0; i < elements; ++i)
                fill_element(elements, op->bytes, rank, 0, i, (unsigned char *)memory + i * op->bytes);
            const mdist_buffer_t buffer = {memory, elements * op->bytes, MDIST_UINT8, 0};
            GIVES(MDIST_OK, mdist_strategy_all_reduce(strategy, run.ops[0], &buffer, &buffer, 1, NULL, &error));
            const Reduction reduction = {.kind = TO_ALL, .count = 1, .seed = elements, .elements = {elements}};
            const Arrays arrays = {.outputs = {buffer}};
            REQUIRE(outputs_right(&reduction, rank, n, &arrays));
            shared ? mdist_free(memory) : free(memory);
        }
    mdist_strategy_destroy(strategy);
}

// ---- Disagreement, and a function that fails on one worker.

typedef struct Odd {
    mdist_reduce_op_t op;
    uint64_t bytes;
} Odd;

static int32_t odd_step(mdist_replica_t *replica, void *user_data) {
    const Odd *const self = user_data;
    char *const memory = calloc(1, self->bytes);
    const mdist_buffer_t buffer = {memory, self->bytes, MDIST_UINT8, 0};
    const mdist_status_t status = mdist_all_reduce(replica, self->op, &buffer, &buffer, 1, NULL, NULL);
    free(memory);
    return status != MDIST_OK;
}

static void other_size_on_one(void) {
    static const size_t sizes[] = {8, 16};
    // Large elements go another way than small ones.
    const size_t bytes = rank == victim && strcmp(getenv("TEST_HOW"), "large") == 0 ? 40000 : sizes[rank == victim];
    Odd self = {.bytes = 80000};
    GIVES(MDIST_OK, mdist_operator_register("mine", bytes, combine_hashes, (void *)&sizes[0], &self.op, &error));
    mdist_strategy_t *strategy = join();
    mdist_error_t *error = NULL;
    const mdist_status_t status = mdist_run(strategy, odd_step, &self, NULL, &error);
    REQUIRE(status == MDIST_ERR_MISMATCH || status == MDIST_ERR_ABORTED); // it came when the job had ended
    REQUIRE(shows_call(mdist_error_message(error), "OPERATOR, 8-byte mine, 1 buffer: elements x 10000"));
    mdist_error_free(error);
    mdist_strategy_destroy(strategy);
}

static int32_t fail_on_victim(const void *left, const void *right, void *out, uint64_t count, void *user_data) {
    if (rank == victim) mdist_fail(0, "no more fingers");
    return rank == victim ? 9 : combine_hashes(left, right, out, count, user_data);
}

static void fails_on_one(void) {
    static const size_t eight = 8;
    Odd self = {.bytes = strtoull(getenv("TEST_BYTES"), NULL, 10)};
    GIVES(MDIST_OK, mdist_operator_register("abacus", 8, fail_on_victim, (void *)&eight, &self.op, &error));
    mdist_strategy_t *strategy = join();
    mdist_error_t *error = NULL;
    const mdist_status_t status = mdist_run(strategy, odd_step, &self, NULL, &error);
    // A worker that had everything it needed may have returned before it heard of the failure.
    if (rank != victim && status == MDIST_OK) {
        mdist_strategy_destroy(strategy);
        return;
    }
    REQUIRE(status == MDIST_ERR_CALLBACK || (rank != victim && status == MDIST_ERR_ABORTED));
    REQUIRE(strstr(mdist_error_message(error), "operator \"abacus\" returned 9") != NULL);
    REQUIRE(strstr(mdist_error_message(error), "no more fingers") != NULL);
    mdist_error_free(error);
    mdist_strategy_destroy(strategy);
}

// ---- The tests.

static void check(const char *scenario, uint32_t workers, const char *devices, int sockets, const char *setting) {
    const char *const environment[] = {setting, sockets ? "MDIST_COMMUNICATION_IMPLEMENTATION=tcp" : NULL, NULL};
    const Workers job = {
        .scenario = scenario, .count = workers, .devices = devices, .environment = environment, .victim = workers - 1};
    assert_int_equal(run_workers(&job), 0);
}

static void bits_follow_the_tree_in_every_layout(void **unused) {
    (void)unused;
    static const struct {
        uint32_t workers;
        const char *devices;
    } layouts[] = {{2, "cpu*1"}, {2, "cpu*3"}, {3, "cpu*1"},       {3, "cpu*3"},
                   {4, "cpu*2"}, {5, "cpu*1"}, {2, "cpu*3|cpu*1"}, {3, "cpu*1|cpu*2|cpu*4"}};
    char layout[32];
    for (uint32_t i = 0; i < sizeof layouts / sizeof *layouts; ++i)
        for (int sockets = 0; sockets < 2; ++sockets) {
            snprintf(layout, sizeof layout, "TEST_LAYOUT=%u", (unsigned)(i * 2 + (uint32_t)sockets + 1));
            check("random_reductions", layouts[i].workers, layouts[i].devices, sockets, layout);
        }
}

static void outside_of_steps_and_in_shared_memory(void **unused) {
    (void)unused;
    for (int sockets = 0; sockets < 2; ++sockets) check("outside_of_steps", 3, "cpu*1", sockets, NULL);
}

static void element_sizes_are_compared_before_bytes_move(void **unused) {
    (void)unused;
    for (int sockets = 0; sockets < 2; ++sockets) {
        check("other_size_on_one", 3, "cpu*1", sockets, "TEST_HOW=small");
        check("other_size_on_one", 2, "cpu*2", sockets, "TEST_HOW=large");
    }
}

static void a_function_that_fails_ends_the_job(void **unused) {
    (void)unused;
    for (int sockets = 0; sockets < 2; ++sockets) {
        check("fails_on_one", 2, "cpu*1", sockets, "TEST_BYTES=80");
        check("fails_on_one", 3, "cpu*2", sockets, "TEST_BYTES=4000000");
    }
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_follow_the_tree_in_every_layout),
        cmocka_unit_test(outside_of_steps_and_in_shared_memory),
        cmocka_unit_test(element_sizes_are_compared_before_bytes_move),
        cmocka_unit_test(a_function_that_fails_ends_the_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {{"random_reductions", random_reductions},
                                              {"outside_of_steps", outside_of_steps},
                                              {"other_size_on_one", other_size_on_one},
                                              {"fails_on_one", fails_on_one}};
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof *scenarios, test_all);
}
