// SPDX-License-Identifier: Apache-2.0
// Programs do things that they should not, in one worker of several. It harms only that worker. The others are told as
// they are when a worker is lost or has left.
#include "moments.h"
#include "traffic.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static Traffic traffic_of(uint32_t operations) {
    const Traffic traffic = {.seed = 5, .operations = operations};
    return traffic;
}

/// Runs steps until they fail because the victim is gone, with any status that says so. The victim runs them until
/// something ends it. `user_data` of the step begins with the Traffic.
static void work_in_steps_until_it_ends(mdist_strategy_t *strategy, mdist_step_fn step, void *user_data) {
    const Traffic *traffic = user_data;
    mdist_error_t *cause = NULL;
    const mdist_status_t status = mdist_run(strategy, step, user_data, NULL, &cause);
    if (status != MDIST_ERR_PEER_LOST && status != MDIST_ERR_ABORTED)
        fprintf(stderr, "worker %u: %s: %s\n", rank, mdist_status_name(status), mdist_error_message(cause));
    REQUIRE(status == MDIST_ERR_PEER_LOST || status == MDIST_ERR_ABORTED);
    REQUIRE(!traffic->wrong);
    if (rank != victim) REQUIRE(mdist_error_rank(cause) == victim);
    mdist_error_free(cause);
}

static void work_until_it_ends(mdist_strategy_t *strategy) {
    Traffic traffic = traffic_of(0);
    work_in_steps_until_it_ends(strategy, traffic_step, &traffic);
}

// --- children

/// Forks children that end in all ways, and one that uses what it has inherited.
static int32_t forking_step(mdist_replica_t *replica, void *user_data) {
    const int *number = user_data;
    if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 1;
    if (rank == victim && mdist_replica_local_index(replica) == 0) {
        const pid_t child = fork();
        if (child == 0) alarm(120);              // what may hang must not last
        if (child == 0 && *number == 0) exit(0); // runs all registered exit handlers
        if (child == 0 && *number == 1) _exit(mdist_barrier(replica, NULL, NULL) == MDIST_OK);
        if (child == 0) execl("/bin/true", "true", (char *)NULL), _exit(1);
        int status = -1;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return 2;
    }
    float one = 1;
    const mdist_buffer_t buffer = buffer_of(&one, MDIST_FLOAT32, 1);
    if (mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL) != MDIST_OK) return 3;
    return one == (float)mdist_replica_count(replica) ? 0 : 4;
}

static void one_forks_in_a_step(void) {
    mdist_strategy_t *strategy = join();
    for (int i = 0; i < 6; ++i) {
        int number = i % 3;
        GIVES(MDIST_OK, mdist_run(strategy, forking_step, &number, NULL, &error));
    }
    mdist_strategy_destroy(strategy);
}

// --- ends

static int32_t exiting_step(mdist_replica_t *replica, void *user_data) {
    const int32_t *local = user_data;
    if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 1;
    if (rank == victim && (int32_t)mdist_replica_local_index(replica) == *local) exit(0);
    return mdist_barrier(replica, NULL, NULL) != MDIST_OK;
}

/// The victim calls exit as if the job were done, on the calling thread or on one of the library's.
static void one_exits_in_a_step(void) {
    mdist_strategy_t *strategy = join();
    int32_t local = (int32_t)mdist_strategy_local_replica_count(strategy) - 1;
    mdist_error_t *cause = NULL;
    const mdist_status_t status = mdist_run(strategy, exiting_step, &local, NULL, &cause);
    REQUIRE(rank != victim && status == MDIST_ERR_PEER_LOST && mdist_error_rank(cause) == victim);
    mdist_error_free(cause);
    mdist_strategy_destroy(strategy);
}

typedef struct Destroyed {
    Traffic traffic;
    mdist_strategy_t *strategy;
    pthread_t thread;
    uint64_t moment; // so many calls of the system after the step has begun
    int begun;
} Destroyed;

static void destroy(void *data) {
    const Destroyed *destroyed = data;
    mdist_strategy_destroy(destroyed->strategy);
}

/// The victim destroys its strategy only once all are at work, so that nobody calls anything with a destroyed one.
static int32_t destroyed_step(mdist_replica_t *replica, void *user_data) {
    Destroyed *destroyed = user_data;
    if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 1;
    if (rank == victim && mdist_replica_local_index(replica) == 0)
        destroyed->begun = at_moment(destroyed->moment, destroy, destroyed, &destroyed->thread) >= 0;
    return traffic_step(replica, &destroyed->traffic);
}

