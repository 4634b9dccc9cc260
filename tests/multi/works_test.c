// SPDX-License-Identifier: Apache-2.0
// Several started collectives at once over workers x replicas: the numbers, the order, polling, and every way to fail.
#include "multi.h"
#include "started.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH = 8, LONG = 50000, MOST_LOCAL = 4, ROUNDS = 12 };

typedef struct Started {
    float numbers[LONG];
    mdist_buffer_t buffer;
    mdist_work_t *work;
} Started;

static Started all[MOST_LOCAL][DEPTH];

static uint64_t elements_of(int at) {
    static const uint64_t sizes[] = {1, LONG, 100, 0, 3000};
    return sizes[at % 5];
}

static Started *prepare(mdist_replica_t *replica, int at) {
    Started *self = &all[mdist_replica_local_index(replica)][at];
    const int32_t id = mdist_replica_id(replica);
    self->buffer = buffer_of(self->numbers, MDIST_FLOAT32, elements_of(at));
    self->work = NULL;
    for (int i = 0; i < LONG; ++i) self->numbers[i] = (float)(at * 10 + id + i % 7);
    return self;
}

static mdist_status_t start(mdist_replica_t *replica, Started *self, int at) {
    return at % 3 == 2 ? start_broadcast(replica, 1, &self->buffer, 1, &self->work, NULL, NULL)
                       : start_all_reduce(replica, MDIST_SUM, &self->buffer, &self->buffer, 1, &self->work, NULL, NULL);
}

static mdist_status_t block(mdist_replica_t *replica, Started *self, int at) {
    return at % 3 == 2 ? mdist_broadcast(replica, 1, &self->buffer, 1, NULL, NULL)
                       : mdist_all_reduce(replica, MDIST_SUM, &self->buffer, &self->buffer, 1, NULL, NULL);
}

static int is_right(const Started *self, uint32_t n, int at) {
    for (uint64_t i = 0; i < self->buffer.elements; ++i) {
        const float one = (float)(at * 10 + (int)(i % 7));
        if (self->numbers[i] != (at % 3 == 2 ? one + 1 : (float)n * one + (float)(n * (n - 1) / 2))) return 0;
    }
    return 1;
}

static mdist_status_t wait_by_poll(mdist_work_t *work) {
    int32_t descriptor = -1, done = 0;
    mdist_status_t status = mdist_work_descriptor(work, &descriptor, NULL);
    while (status == MDIST_OK && !done) {
        struct pollfd self = {.fd = descriptor, .events = POLLIN};
        const int ready = poll(&self, 1, 60000);
        if (ready < 0 && errno == EINTR) continue;
        status = ready == 1 ? mdist_work_test(work, &done, NULL) : MDIST_ERR_INTERNAL;
    }
    if (descriptor >= 0) close(descriptor);
    return status;
}

