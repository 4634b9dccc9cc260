// SPDX-License-Identifier: Apache-2.0
// A worker is killed, stopped or leaves in the middle of collectives. Every other worker is told which one it was. No
// earlier result was wrong, nobody hangs, and the job can be formed again.
#include "started.h"
#include "traffic.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

static Traffic traffic_of_environment(void) {
    Traffic traffic = {.seed = (uint32_t)atoi(getenv("TEST_SEED")), .started = getenv("TEST_STARTED") != NULL};
    traffic.signal = getenv("TEST_SIGNAL") != NULL ? atoi(getenv("TEST_SIGNAL")) : 0;
    traffic.moment = getenv("TEST_MOMENT") != NULL ? (uint64_t)atoi(getenv("TEST_MOMENT")) : 0;
    return traffic;
}

static void require_victim_named(void) {
    char name[32];
    snprintf(name, sizeof name, "worker %u", victim);
    if (guilty_worker == victim && strstr(message, name) != NULL) return;
    fprintf(stderr, "it should name %s, and names %d: %s\n", name, guilty_worker, message);
    fail_or_late(last_status, "the victim is named", __FILE__, __LINE__);
}

static int32_t barrier_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    return mdist_barrier(replica, NULL, NULL) != MDIST_OK;
}

/// Later calls fail at once, and say the same.
static void require_ended(mdist_strategy_t *strategy) {
    for (int i = 0; i < 3; ++i) {
        GIVES(MDIST_ERR_PEER_LOST, mdist_run(strategy, barrier_step, NULL, NULL, &error));
        require_victim_named();
    }
}

/// Runs traffic until the victim is lost.
static void survive(mdist_strategy_t *strategy) {
    Traffic traffic = traffic_of_environment();
    GIVES(MDIST_ERR_PEER_LOST, mdist_run(strategy, traffic_step, &traffic, NULL, &error));
    REQUIRE(!traffic.wrong);
    require_victim_named();
}

static void one_dies(void) {
    mdist_strategy_t *strategy = join();
    survive(strategy);
    REQUIRE(strstr(message, "silent") == NULL);
    require_ended(strategy);
    mdist_strategy_destroy(strategy);
}

/// The victim may die while forming, too. Then all the others fail to form, or wait in vain for it to come back.
static void one_dies_at_any_time(void) {
    static Traffic blow; // static: a thread uses it
    blow = traffic_of_environment();
    if (rank == victim) REQUIRE(strike_later(&blow));
    Traffic traffic = {.seed = blow.seed};
    mdist_strategy_t *strategy = NULL;
    mdist_error_t *cause = NULL;
    mdist_status_t status = mdist_strategy_create(NULL, &strategy, &cause);
    if (status == MDIST_OK) status = mdist_run(strategy, traffic_step, &traffic, NULL, &cause);
    const int in_vain = strategy == NULL && status == MDIST_ERR_TIMEOUT;
    const int named = mdist_error_rank(cause) == victim;
    if (!in_vain && !(named && status == MDIST_ERR_PEER_LOST)) {
        fprintf(stderr, "worker %u, %s: %s, worker %d: %s\n", rank, strategy == NULL ? "forming" : "running",
                mdist_status_name(status), mdist_error_rank(cause), mdist_error_message(cause));
        fail_or_late(status, "the victim is lost", __FILE__, __LINE__);
    }
    REQUIRE(!traffic.wrong);
    mdist_error_free(cause);
    mdist_strategy_destroy(strategy);
}

/// Starts collectives and waits for them, until one fails. The victim's replicas destroy their sixth one without
/// waiting.
static int32_t forgetful_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    float numbers[1000] = {0};
    const mdist_buffer_t buffer = buffer_of(numbers, MDIST_FLOAT32, 1000);
    for (int32_t i = 0;; ++i) {
        mdist_work_t *work = NULL;
        int32_t done = 0;
        if (start_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, &work, NULL, NULL) != MDIST_OK) return 1;
        const int forget = i == 5 && rank == victim;
        const mdist_status_t status = forget ? MDIST_OK : mdist_work_wait(work, MDIST_FOREVER, &done, NULL);
        mdist_work_destroy(work);
        if (status != MDIST_OK) return 1;
        if (forget) return 0; // with several replicas, the work may be finished already
    }
}

