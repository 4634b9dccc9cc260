// SPDX-License-Identifier: Apache-2.0
// Workers under hardship: bytes change on the way, signals arrive all the time, no descriptors or no shared memory are
// left. Workers must get right sums or the right failure, never a wrong sum, and must not hang. Once the hardship is
// over, everything works again.
#include "traffic.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
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

/// Changes one byte that this worker receives: the one of this number, counted from when it is set. 0: none.
static atomic_uint_fast64_t changes_at, received;

/// Replaces the system's function, through which the library receives from other workers.
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

/// Changes the byte of this number in the next header of a frame on a control connection. 0: none. Such headers are
/// recognised by their length.
static atomic_uint_fast64_t changes_header_at;

__attribute__((visibility("default"))) ssize_t recv(int socket, void *bytes, size_t length, int flags) {
    enum { HEADER_BYTES = 32 };
    const __typeof__(&recv) real = __extension__(__typeof__(&recv)) dlsym(RTLD_NEXT, "recv");
    const ssize_t got = real(socket, bytes, length, flags);
    const uint_fast64_t at = changes_header_at;
    if (at == 0 || length != HEADER_BYTES || got < (ssize_t)at) return got;
    changes_header_at = 0;
    ((char *)bytes)[at - 1] ^= 0x10;
    return got;
}

/// Changes a byte of a message's header. The library does not check payloads, but it must report a header that no
/// worker has sent, and not as an internal error.
static void messages_change(void) {
    mdist_strategy_t *strategy = join();
    const int control = getenv("TEST_CONTROL") != NULL;
    Traffic before = traffic_of(1, 1), traffic = traffic_of(1, 0);
    // Its data connections are made with this, so the next header is one of a control connection.
    if (control) GIVES(MDIST_OK, mdist_run(strategy, traffic_step, &before, NULL, &error));
    if (rank == victim) *(control ? &changes_header_at : &changes_at) = (uint64_t)atoll(getenv("TEST_BYTE"));
    mdist_error_t *cause = NULL;
    const mdist_status_t status = mdist_run(strategy, traffic_step, &traffic, NULL, &cause);
    fprintf(stderr, "worker %u: %s: %s\n", rank, mdist_status_name(status), mdist_error_message(cause));
    REQUIRE(!traffic.wrong);
    REQUIRE_UNLESS_LATE(
        status == (control ? MDIST_ERR_PEER_LOST : MDIST_ERR_DATA_LOSS) || (!control && status == MDIST_ERR_MISMATCH),
        status);
    if (rank == victim && !control) REQUIRE(mdist_error_rank(cause) == 1 - rank);
    REQUIRE(mdist_error_rank(cause) != MDIST_NONE);
    mdist_error_free(cause);
    mdist_strategy_destroy(strategy);
}

/// Changes a byte anywhere in the traffic, headers and frames included.
static void bytes_change(void) {
    mdist_strategy_t *strategy = join();
    Traffic traffic = traffic_of((uint32_t)atoi(getenv("TEST_SEED")), 0);
    if (rank == victim) changes_at = (uint64_t)atoll(getenv("TEST_BYTE"));
    GIVES(MDIST_ERR_DATA_LOSS, mdist_run(strategy, traffic_step, &traffic, NULL, &error));
    REQUIRE(!traffic.wrong);
    REQUIRE(strcmp(reason, "checksum") == 0);
    REQUIRE(guilty_worker != MDIST_NONE && guilty_worker != victim); // the worker that sent the bytes
    if (worker_count == 2) REQUIRE(guilty_worker == 1 - victim);
    GIVES(MDIST_ERR_ABORTED, mdist_run(strategy, traffic_step, &traffic, NULL, &error));
    mdist_strategy_destroy(strategy);
}

// --- signals

static volatile sig_atomic_t interrupted;

static void count_signal(int number) {
    (void)number;
    ++interrupted;
}