/// Some replicas start them all and wait in an order of their own, some poll, some make blocking calls. The roles
/// change from round to round.
static int32_t mixed_step(mdist_replica_t *replica, void *user_data) {
    const int round = *(const int *)user_data;
    const int32_t id = mdist_replica_id(replica);
    const uint32_t n = (uint32_t)mdist_replica_count(replica);
    const int form = (round + id) % 4;
    Started *self[DEPTH];
    for (int at = 0; at < DEPTH; ++at) {
        self[at] = prepare(replica, at);
        const int blocks = form == 0 || (form == 1 && at == 5);
        if ((blocks ? block : start)(replica, self[at], at) != MDIST_OK) return 1;
    }
    if (round % 3 == 2 && mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 2;
    for (int i = 0; i < DEPTH; ++i) {
        const int at = (i * 3 + round + id) % DEPTH;
        int32_t done = 0;
        if (self[at]->work != NULL) {
            const mdist_status_t status =
                form == 2 ? wait_by_poll(self[at]->work) : mdist_work_wait(self[at]->work, MDIST_FOREVER, &done, NULL);
            if (status != MDIST_OK) return 3;
        }
        if (!is_right(self[at], n, at)) return 4;
        mdist_work_destroy(self[at]->work);
    }
    return 0;
}

static void several_at_once(void) {
    mdist_strategy_t *strategy = join();
    for (int round = 0; round < (is_long() ? 20 * ROUNDS : ROUNDS); ++round)
        GIVES(MDIST_OK, mdist_run(strategy, mixed_step, &round, NULL, &error));
    mdist_strategy_destroy(strategy);
}

/// Worker 0 starts all and does something else until worker 1 has all results. No call on worker 0 drives them.
static int32_t busy_step(mdist_replica_t *replica, void *user_data) {
    const char *pipe_path = user_data;
    const uint32_t n = (uint32_t)mdist_replica_count(replica);
    const int first = mdist_replica_local_index(replica) == 0;
    for (int at = 0; at < DEPTH; ++at) {
        Started *self = prepare(replica, at);
        if (start(replica, self, at) != MDIST_OK) return 1;
        if (rank == 0) continue;
        int32_t done = 0;
        if (mdist_work_wait(self->work, MDIST_FOREVER, &done, NULL) != MDIST_OK || !is_right(self, n, at)) return 2;
    }
    if (rank == 1 && first) {
        FILE *told = fopen(pipe_path, "w"); // opens when worker 0 listens
        if (told == NULL || fclose(told) != 0) return 3;
    }
    if (rank == 0 && first) {
        FILE *heard = fopen(pipe_path, "r");
        if (heard == NULL || fgetc(heard) != EOF || fclose(heard) != 0) return 4;
    }
    for (int at = 0; at < DEPTH; ++at) {
        Started *self = &all[mdist_replica_local_index(replica)][at];
        int32_t done = 0;
        if (mdist_work_wait(self->work, MDIST_FOREVER, &done, NULL) != MDIST_OK || !is_right(self, n, at)) return 5;
        mdist_work_destroy(self->work);
    }
    return 0;
}

static void all_go_on(void) {
    mdist_strategy_t *strategy = join();
    GIVES(MDIST_OK, mdist_run(strategy, busy_step, getenv("TEST_PIPE"), NULL, &error));
    mdist_strategy_destroy(strategy);
}

// ---- Failures: from its third operation on, the victim does something else. The others poll or wait.

typedef struct Failing {
    enum { MISMATCH, DIES, LEAVES, DESTROYS, ABORTS, IS_LATE } how;
    mdist_strategy_t *strategy;
    atomic_int wrong;
} Failing;

static int32_t befall(Failing *self, mdist_replica_t *replica) {
    Started *third = prepare(replica, 2);
    int32_t done = 0;
    switch (self->how) {
        case MISMATCH:
            return start_all_reduce(replica, MDIST_MAX, &third->buffer, &third->buffer, 1, &third->work, NULL, NULL) !=
                       MDIST_OK ||
                   mdist_work_wait(third->work, MDIST_FOREVER, &done, NULL) != MDIST_OK;
        case DIES:
            return raise(SIGKILL);
        case LEAVES:
            return 0;
        case DESTROYS:
            for (int at = 2; at < DEPTH; ++at)
                if (start(replica, prepare(replica, at), at) != MDIST_OK) return 1;
            mdist_work_destroy(all[mdist_replica_local_index(replica)][4].work);
            all[mdist_replica_local_index(replica)][4].work = NULL;
            return 0;
        case ABORTS:
            mdist_strategy_abort(self->strategy);
            return 0;
        default:
            outlive_others();
            return 0;
    }
}

/// The others get two results, and a failure for everything after that.
static int32_t failing_step(mdist_replica_t *replica, void *user_data) {
    Failing *self = user_data;
    const uint32_t n = (uint32_t)mdist_replica_count(replica);
    const uint32_t local = mdist_replica_local_index(replica);
    const int struck = rank == victim && local == 0;
    int failed = 0;
    for (int at = 0; at < DEPTH; ++at) all[local][at].work = NULL;
    for (int at = 0; at < (struck ? 2 : DEPTH); ++at)
        if (start(replica, prepare(replica, at), at) != MDIST_OK) failed = 1;
    for (int at = 0; at < 2; ++at) { // the victim has waited for these before it fails
        int32_t done = 0;
        if (all[local][at].work == NULL) continue;
        const mdist_status_t status = mdist_work_wait(all[local][at].work, MDIST_FOREVER, &done, NULL);
        if (struck && (status != MDIST_OK || !done)) ++self->wrong;
        if (status == MDIST_OK && !is_right(&all[local][at], n, at)) ++self->wrong;
    }
    if (struck) failed = befall(self, replica);
    for (int at = 2; !struck && at < DEPTH; ++at) {
        if (all[local][at].work == NULL) continue;
        if (wait_by_poll(all[local][at].work) != MDIST_OK)
            failed = 1;
        else if (at == 2 && self->how != DESTROYS)
            ++self->wrong;
        else if (!is_right(&all[local][at], n, at))
            ++self->wrong;
    }
    for (int at = 0; at < DEPTH; ++at) mdist_work_destroy(all[local][at].work);
    return failed;
}

static void fail_somehow(void) {
    Failing self = {.how = atoi(getenv("TEST_HOW"))};
    self.strategy = join();
    mdist_error_t *cause = NULL;
    const mdist_status_t status = mdist_run(self.strategy, failing_step, &self, NULL, &cause);
    REQUIRE(!self.wrong);
    const mdist_status_t told = self.how == MISMATCH  ? MDIST_ERR_MISMATCH
                                : self.how == DIES    ? MDIST_ERR_PEER_LOST
                                : self.how == IS_LATE ? MDIST_ERR_TIMEOUT
                                                      : status;
    if (status != told)
        fprintf(stderr, "worker %u: %s: %s\n", rank, mdist_status_name(status), mdist_error_message(cause));
    REQUIRE_UNLESS_LATE(status == told || (self.how == IS_LATE && rank == victim), status);
    // A work may be done before it is destroyed.
    if (rank != victim) REQUIRE(status != MDIST_OK || self.how == DESTROYS);
    if (self.how == DIES) REQUIRE(mdist_error_rank(cause) == victim);
    mdist_error_free(cause);
    mdist_strategy_destroy(self.strategy);
}

// ---- Functions that the library calls: no call on these replicas drives their operations.

typedef struct Told {
    atomic_int calls, failed;
} Told;

static void tell(mdist_status_t status, void *user_data) {
    Told *const self = user_data;
    if (status != MDIST_OK) atomic_fetch_add(&self->failed, 1);
    atomic_fetch_add(&self->calls, 1);
}

/// With `dying`, the victim ends after its second operation, and the others hear of that by the same functions.
static int32_t told_step(mdist_replica_t *replica, void *user_data) {
    const int dying = user_data != NULL;
    const uint32_t n = (uint32_t)mdist_replica_count(replica), local = mdist_replica_local_index(replica);
    const int struck = dying && rank == victim;
    Told told = {0};
    int right = 1, started = 0;
    for (int at = 0; at < (struck ? 2 : DEPTH); ++at, ++started) {
        Started *const self = prepare(replica, at);
        if (start(replica, self, at) != MDIST_OK) break;
        if (mdist_work_on_done(self->work, tell, &told, NULL) != MDIST_OK) GIVE_UP("mdist_work_on_done");
    }
    while (atomic_load(&told.calls) < started) sched_yield();
    if (struck) return raise(SIGKILL);
    for (int at = 0; at < started; ++at) {
        int32_t done = 0;
        const mdist_status_t status = mdist_work_test(all[local][at].work, &done, NULL);
        if (!dying && (status != MDIST_OK || !done)) right = 0;
        if (status == MDIST_OK && !is_right(&all[local][at], n, at)) right = 0;
        mdist_work_destroy(all[local][at].work);
    }
    if (!right || (atomic_load(&told.failed) != 0) != dying) GIVE_UP("a function was told something else");
    return 0;
}

static void functions_are_told(void) {
    static char dying[] = "dying";
    char *const how = getenv("TEST_DYING") != NULL ? dying : NULL;
    mdist_strategy_t *strategy = join();
    mdist_error_t *cause = NULL;
    const mdist_status_t status = mdist_run(strategy, told_step, how, NULL, &cause);
    REQUIRE(status == (how != NULL ? MDIST_ERR_PEER_LOST : MDIST_OK));
    mdist_error_free(cause);
    mdist_strategy_destroy(strategy);
}

// ---- The tests.

static void check(const char *scenario, uint32_t workers, const char *devices, const char *const *environment) {
    const Workers job = {.scenario = scenario, .count = workers, .devices = devices, .environment = environment};
    assert_int_equal(run_workers(&job), 0);
}

static const char *const sockets[] = {"MDIST_COMMUNICATION_IMPLEMENTATION=tcp", NULL};

static void several_under_way_over_workers_and_replicas(void **unused) {
    (void)unused;
    check("several_at_once", 2, "cpu*1", NULL);
    check("several_at_once", 2, "cpu*2", NULL);
    check("several_at_once", 3, "cpu*1", sockets);
    check("several_at_once", 2, "cpu*3", sockets);
    check("several_at_once", 3, "cpu*3|cpu*3|cpu*1", NULL);
    check("several_at_once", 4, "cpu*1|cpu*1|cpu*1|cpu*2", sockets);
}

static void all_go_on_while_their_replicas_do_something_else(void **unused) {
    (void)unused;
    char folder[] = "/tmp/mdist-multi-XXXXXX", path[64], variable[80];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/pipe", folder);
    snprintf(variable, sizeof variable, "TEST_PIPE=%s", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    const char *const shared[] = {variable, NULL};
    const char *const by_sockets[] = {variable, sockets[0], NULL};
    int failures = 0;
    for (int replicas = 1; replicas <= 2; ++replicas) {
        const char *const devices = replicas == 1 ? "cpu*1" : "cpu*2";
        const Workers over_memory = {.scenario = "all_go_on", .count = 2, .devices = devices, .environment = shared};
        const Workers over_sockets = {
            .scenario = "all_go_on", .count = 2, .devices = devices, .environment = by_sockets};
        failures += run_workers(&over_memory) + run_workers(&over_sockets);
    }
    unlink(path);
    rmdir(folder);
    assert_int_equal(failures, 0);
}

static void functions_are_called_while_replicas_do_something_else(void **unused) {
    (void)unused;
    check("functions_are_told", 2, "cpu*1", NULL);
    check("functions_are_told", 2, "cpu*2", sockets);
    check("functions_are_told", 3, "cpu*1|cpu*2|cpu*1", NULL);
    static const char *const dying[] = {"TEST_DYING=1", NULL};
    const Workers job = {.scenario = "functions_are_told",
                         .count = 2,
                         .devices = "cpu*1",
                         .environment = dying,
                         .victim = 1,
                         .killed = 1};
    assert_int_equal(run_workers(&job), 0);
}

static void every_failure_ends_what_is_queued(void **unused) {
    (void)unused;
    for (int how = MISMATCH; how <= IS_LATE; ++how) {
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
            const int failed =
                how == IS_LATE ? run_workers_in_time(&job, "MDIST_COMMUNICATION_TIMEOUT") : run_workers(&job);
            if (failed) fail_msg("kind %d of failure, %d replicas", how, replicas);
        }
    }
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_under_way_over_workers_and_replicas),
        cmocka_unit_test(all_go_on_while_their_replicas_do_something_else),
        cmocka_unit_test(functions_are_called_while_replicas_do_something_else),
        cmocka_unit_test(every_failure_ends_what_is_queued),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {{"several_at_once", several_at_once},
                                              {"all_go_on", all_go_on},
                                              {"fail_somehow", fail_somehow},
                                              {"functions_are_told", functions_are_told}};
    return multi_main(argument_count, arguments, scenarios, 4, test_all);
}
