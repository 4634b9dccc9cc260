// SPDX-License-Identifier: Apache-2.0
// Workers under hardship: bytes that change on the way, signals without end, no descriptors left. They get right sums
// or the right failure, never a wrong sum or none; and when the hardship is over, all is well.
#include "traffic.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { OPERATIONS = 200 };

static Traffic traffic_of(uint32_t seed, uint32_t operations) {
    const Traffic traffic = {.seed = seed, .operations = operations, .started = getenv("TEST_STARTED") != NULL};
    return traffic;
}

// --- bytes that change

/// Of the bytes that this worker has received while it is awake: the one of this number changes. 0: none.
static atomic_uint_fast64_t changes_at, received;

/// In the library's place: what it receives from other workers.
__attribute__((visibility("default"))) ssize_t recvmsg(int socket, struct msghdr *header, int flags) {
    const __typeof__(&recvmsg) real = __extension__(__typeof__(&recvmsg)) dlsym(RTLD_NEXT, "recvmsg");
    const ssize_t got = real(socket, header, flags);
    if (got <= 0 || changes_at == 0) return got;
    uint64_t at = received;
    received += (uint64_t)got;
    if (changes_at <= at || changes_at > received) return got;
    at = changes_at - at - 1;
    size_t part = 0;
    while (at >= header->msg_iov[part].iov_len) at -= header->msg_iov[part++].iov_len;
    ((char *)header->msg_iov[part].iov_base)[at] ^= 0x10;
    return got;
}

/// Somewhere in the traffic, headers and frames included.
static void bytes_change(void) {
    mdist_strategy_t *strategy = join();
    Traffic traffic = traffic_of((uint32_t)atoi(getenv("TEST_SEED")), 0);
    if (rank == victim) changes_at = (uint64_t)atoll(getenv("TEST_BYTE"));
    GIVES(MDIST_ERR_DATA_LOSS, mdist_run(strategy, traffic_step, &traffic, NULL, 0, NULL, 0, NULL, &error));
    REQUIRE(!traffic.wrong);
    REQUIRE(strcmp(reason, "checksum") == 0);
    REQUIRE(guilty_worker >= 0 && guilty_worker != (int32_t)victim); // the one whose bytes they were
    if (worker_count == 2) REQUIRE(guilty_worker == 1 - (int32_t)victim);
    GIVES(MDIST_ERR_ABORTED, mdist_run(strategy, traffic_step, &traffic, NULL, 0, NULL, 0, NULL, &error));
    mdist_strategy_destroy(strategy);
}

// --- signals

static volatile sig_atomic_t interrupted;

static void count_signal(int number) {
    (void)number;
    ++interrupted;
}

/// One each millisecond, while forming, too; and no system call goes on by itself after it.
static void storm_of_signals(void) {
    struct sigaction action = {0};
    action.sa_handler = count_signal;
    const struct itimerval each_millisecond = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    REQUIRE(sigaction(SIGALRM, &action, NULL) == 0);
    REQUIRE(setitimer(ITIMER_REAL, &each_millisecond, NULL) == 0);
    for (uint32_t round = 0; round < 3; ++round) {
        mdist_strategy_t *strategy = join();
        Traffic traffic = traffic_of(round, OPERATIONS);
        GIVES(MDIST_OK, mdist_run(strategy, traffic_step, &traffic, NULL, 0, NULL, 0, NULL, &error));
        mdist_strategy_destroy(strategy);
    }
    REQUIRE(setitimer(ITIMER_REAL, &never, NULL) == 0);
    REQUIRE(interrupted > 10);
}

// --- descriptors

enum { MOST_DESCRIPTORS = 256 };

static int taken[MOST_DESCRIPTORS];
static size_t taken_count;

/// Leaves `left` of those that this process may have.
static void take_descriptors(size_t left) {
    const struct rlimit limit = {MOST_DESCRIPTORS, MOST_DESCRIPTORS};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    for (int one; (one = dup(0)) >= 0;) taken[taken_count++] = one;
    REQUIRE(errno == EMFILE && taken_count >= left);
    while (left-- > 0) close(taken[--taken_count]);
}

static void give_descriptors_back(void) {
    while (taken_count > 0) close(taken[--taken_count]);
}

/// What is formed needs no more.
static void no_descriptors_while_running(void) {
    mdist_strategy_t *strategy = join();
    for (int round = 0; round < 2; ++round) {
        if (rank == victim && round == 0) take_descriptors(0);
        Traffic traffic = traffic_of(1, OPERATIONS);
        GIVES(MDIST_OK, mdist_run(strategy, traffic_step, &traffic, NULL, 0, NULL, 0, NULL, &error));
        give_descriptors_back();
    }
    mdist_strategy_destroy(strategy);
}