/// Sends a signal each millisecond, also while forming. System calls do not restart after it.
static void storm_of_signals(void) {
    struct sigaction action = {0};
    action.sa_handler = count_signal;
    const struct itimerval each_millisecond = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    REQUIRE(sigaction(SIGALRM, &action, NULL) == 0);
    REQUIRE(setitimer(ITIMER_REAL, &each_millisecond, NULL) == 0);
    for (uint32_t round = 0; round < 3; ++round) {
        mdist_strategy_t *strategy = join();
        Traffic traffic = traffic_of(round, OPERATIONS);
        GIVES(MDIST_OK, mdist_run(strategy, traffic_step, &traffic, NULL, &error));
        mdist_strategy_destroy(strategy);
    }
    REQUIRE(setitimer(ITIMER_REAL, &never, NULL) == 0);
    REQUIRE(interrupted > 10);
}

// --- descriptors

enum { MOST_DESCRIPTORS = 256 };

static int taken[MOST_DESCRIPTORS];
static size_t taken_count;

/// Takes all descriptors that this process may have, except `left`.
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

/// Workers that have exchanged data need no more descriptors.
static void no_descriptors_while_running(void) {
    mdist_strategy_t *strategy = join();
    for (int round = 0; round < 3; ++round) {
        if (rank == victim && round == 1) take_descriptors(0);
        Traffic traffic = traffic_of(1, OPERATIONS);
        GIVES(MDIST_OK, mdist_run(strategy, traffic_step, &traffic, NULL, &error));
        give_descriptors_back();
    }
    mdist_strategy_destroy(strategy);
}

/// Returns OK if the workers have formed and done something together. Otherwise checks that the reason is a proper one.
static mdist_status_t forms(void) {
    mdist_strategy_t *strategy = NULL;
    mdist_error_t *error = NULL;
    Traffic traffic = traffic_of(1, 5);
    mdist_status_t status = mdist_strategy_create(NULL, &strategy, &error);
    if (status == MDIST_OK) status = mdist_run(strategy, traffic_step, &traffic, NULL, &error);
    const int told =
        status == MDIST_ERR_TIMEOUT || (rank == victim && status == MDIST_ERR_RESOURCE) ||
        (mdist_error_rank(error) != MDIST_NONE && (status == MDIST_ERR_ABORTED || status == MDIST_ERR_PEER_LOST));
    if (status != MDIST_OK)
        fprintf(stderr, "worker %u, %s: %s: %s\n", rank, strategy == NULL ? "forming" : "running",
                mdist_status_name(status), mdist_error_message(error));
    REQUIRE(status == MDIST_OK || told);
    mdist_error_free(error);
    mdist_strategy_destroy(strategy);
    return status;
}

/// Leaves a few more descriptors at each attempt, until they are enough.
static void no_descriptors_while_forming(void) {
    const size_t step = is_long() ? 1 : 3;
    mdist_status_t status = MDIST_OK;
    for (size_t left = 0;; left += step) {
        REQUIRE_UNLESS_LATE(left < 60, status);
        if (rank == victim) take_descriptors(left);
        status = forms();
        give_descriptors_back();
        if (status == MDIST_OK) return;
    }
}

// --- shared memory

/// Returns the folder of a file system that fills up, if shared memory is to come from there; else NULL.
static const char *memory_folder(void) {
    return getenv("TEST_MEMORY");
}