static void one_destroys_its_work(void) {
    mdist_strategy_t *strategy = join();
    mdist_error_t *cause = NULL;
    const mdist_status_t status = mdist_run(strategy, forgetful_step, NULL, NULL, &cause);
    // If all replicas had started it, the operation was finished. Then the others only see that the victim's step ends.
    if (rank != victim || status != MDIST_OK) REQUIRE(status == MDIST_ERR_ABORTED || status == MDIST_ERR_PEER_LOST);
    if (rank != victim) REQUIRE(mdist_error_rank(cause) == victim);
    mdist_error_free(cause);
    mdist_strategy_destroy(strategy);
}

static void one_stops(void) {
    mdist_strategy_t *strategy = join();
    if (rank != victim) {
        survive(strategy);
        require_ended(strategy);
    } else {
        Traffic traffic = traffic_of_environment();
        mdist_error_t *error = NULL;
        const mdist_status_t status = mdist_run(strategy, traffic_step, &traffic, NULL, &error);
        if (status != MDIST_ERR_PEER_LOST && status != MDIST_ERR_ABORTED)
            fprintf(stderr, "the stopped one: %s: %s\n", mdist_status_name(status), mdist_error_message(error));
        REQUIRE_UNLESS_LATE(status == MDIST_ERR_PEER_LOST || status == MDIST_ERR_ABORTED, status);
        mdist_error_free(error);
    }
    mdist_strategy_destroy(strategy);
}

/// The victim has a child that outlives all.
static void one_dies_with_a_child(void) {
    mdist_strategy_t *strategy = join();
    if (rank == victim && fork() == 0) {
        outlive_others();
        _exit(0);
    }
    survive(strategy);
    REQUIRE(strstr(message, "silent") == NULL);
    mdist_strategy_destroy(strategy);
}

/// A scenario of tests/netns/losses_test.py, which pulls the victim's cable. The victim and the others cannot hear each
/// other.
static void one_is_cut_off(void) {
    mdist_strategy_t *strategy = join();
    Traffic traffic = traffic_of_environment();
    puts("joined");
    fflush(stdout);
    GIVES(MDIST_ERR_PEER_LOST, mdist_run(strategy, traffic_step, &traffic, NULL, &error));
    printf("%d %s\n", guilty_worker, message);
    REQUIRE(!traffic.wrong);
    if (rank != victim) require_victim_named();
    REQUIRE_UNLESS_LATE(guilty_worker != MDIST_NONE && guilty_worker != rank, last_status);
    mdist_strategy_destroy(strategy);
}

/// A scenario of tests/netns/losses_test.py, too. Each worker says which one it has lost.
static void one_connection_breaks(void) {
    mdist_strategy_t *strategy = join();
    Traffic traffic = traffic_of_environment();
    puts("joined");
    fflush(stdout);
    GIVES(MDIST_ERR_PEER_LOST, mdist_run(strategy, traffic_step, &traffic, NULL, &error));
    REQUIRE(!traffic.wrong);
    REQUIRE(strstr(message, "silent") == NULL);
    printf("%d %s\n", guilty_worker, message);
    mdist_strategy_destroy(strategy);
}

/// The same with a cable that is put back in time.
static void one_is_cut_off_for_a_while(void) {
    mdist_strategy_t *strategy = join();
    Traffic traffic = traffic_of_environment();
    traffic.operations = 400;
    puts("joined");
    fflush(stdout);
    GIVES(MDIST_OK, mdist_run(strategy, traffic_step, &traffic, NULL, &error));
    puts("well");
    mdist_strategy_destroy(strategy);
}

static volatile sig_atomic_t asked;

static void note_that_it_is_asked(int number) {
    (void)number;
    asked = 1;
}

/// Asks in each step whether to end, as a program does that saves its state before it is terminated. All workers learn
/// of it in the same step.
static int32_t asking_step(mdist_replica_t *replica, void *user_data) {
    int32_t *end = user_data, one = asked;
    const mdist_buffer_t buffer = buffer_of(&one, MDIST_INT32, 1);
    if (mdist_all_reduce(replica, MDIST_MAX, &buffer, &buffer, 1, NULL, NULL) != MDIST_OK) return 1;
    *end = one;
    return 0;
}

/// A scenario of launch_preemption_test.py.
static void all_end_when_one_is_asked(void) {
    struct sigaction action = {0};
    action.sa_handler = note_that_it_is_asked;
    REQUIRE(sigaction(SIGTERM, &action, NULL) == 0);
    mdist_strategy_t *strategy = join();
    int32_t end = 0;
    for (uint64_t steps = 0; !end; ++steps) {
        GIVES(MDIST_OK, mdist_run(strategy, asking_step, &end, NULL, &error));
        if (steps == 0) printf("%d\n", (int)getpid()), fflush(stdout);
    }
    while (getenv("TEST_ALL_ASKED") != NULL && !asked) sched_yield(); // another may have been asked before this one
    if (asked) puts("asked");
    mdist_strategy_destroy(strategy);
}

