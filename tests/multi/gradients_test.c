// SPDX-License-Identifier: Apache-2.0
// Gradients in buckets over workers x replicas. They must give the documented bits, and the norm of one process. A
// worker that fails in the middle of a round must not leave the others hanging.
#include "multi.h"

#include "gradients_support.h"

#include <signal.h>

static const uint64_t bucket_sizes[] = {0, 1, 1000, 100000};

/// Every replica of the job hands in its gradients in an order of its own. All must get the same numbers. With
/// TEST_LENT, each worker lends memory that is laid out in another way.
static void any_order(void) {
    mdist_strategy_t *strategy = join();
    const int lent = getenv("TEST_LENT") != NULL;
    const uint32_t local_replicas = mdist_strategy_local_replica_count(strategy);
    for (int i = 0; i < (is_long() ? 60 : 6); ++i) {
        const uint64_t seed = test_seed(500) + (uint64_t)i;
        Trial trial = {.seed = seed, .rounds = 1 + i % 3, .op = i % 2 == 0 ? MDIST_SUM : MDIST_MEAN};
        trial.model = random_model(seed, trial.rounds == 1 ? 0 : MDIST_FLOAT32);
        expect(&trial, mdist_strategy_replica_count(strategy));
        if (i % 6 != 0) trial.clip_norm = trial.norm * clip_ratios[i % 6 - 1];
        if (lent) trial.memory = (Memory)(FLAT + (rank + (uint32_t)i) % (MEMORIES - FLAT));
        make_gradients(&trial, strategy, bucket_sizes[i % 4], 0);
        for (int again = 0; again < 2; ++again, ++trial.seed) {
            if (again != 0) expect(&trial, mdist_strategy_replica_count(strategy));
            mdist_error_t *failed = NULL;
            const mdist_status_t status = mdist_run(strategy, trial_step, &trial, NULL, &failed);
            for (uint32_t r = 0; r < local_replicas; ++r)
                if (trial.notes[r].text[0] != '\0') GIVE_UP(trial.notes[r].text);
            check_status(MDIST_OK, status, failed, "mdist_run", __FILE__, __LINE__);
            for (uint32_t r = 0; r < local_replicas; ++r) REQUIRE(trial.norms[r] == trial.norms[0]);
            for (uint32_t r = 0; lent && r < local_replicas; ++r) REQUIRE(gaps_are_intact(&trial, r));
        }
        destroy_gradients(&trial);
    }
    mdist_strategy_destroy(strategy);
}

// ---- The norm is the same in all layouts: replica 0 has the numbers, the others have zeros.

static int32_t lone_step(mdist_replica_t *replica, void *user_data) {
    Trial *const self = user_data;
    const uint32_t local = mdist_replica_local_index(replica);
    for (size_t g = 0; g < self->model.count; ++g) {
        mdist_tensor_t tensor;
        DO(mdist_gradients_tensor(self->gradients, local, g, &tensor, error_out));
        if (mdist_replica_id(replica) == 0) fill(self, &tensor, 0, 0, g);
        DO(mdist_gradients_ready(replica, self->gradients, g, error_out));
    }
    DO(mdist_gradients_wait(replica, self->gradients, &self->norms[local], NULL, error_out));
    return 0;
}

static double lone_norm(mdist_strategy_t *strategy, uint64_t bucket_bytes) {
    Trial self = {.seed = 41, .model = random_model(41, 0), .op = MDIST_SUM};
    make_gradients(&self, strategy, bucket_bytes, 0);
    GIVES(MDIST_OK, mdist_run(strategy, lone_step, &self, NULL, &error));
    mdist_gradients_destroy(self.gradients);
    return self.norms[0];
}

static void one_norm(void) {
    mdist_strategy_t *strategy = join();
    const double wanted = strtod(getenv("TEST_NORM"), NULL);
    REQUIRE(wanted > 0);
    for (int size = 0; size < 4; ++size) REQUIRE(lone_norm(strategy, bucket_sizes[size]) == wanted);
    mdist_strategy_destroy(strategy);
}

// ---- Failures. All workers are in the step when the victim fails.

typedef struct Failing {
    enum { DIES, RETURNS, FORGETS, ENDS_EARLY, LAGS } how;
    mdist_gradients_t *gradients;
} Failing;

enum { GRADIENTS = 6, ELEMENTS = 30000 };

static int32_t failing_step(mdist_replica_t *replica, void *user_data) {
    const Failing *const self = user_data;
    const int struck = rank == victim && mdist_replica_local_index(replica) == 0;
    if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 1;
    for (size_t i = 0; i < GRADIENTS; ++i) {
        const size_t g = rank == 0 ? GRADIENTS - 1 - i : i;
        if (struck && i == 2) {
            if (self->how == DIES) return raise(SIGKILL);
            if (self->how == RETURNS) return 5;
            if (self->how == ENDS_EARLY) return 0;
            if (self->how == FORGETS) continue;
        }
        if (mdist_gradients_ready(replica, self->gradients, g, NULL) != MDIST_OK) return 2;
    }
    return mdist_gradients_wait(replica, self->gradients, NULL, NULL, NULL) != MDIST_OK ? 3 : 0;
}