/// 1 if the workers have formed and done something together; else why not is as it should be.
static int forms(void) {
    mdist_strategy_t *strategy = NULL;
    mdist_error_t *error = NULL;
    Traffic traffic = traffic_of(1, 5);
    mdist_status_t status = mdist_strategy_create(NULL, &strategy, &error);
    if (status == MDIST_OK) status = mdist_run(strategy, traffic_step, &traffic, NULL, 0, NULL, 0, NULL, &error);
    const int told = status == MDIST_ERR_TIMEOUT || (rank == victim && status == MDIST_ERR_RESOURCE) ||
                     (mdist_error_worker(error) >= 0 && (status == MDIST_ERR_ABORTED || status == MDIST_ERR_PEER_LOST));
    if (status != MDIST_OK)
        fprintf(stderr, "worker %u, %s: %s: %s\n", rank, strategy == NULL ? "forming" : "running",
                mdist_status_name(status), mdist_error_message(error));
    REQUIRE(status == MDIST_OK || told);
    mdist_error_free(error);
    mdist_strategy_destroy(strategy);
    return status == MDIST_OK;
}

/// One more at each attempt, until they are enough.
static void no_descriptors_while_forming(void) {
    const size_t step = is_long() ? 1 : 3;
    for (size_t left = 0;; left += step) {
        REQUIRE(left < 60);
        if (rank == victim) take_descriptors(left);
        const int formed = forms();
        give_descriptors_back();
        if (formed) return;
    }
}

// --- the tests

static void check(const char *scenario, uint32_t workers, uint32_t victim_rank, const char *const *environment) {
    const Workers job = {.scenario = scenario,
                         .count = workers,
                         .devices = workers == 2 ? "cpu*2" : "cpu*1",
                         .environment = environment,
                         .victim = victim_rank};
    if (run_workers(&job) == 0) return;
    print_error("%s: %u workers, victim %u, %s\n", scenario, workers, victim_rank,
                environment[0] != NULL ? environment[0] : "");
    fail();
}

#define SOCKETS "MDIST_COMMUNICATION_IMPLEMENTATION=tcp"
#define CHECKSUMS "MDIST_COMMUNICATION_CHECKSUM=crc32c"
static const char *const anything[] = {NULL}, *const sockets[] = {SOCKETS, NULL};

static void bytes_that_change_are_told_to_all(void **unused) {
    (void)unused;
    uint64_t random = 7;
    for (uint32_t i = 0; i < (is_long() ? 40u : 6u); ++i) {
        char byte[32], seed[32];
        random = random * 6364136223846793005u + 1442695040888963407u;
        snprintf(byte, sizeof byte, "TEST_BYTE=%u", 1 + (uint32_t)(random >> 34) % (i % 2 == 0 ? 3000 : 3000000));
        snprintf(seed, sizeof seed, "TEST_SEED=%u", i);
        const char *const environment[] = {byte, seed, SOCKETS, CHECKSUMS, i % 3 == 0 ? "TEST_STARTED=1" : NULL, NULL};
        check("bytes_change", 2 + i % 2, i % 2, environment);
    }
}

static void signals_without_end_disturb_nobody(void **unused) {
    (void)unused;
    static const char *const started[] = {SOCKETS, "TEST_STARTED=1", NULL};
    check("storm_of_signals", 3, 0, anything);
    check("storm_of_signals", 2, 0, sockets);
    check("storm_of_signals", 3, 0, started);
}

static void running_needs_no_more_descriptors(void **unused) {
    (void)unused;
    static const char *const started[] = {SOCKETS, "TEST_STARTED=1", NULL};
    check("no_descriptors_while_running", 3, 1, anything);
    check("no_descriptors_while_running", 2, 0, sockets);
    check("no_descriptors_while_running", 3, 2, started);
}

#define JOIN_SOON "MDIST_COMMUNICATION_JOIN_TIMEOUT=2s"

static void who_lacks_descriptors_says_so_and_can_join_later(void **unused) {
    (void)unused;
    static const char *const shared_soon[] = {JOIN_SOON, NULL}, *const sockets_soon[] = {JOIN_SOON, SOCKETS, NULL};
    check("no_descriptors_while_forming", 3, 1, shared_soon);
    check("no_descriptors_while_forming", 2, 0, sockets_soon);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_that_change_are_told_to_all),
        cmocka_unit_test(signals_without_end_disturb_nobody),
        cmocka_unit_test(running_needs_no_more_descriptors),
        cmocka_unit_test(who_lacks_descriptors_says_so_and_can_join_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {
        {"bytes_change", bytes_change},
        {"storm_of_signals", storm_of_signals},
        {"no_descriptors_while_running", no_descriptors_while_running},
        {"no_descriptors_while_forming", no_descriptors_while_forming},
    };
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