/// Replaces the system's function, as on a host that gives no more memory than it has (vm.overcommit_memory = 2).
/// Touching a page that does not exist raises SIGBUS.
__attribute__((visibility("default"))) int memfd_create(const char *name, unsigned flags) {
    if (memory_folder() != NULL) return open(memory_folder(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    const __typeof__(&memfd_create) real = __extension__(__typeof__(&memfd_create)) dlsym(RTLD_NEXT, "memfd_create");
    return real(name, flags);
}

/// Replaces the system's function, since files of that folder take no seals.
__attribute__((visibility("default"))) int fcntl(int file, int command, ...) {
    va_list more;
    va_start(more, command);
    void *const argument = va_arg(more, void *);
    va_end(more);
    if (memory_folder() != NULL && command == F_ADD_SEALS) return 0;
    if (memory_folder() != NULL && command == F_GET_SEALS) return F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    const __typeof__(&fcntl) real = __extension__(__typeof__(&fcntl)) dlsym(RTLD_NEXT, "fcntl");
    return real(file, command, argument);
}

/// The sums are right, or an error says what is missing. Wherever the memory ends, no signal ends the worker.
static void no_shared_memory_left(void) {
    mdist_strategy_t *strategy = join();
    mdist_error_t *error = NULL;
    Traffic traffic = traffic_of(3, OPERATIONS);
    const mdist_status_t status = mdist_run(strategy, traffic_step, &traffic, NULL, &error);
    REQUIRE(!traffic.wrong);
    if (status != MDIST_OK) fprintf(stderr, "# %s: %s\n", mdist_status_name(status), mdist_error_message(error));
    REQUIRE(status == MDIST_OK || status == MDIST_ERR_RESOURCE || status == MDIST_ERR_OUT_OF_MEMORY ||
            ((status == MDIST_ERR_ABORTED || status == MDIST_ERR_PEER_LOST) && mdist_error_rank(error) != MDIST_NONE));
    REQUIRE(status == MDIST_OK || getenv("TEST_SHORT") != NULL);
    mdist_error_free(error);
    mdist_strategy_destroy(strategy);
}

// --- the tests

/// `limit` is the variable of a time limit that is short, or NULL.
static void check_job(const char *scenario, uint32_t workers, uint32_t victim_rank, const char *const *environment,
                      const char *limit) {
    const Workers job = {.scenario = scenario,
                         .count = workers,
                         .devices = workers == 2 ? "cpu*2" : "cpu*1",
                         .environment = environment,
                         .victim = victim_rank};
    if ((limit != NULL ? run_workers_in_time(&job, limit) : run_workers(&job)) == 0) return;
    print_error("%s: %u workers, victim %u, %s\n", scenario, workers, victim_rank,
                environment[0] != NULL ? environment[0] : "");
    fail();
}

static void check(const char *scenario, uint32_t workers, uint32_t victim_rank, const char *const *environment) {
    check_job(scenario, workers, victim_rank, environment, NULL);
}

#define SOCKETS "MDIST_COMMUNICATION_IMPLEMENTATION=tcp"
#define CHECKSUMS "MDIST_COMMUNICATION_CHECKSUM=crc32c"
static const char *const anything[] = {NULL}, *const sockets[] = {SOCKETS, NULL};

static void bytes_that_change_are_told_to_all(void **unused) {
    (void)unused;
    uint64_t random = test_seed(7);
    for (uint32_t i = 0; i < (is_long() ? 40u : 6u); ++i) {
        char byte[32], seed[32];
        random = random * 6364136223846793005u + 1442695040888963407u;
        snprintf(byte, sizeof byte, "TEST_BYTE=%u", 1 + (uint32_t)(random >> 34) % (i % 2 == 0 ? 3000 : 3000000));
        snprintf(seed, sizeof seed, "TEST_SEED=%u", i);
        const char *const environment[] = {byte, seed, SOCKETS, CHECKSUMS, i % 3 == 0 ? "TEST_STARTED=1" : NULL, NULL};
        check("bytes_change", 2 + i % 2, i % 2, environment);
    }
}

static void change_messages(uint32_t byte, const char *control) {
    char line[32];
    snprintf(line, sizeof line, "TEST_BYTE=%u", byte);
    // A shorter limit means more heartbeats, so more bytes to change.
    const char *const environment[] = {line, SOCKETS, control, NULL};
    check_job("messages_change", 2, byte % 2, environment, "MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT");
}

/// Changes the first message: its tag, its length or the header of its operation. Or a header on a control connection.
static void a_changed_message_is_no_fault_of_the_library(void **unused) {
    (void)unused;
    static const uint32_t data[] = {1, 9, 16, 25, 41, 45, 81, 88}, control[] = {1, 6, 9, 17};
    for (uint32_t i = 0; i < (is_long() ? 16u : sizeof data / sizeof data[0]); ++i)
        change_messages(is_long() ? i + 1 : data[i], NULL);
    for (uint32_t i = 0; i < (is_long() ? 32u : sizeof control / sizeof control[0]); ++i)
        change_messages(is_long() ? i + 1 : control[i], "TEST_CONTROL=1");
}

static void signals_without_end_disturb_nobody(void **unused) {
    (void)unused;
    static const char *const started[] = {SOCKETS, "TEST_STARTED=1", NULL};
    check("storm_of_signals", 3, 0, anything);
    check("storm_of_signals", 2, 0, sockets);
    check("storm_of_signals", 3, 0, started);
}

/// Skips the test if the compiler's check of virtual tables needs a pipe to look at memory. If it cannot make one, it
/// reports good objects as bad.
static void need_no_pipe(void) {
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
}

static void workers_that_are_connected_need_no_more_descriptors(void **unused) {
    (void)unused;
    need_no_pipe();
    static const char *const started[] = {SOCKETS, "TEST_STARTED=1", NULL};
    check("no_descriptors_while_running", 3, 1, anything);
    check("no_descriptors_while_running", 2, 0, sockets);
    check("no_descriptors_while_running", 3, 2, started);
}

static void who_lacks_descriptors_says_so_and_can_join_later(void **unused) {
    (void)unused;
    need_no_pipe();
    check_job("no_descriptors_while_forming", 3, 1, anything, "MDIST_COMMUNICATION_JOIN_TIMEOUT");
    check_job("no_descriptors_while_forming", 2, 0, sockets, "MDIST_COMMUNICATION_JOIN_TIMEOUT");
}

/// Gives shared memory from no page at all to enough, a little more each time.
static void shared_memory_that_ends_is_an_error_or_not_needed(void **unused) {
    (void)unused;
    char folder[] = "/tmp/mdist-memory-XXXXXX", place[64], size[32];
    assert_non_null(mkdtemp(folder));
    snprintf(place, sizeof place, "TEST_MEMORY=%s", folder);
    const char *const scarce[] = {place, "TEST_SHORT=1", NULL}, *const enough[] = {place, NULL};
    const uint32_t last_kb = 20000, step = is_long() ? 8 : 100;
    const int mounts = unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
    for (uint32_t kb = 4; mounts && kb < last_kb; kb = kb + 4 + kb * step / 100) {
        snprintf(size, sizeof size, "size=%uk", kb);
        if (mount("tmpfs", folder, "tmpfs", 0, size) != 0) break;
        check("no_shared_memory_left", 2, 0, scarce);
        assert_int_equal(umount2(folder, MNT_DETACH), 0);
    }
    if (mounts && mount("tmpfs", folder, "tmpfs", 0, "size=200m") == 0) {
        check("no_shared_memory_left", 2, 0, enough);
        assert_int_equal(umount2(folder, MNT_DETACH), 0);
    } else {
        print_message("no file system can be mounted here\n");
        rmdir(folder);
        skip();
    }
    assert_int_equal(rmdir(folder), 0);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_that_change_are_told_to_all),
        cmocka_unit_test(a_changed_message_is_no_fault_of_the_library),
        cmocka_unit_test(signals_without_end_disturb_nobody),
        cmocka_unit_test(workers_that_are_connected_need_no_more_descriptors),
        cmocka_unit_test(who_lacks_descriptors_says_so_and_can_join_later),
        cmocka_unit_test(shared_memory_that_ends_is_an_error_or_not_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {
        {"bytes_change", bytes_change},
        {"messages_change", messages_change},
        {"storm_of_signals", storm_of_signals},
        {"no_descriptors_while_running", no_descriptors_while_running},
        {"no_descriptors_while_forming", no_descriptors_while_forming},
        {"no_shared_memory_left", no_shared_memory_left},
    };
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