/// When it reduces, the victim has accumulated a round, and the others have not.
static int32_t lagging_step(mdist_replica_t *replica, void *user_data) {
    const Failing *const self = user_data;
    for (int round = rank == victim ? 0 : 1; round < 2; ++round) {
        if (round == 0 && mdist_gradients_accumulate(replica, self->gradients, NULL) != MDIST_OK) return 1;
        for (size_t g = 0; g < GRADIENTS; ++g)
            if (mdist_gradients_ready(replica, self->gradients, g, NULL) != MDIST_OK) return 2;
        if (mdist_gradients_wait(replica, self->gradients, NULL, NULL, NULL) != MDIST_OK) return 3;
    }
    return 0;
}

static void fail_somehow(void) {
    Failing self = {.how = atoi(getenv("TEST_HOW"))};
    mdist_strategy_t *strategy = join();
    mdist_tensor_t like[GRADIENTS];
    const mdist_gradients_options_t options = {.struct_size = sizeof options, .bucket_bytes = 1};
    for (int g = 0; g < GRADIENTS; ++g) like[g] = like_of(MDIST_FLOAT32, ELEMENTS);
    GIVES(MDIST_OK, mdist_gradients_create(strategy, like, GRADIENTS, &self.gradients, &options, &error));
    mdist_error_t *cause = NULL;
    const mdist_status_t status =
        mdist_run(strategy, self.how == LAGS ? lagging_step : failing_step, &self, NULL, &cause);
    const int own = rank == victim;
    mdist_status_t wanted = status;
    if (self.how == DIES) wanted = MDIST_ERR_PEER_LOST;
    if (self.how == LAGS) wanted = MDIST_ERR_MISMATCH;
    if (self.how == RETURNS && own) wanted = MDIST_ERR_CALLBACK;
    if ((self.how == FORGETS || self.how == ENDS_EARLY) && own) wanted = MDIST_ERR_FAILED_PRECONDITION;
    if (status != wanted || status == MDIST_OK)
        fprintf(stderr, "worker %u: %s: %s\n", rank, mdist_status_name(status), mdist_error_message(cause));
    REQUIRE(status == wanted && status != MDIST_OK);
    if (self.how == DIES) REQUIRE(mdist_error_rank(cause) == victim);
    if (self.how == LAGS) REQUIRE(strstr(mdist_error_message(cause), "2 rounds") != NULL);
    mdist_error_free(cause);
    mdist_gradients_destroy(self.gradients);
    mdist_strategy_destroy(strategy);
}

// ---- The tests.

static const char *const sockets[] = {"MDIST_COMMUNICATION_IMPLEMENTATION=tcp", NULL};

static void check(const char *scenario, uint32_t workers, const char *devices, const char *const *environment) {
    const Workers job = {.scenario = scenario, .count = workers, .devices = devices, .environment = environment};
    assert_int_equal(run_workers(&job), 0);
}

static void any_order_gives_the_documented_bits_over_workers(void **unused) {
    (void)unused;
    check("any_order", 2, "cpu*1", NULL);
    check("any_order", 2, "cpu*2", NULL);
    check("any_order", 2, "cpu*2", sockets);
    check("any_order", 3, "cpu*1", sockets);
    check("any_order", 3, "cpu*1|cpu*4|cpu*2", NULL);
    check("any_order", 4, "cpu*2|cpu*1|cpu*1|cpu*1", sockets);
}

static void lent_memory_is_reduced_in_place_over_workers(void **unused) {
    (void)unused;
    static const char *const lent[] = {"TEST_LENT=1", NULL};
    static const char *const lent_by_sockets[] = {"TEST_LENT=1", "MDIST_COMMUNICATION_IMPLEMENTATION=tcp", NULL};
    check("any_order", 2, "cpu*1", lent);
    check("any_order", 2, "cpu*2", lent_by_sockets);
    check("any_order", 3, "cpu*1|cpu*4|cpu*2", lent);
    check("any_order", 3, "cpu*1", lent_by_sockets);
}

static void the_norm_is_that_of_one_process(void **unused) {
    (void)unused;
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    char variable[64];
    snprintf(variable, sizeof variable, "TEST_NORM=%a", lone_norm(strategy, 0));
    mdist_strategy_destroy(strategy);
    const char *const shared[] = {variable, NULL};
    const char *const by_sockets[] = {variable, sockets[0], NULL};
    check("one_norm", 2, "cpu*1", shared);
    check("one_norm", 2, "cpu*2", by_sockets);
    check("one_norm", 3, "cpu*1", shared);
    check("one_norm", 3, "cpu*3|cpu*1|cpu*3", shared);
}

static void every_failure_ends_the_round_for_all(void **unused) {
    (void)unused;
    for (int how = DIES; how <= LAGS; ++how) {
        for (int replicas = 1; replicas <= 2; ++replicas) {
            char variable[32];
            snprintf(variable, sizeof variable, "TEST_HOW=%d", how);
            const char *const environment[] = {variable, NULL};
            const Workers job = {.scenario = "fail_somehow",
                                 .count = 2,
                                 .devices = replicas == 1 ? "cpu*1" : "cpu*2",
                                 .environment = environment,
                                 .victim = 1,
                                 .killed = how == DIES};
            if (run_workers(&job) != 0) fail_msg("kind %d of failure, %d replicas", how, replicas);
        }
    }
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_gives_the_documented_bits_over_workers),
        cmocka_unit_test(lent_memory_is_reduced_in_place_over_workers),
        cmocka_unit_test(the_norm_is_that_of_one_process),
        cmocka_unit_test(every_failure_ends_the_round_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {
        {"any_order", any_order}, {"one_norm", one_norm}, {"fail_somehow", fail_somehow}};
    return multi_main(argument_count, arguments, scenarios, 3, test_all);
}