static void one_destroys_while_it_works(void) {
    static const uint64_t moments[] = {1, 10, 60, 300, 1000};
    for (int round = 0; round < 5; ++round) {
        Destroyed destroyed = {.traffic = traffic_of(0), .strategy = join(), .moment = moments[round]};
        work_in_steps_until_it_ends(destroyed.strategy, destroyed_step, &destroyed);
        if (rank == victim)
            REQUIRE(destroyed.begun && pthread_join(destroyed.thread, NULL) == 0);
        else
            mdist_strategy_destroy(destroyed.strategy);
    }
}

// --- descriptors of others

/// Closes all descriptors, as a program does that becomes a daemon.
static void one_closes_all_descriptors(void) {
    mdist_strategy_t *strategy = join();
    Traffic traffic = traffic_of(20);
    // When this run is over for the victim, all workers have joined. Others may see the loss in it.
    mdist_run(strategy, traffic_step, &traffic, NULL, NULL);
    if (rank == victim)
        for (long descriptor = 4; descriptor < 256; ++descriptor)
            syscall(SYS_close, descriptor); // the thread sanitizer would rightly complain about close()
    work_until_it_ends(strategy);
    mdist_strategy_destroy(strategy);
}

// --- two at once

/// The second strategy is refused, and the first goes on.
static void two_strategies_at_once(void) {
    mdist_strategy_t *first = join(), *second = NULL;
    Traffic traffic = traffic_of(20);
    for (int round = 0; round < 3; ++round) {
        GIVES(MDIST_OK, mdist_run(first, traffic_step, &traffic, NULL, &error));
        GIVES(MDIST_ERR_FAILED_PRECONDITION, mdist_strategy_create(NULL, &second, &error));
        REQUIRE(second == NULL && strcmp(reason, "stale_session") == 0);
    }
    GIVES(MDIST_OK, mdist_run(first, traffic_step, &traffic, NULL, &error));
    mdist_strategy_destroy(first);
}

// --- the tests

static void check(const char *scenario, uint32_t workers, const char *devices, uint32_t victim_rank,
                  const char *const *environment) {
    const Workers job = {
        .scenario = scenario, .count = workers, .devices = devices, .environment = environment, .victim = victim_rank};
    if (run_workers(&job) == 0) return;
    print_error("%s: %u workers with %s, victim %u\n", scenario, workers, devices, victim_rank);
    fail();
}

static const char *const shared[] = {"MDIST_COMMUNICATION_JOIN_TIMEOUT=60s", NULL};
static const char *const apart[] = {"MDIST_COMMUNICATION_JOIN_TIMEOUT=60s", "MDIST_COMMUNICATION_IMPLEMENTATION=tcp",
                                    NULL};

static void check_both(const char *scenario) {
    check(scenario, 3, "cpu*1", 1, shared);
    check(scenario, 2, "cpu*2", 0, apart);
    check(scenario, 2, "cpu*2", 1, shared);
    check(scenario, 3, "cpu*1", 2, apart);
}

static void children_of_a_step_disturb_nobody(void **unused) {
    (void)unused;
    check_both("one_forks_in_a_step");
}

static void who_exits_in_a_step_is_lost(void **unused) {
    (void)unused;
    check_both("one_exits_in_a_step");
}

static void who_destroys_while_it_works_is_missed(void **unused) {
    (void)unused;
    check_both("one_destroys_while_it_works");
}

static void who_closes_the_librarys_descriptors_is_lost(void **unused) {
    (void)unused;
    check_both("one_closes_all_descriptors");
}

static void a_second_strategy_is_refused_and_harms_nobody(void **unused) {
    (void)unused;
    check_both("two_strategies_at_once");
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_of_a_step_disturb_nobody),
        cmocka_unit_test(who_exits_in_a_step_is_lost),
        cmocka_unit_test(who_destroys_while_it_works_is_missed),
        cmocka_unit_test(who_closes_the_librarys_descriptors_is_lost),
        cmocka_unit_test(a_second_strategy_is_refused_and_harms_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {
        {"one_forks_in_a_step", one_forks_in_a_step},
        {"one_exits_in_a_step", one_exits_in_a_step},
        {"one_destroys_while_it_works", one_destroys_while_it_works},
        {"one_closes_all_descriptors", one_closes_all_descriptors},
        {"two_strategies_at_once", two_strategies_at_once},
    };
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