static void one_dies_then_all_leave(void) {
    mdist_strategy_t *strategy = join();
    survive(strategy);
    mdist_strategy_destroy(strategy);
}

static void work_together(void) {
    mdist_strategy_t *strategy = join();
    Traffic traffic = {.seed = 7, .operations = 20};
    GIVES(MDIST_OK, mdist_run(strategy, traffic_step, &traffic, NULL, &error));
    mdist_strategy_destroy(strategy);
}

/// Another process replaces the victim, while the other workers create their strategies again.
static void one_is_replaced(void) {
    one_dies_then_all_leave();
    work_together();
}

static void all_is_well(void) {
    for (uint32_t round = 0; round < 3; ++round) {
        mdist_strategy_t *strategy = join();
        Traffic traffic = {.seed = round, .operations = 20};
        GIVES(MDIST_OK, mdist_run(strategy, traffic_step, &traffic, NULL, &error));
        mdist_strategy_destroy(strategy);
    }
}

static atomic_int warnings, warnings_of_no_secret;

static void count_warnings(mdist_log_level_t level, const char *text, size_t length, void *user_data) {
    (void)user_data;
    if (level > MDIST_LOG_WARN) return;
    if (strstr(text, "this job has no secret") != NULL) {
        ++warnings_of_no_secret;
        return;
    }
    ++warnings;
    fprintf(stderr, "worker %u: %.*s\n", rank, (int)length, text);
}

static void all_leave_together(void) {
    GIVES(MDIST_OK, mdist_log_set_sink(count_warnings, NULL, NULL, &error));
    all_is_well();
    REQUIRE(warnings == 0);
    REQUIRE(warnings_of_no_secret == 1);
}

static void all_leave_in_silence(void) {
    GIVES(MDIST_OK, mdist_log_set_sink(count_warnings, NULL, NULL, &error));
    all_is_well();
    REQUIRE(warnings == 0);
    REQUIRE(warnings_of_no_secret == 0);
}

static int32_t idle_step(mdist_replica_t *replica, void *user_data) {
    (void)replica, (void)user_data;
    return 0;
}

/// The victim has done its part and leaves. The other worker notices only in the next operation that needs both.
static void one_leaves(void) {
    mdist_strategy_t *strategy = join();
    GIVES(MDIST_OK, mdist_run(strategy, barrier_step, NULL, NULL, &error));
    if (rank != victim) {
        GIVES(MDIST_OK, mdist_run(strategy, idle_step, NULL, NULL, &error));
        GIVES(MDIST_ERR_PEER_LOST, mdist_run(strategy, barrier_step, NULL, NULL, &error));
        REQUIRE(strcmp(reason, "left") == 0);
        require_victim_named();
    }
    mdist_strategy_destroy(strategy);
}

/// Some workers may be far behind when the victim leaves. They all finish the operations that they did with it.
static void one_of_many_leaves(void) {
    for (int round = 0; round < 20; ++round) {
        mdist_strategy_t *strategy = join();
        Traffic traffic = {.seed = (uint32_t)round, .operations = 3};
        GIVES(MDIST_OK, mdist_run(strategy, traffic_step, &traffic, NULL, &error));
        if (rank != victim) {
            mdist_error_t *cause = NULL;
            const mdist_status_t status = mdist_run(strategy, barrier_step, NULL, NULL, &cause);
            REQUIRE(status == MDIST_ERR_PEER_LOST);
            REQUIRE(mdist_error_rank(cause) == victim);
            mdist_error_free(cause);
        }
        mdist_strategy_destroy(strategy);
    }
}

// --- the tests

typedef struct Job {
    const char *scenario;
    uint32_t workers, replicas;
    const char *variables[3]; // environment, as in Workers
    const char *limit;        // variable of a time limit that is to run out; NULL for none
    int started;
} Job;

/// Runs a job whose victim gets the signal at the moment.
static void strike(const Job *job, uint32_t victim_rank, int signal_number, uint32_t moment, uint32_t seed,
                   const char *store) {
    char devices[16], signal_line[32], when[32], number[32];
    snprintf(devices, sizeof devices, "cpu*%u", job->replicas);
    snprintf(signal_line, sizeof signal_line, "TEST_SIGNAL=%d", signal_number);
    snprintf(when, sizeof when, "TEST_MOMENT=%u", moment);
    snprintf(number, sizeof number, "TEST_SEED=%u", seed);
    const char *environment[8] = {signal_line, when, number};
    size_t count = 3;
    if (job->started) environment[count++] = "TEST_STARTED=1";
    for (size_t i = 0; i < 3 && job->variables[i] != NULL; ++i) environment[count++] = job->variables[i];
    const Workers workers = {.scenario = job->scenario,
                             .count = job->workers,
                             .devices = devices,
                             .environment = environment,
                             .victim = victim_rank,
                             .killed = signal_number == 9,
                             .store = store,
                             .replacement = strcmp(job->scenario, "one_is_replaced") == 0 ? "work_together" : NULL};
    if ((job->limit != NULL ? run_workers_in_time(&workers, job->limit) : run_workers(&workers)) == 0) return;
    print_error("%s: %u workers x %u replicas, victim %u, signal %d at moment %u, seed %u, %s\n", job->scenario,
                job->workers, job->replicas, victim_rank, signal_number, moment, seed,
                job->variables[0] != NULL ? job->variables[0] : "");
    fail();
}

#define SOCKETS "MDIST_COMMUNICATION_IMPLEMENTATION=tcp"

/// Runs all kinds of jobs in turn, and strikes each at another moment.
static void strike_often(const Job *jobs, size_t job_count, int signal_number, uint32_t times) {
    uint64_t random = test_seed(42);
    for (uint32_t i = 0; i < times; ++i) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const Job *job = &jobs[i % job_count];
        const uint32_t most = 1u << (random >> 52) % 12; // often in the first operations
        strike(job, (uint32_t)(random >> 40) % job->workers, signal_number, 1 + (uint32_t)(random >> 20) % most, i,
               NULL);
    }
}

static void a_killed_worker_is_named_to_all(void **unused) {
    (void)unused;
    static const Job jobs[] = {
        {"one_dies", 2, 1, {NULL}, NULL, 0}, {"one_dies", 3, 2, {SOCKETS}, NULL, 0},
        {"one_dies", 4, 1, {NULL}, NULL, 0}, {"one_dies", 2, 2, {SOCKETS}, NULL, 0},
        {"one_dies", 3, 2, {NULL}, NULL, 0}, {"one_dies", 4, 2, {SOCKETS}, NULL, 0},
    };
    strike_often(jobs, 6, 9, is_long() ? 160 : 12);
}

static void started_operations_end_with_a_killed_worker(void **unused) {
    (void)unused;
    static const Job jobs[] = {{"one_dies", 2, 2, {NULL}, NULL, 1},
                               {"one_dies", 3, 1, {SOCKETS}, NULL, 1},
                               {"one_dies", 3, 1, {NULL}, NULL, 1}};
    strike_often(jobs, 3, 9, is_long() ? 30 : 3);
}

static void a_worker_killed_at_any_time_is_named(void **unused) {
    (void)unused;
#define JOIN_SOON "MDIST_COMMUNICATION_JOIN_TIMEOUT"
    static const Job jobs[] = {{"one_dies_at_any_time", 3, 1, {NULL}, JOIN_SOON, 0},
                               {"one_dies_at_any_time", 4, 1, {SOCKETS}, JOIN_SOON, 0},
                               {"one_dies_at_any_time", 2, 2, {NULL}, JOIN_SOON, 0}};
    strike_often(jobs, 3, 9, is_long() ? 60 : 6);
}

static void a_work_destroyed_is_told_to_all(void **unused) {
    (void)unused;
    static const Job shared = {"one_destroys_its_work", 3, 1, {NULL}, NULL, 0};
    static const Job apart = {"one_destroys_its_work", 2, 2, {SOCKETS}, NULL, 0};
    strike(&shared, 1, 0, 0, 0, NULL);
    strike(&apart, 0, 0, 0, 0, NULL);
}

static void a_child_does_not_hide_its_parents_death(void **unused) {
    (void)unused;
    static const Job jobs[] = {{"one_dies_with_a_child", 3, 1, {NULL}, NULL, 0},
                               {"one_dies_with_a_child", 2, 2, {SOCKETS}, NULL, 0}};
    strike_often(jobs, 2, 9, is_long() ? 10 : 2);
}

static void a_stopped_worker_is_named_to_all(void **unused) {
    (void)unused;
#define SOON "MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT"
    static const Job jobs[] = {{"one_stops", 3, 1, {NULL}, SOON, 0},
                               {"one_stops", 2, 2, {SOCKETS}, SOON, 0},
                               {"one_stops", 2, 1, {NULL}, SOON, 1},
                               {"one_stops", 4, 1, {SOCKETS}, SOON, 0}};
    strike_often(jobs, 4, 19, is_long() ? 20 : 2);
}

static void after_a_loss_the_job_forms_again(void **unused) {
    (void)unused;
    char address[64];
    mdist_store_t *store = open_store(3, address, sizeof address);
    assert_non_null(store);
    static const Job dies = {"one_dies_then_all_leave", 3, 1, {NULL}, NULL, 0},
                     works = {"all_is_well", 3, 1, {NULL}, NULL, 0};
    for (uint32_t i = 0; i < 3; ++i) {
        strike(&dies, i, 9, 300, i, address);
        strike(&works, i, 0, 0, i, address);
    }
    mdist_store_destroy(store);
}

static void another_process_takes_the_place_of_a_killed_one(void **unused) {
    (void)unused;
    static const Job jobs[] = {{"one_is_replaced", 3, 1, {NULL}, NULL, 0},
                               {"one_is_replaced", 3, 2, {SOCKETS}, NULL, 0}};
    strike_often(jobs, 2, 9, is_long() ? 20 : 4);
}

static void a_strategy_is_created_again_by_all(void **unused) {
    (void)unused;
    static const Job shared = {"all_leave_together", 3, 1, {NULL}, NULL, 0};
    static const Job apart = {"all_leave_together", 2, 2, {SOCKETS}, NULL, 0};
    static const Job silent = {"all_leave_in_silence", 2, 1, {"MDIST_LOG_LEVEL=off"}, NULL, 0};
    strike(&shared, 0, 0, 0, 0, NULL);
    strike(&apart, 0, 0, 0, 0, NULL);
    strike(&silent, 0, 0, 0, 0, NULL);
}

static void one_that_leaves_is_missed_in_the_next_operation(void **unused) {
    (void)unused;
    static const Job shared = {"one_leaves", 2, 1, {NULL}, NULL, 0}, apart = {"one_leaves", 2, 2, {SOCKETS}, NULL, 0};
    strike(&shared, 1, 0, 0, 0, NULL);
    strike(&shared, 0, 0, 0, 0, NULL);
    strike(&apart, 1, 0, 0, 0, NULL);
}

static void what_was_done_with_one_that_leaves_is_done_for_all(void **unused) {
    (void)unused;
    static const Job jobs[] = {{"one_of_many_leaves", 3, 1, {NULL}, NULL, 0},
                               {"one_of_many_leaves", 4, 1, {SOCKETS}, NULL, 0},
                               {"one_of_many_leaves", 3, 2, {SOCKETS}, NULL, 0}};
    strike_often(jobs, 3, 0, is_long() ? 30 : 3);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_strategy_is_created_again_by_all),
        cmocka_unit_test(one_that_leaves_is_missed_in_the_next_operation),
        cmocka_unit_test(what_was_done_with_one_that_leaves_is_done_for_all),
        cmocka_unit_test(a_killed_worker_is_named_to_all),
        cmocka_unit_test(started_operations_end_with_a_killed_worker),
        cmocka_unit_test(a_worker_killed_at_any_time_is_named),
        cmocka_unit_test(a_work_destroyed_is_told_to_all),
        cmocka_unit_test(a_child_does_not_hide_its_parents_death),
        cmocka_unit_test(a_stopped_worker_is_named_to_all),
        cmocka_unit_test(another_process_takes_the_place_of_a_killed_one),
        cmocka_unit_test(after_a_loss_the_job_forms_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {
        {"one_dies", one_dies},
        {"one_dies_at_any_time", one_dies_at_any_time},
        {"one_destroys_its_work", one_destroys_its_work},
        {"one_stops", one_stops},
        {"one_dies_with_a_child", one_dies_with_a_child},
        {"one_is_cut_off", one_is_cut_off},
        {"one_connection_breaks", one_connection_breaks},
        {"one_is_cut_off_for_a_while", one_is_cut_off_for_a_while},
        {"all_end_when_one_is_asked", all_end_when_one_is_asked},
        {"one_dies_then_all_leave", one_dies_then_all_leave},
        {"work_together", work_together},
        {"one_is_replaced", one_is_replaced},
        {"all_is_well", all_is_well},
        {"all_leave_together", all_leave_together},
        {"all_leave_in_silence", all_leave_in_silence},
        {"one_leaves", one_leaves},
        {"one_of_many_leaves", one_of_many_leaves},
    };
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
