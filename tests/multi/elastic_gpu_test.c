// SPDX-License-Identifier: Apache-2.0
// Elastic jobs on the simulated GPU end in the bits of the CPU's training that was not disturbed, also when workers or
// their GPUs are lost. The host cannot touch the GPUs' memory, and their work is late.
#include "../fake_gpu/fake_gpu.h"
#include "elastic_alone.h"
#include "elastic_job.h"
#include "elastic_state.h"
#include "elastic_training.h"
#include "time_limits.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

static char undisturbed[64]; // on the CPU: "result 0123456789abcdef"
static const char *const cards[] = {"gpu:0", "gpu:0,gpu:1", "gpu:1,gpu:0*2"};

/// Has the workers started from here on work on these cards.
static void use_cards(const char *devices, const char *fault) {
    char fake[128];
    snprintf(fake, sizeof fake, "devices=2,delay_us=100,nccl=none%s%s", fault[0] != '\0' ? "," : "", fault);
    setenv("MDIST_FAKE_GPU", fake, 1);
    setenv("MDIST_DEVICES", devices, 1);
}

static int undisturb(void **state) {
    (void)state;
    unsetenv("MDIST_DEVICES");
    Job job;
    run_undisturbed(&job, 2, undisturbed);
    return 0;
}

static void results_are_those_of_the_cpu(void **state) {
    (void)state;
    static const char *const alone[][2] = {
        {"gpu:1,gpu:0*2", "on gpu:1 gpu:0 gpu:0/1 gpu:1/1 gpu:0/2 gpu:0/3 gpu:1/2 gpu:0/4\n"},
        {"auto", "on gpu:0 gpu:1 gpu:0/1 gpu:1/1 gpu:0/2 gpu:1/2 gpu:0/3 gpu:1/3\n"}};
    for (size_t i = 0; i < sizeof alone / sizeof alone[0]; ++i) {
        Job job;
        use_cards(alone[i][0], "");
        begin(&job, 1, 1, "1", "tcp");
        start(&job, NULL);
        finish(&job);
        expect(&job, undisturbed, 0);
        assert_non_null(strstr(job.workers[0].text, alone[i][1]));
    }
    for (size_t i = 0; i < sizeof cards / sizeof cards[0]; ++i)
        for (uint32_t size = 1; size <= 3; ++size) {
            use_cards(cards[i], "");
            lose(size, NULL, 0, "1", size == 3 ? "auto" : "tcp", 0, undisturbed);
        }
}

/// In a step, with work on the GPUs; in a commit; in steps after a regroup.
static void the_others_go_on_when_one_is_killed(void **state) {
    (void)state;
    static const char *const places[] = {"step 7 0", "step 7 7", "step 0 0", "save 6 0", "save 6 1"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) {
        const uint32_t size = 2 + (uint32_t)(i % 2), victim = i == 1 ? size - 1 : 0; // it has that replica
        use_cards(cards[i % 3], "");
        Job job;
        begin(&job, size, 1, "1", i % 2 ? "auto" : "tcp");
        for (uint32_t k = 0; k < size; ++k) start(&job, k == victim ? places[i] : NULL);
        finish(&job);
        expect(&job, undisturbed, 1);
    }
}

static void one_more_is_lost_in_the_regroup(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; ++i) {
        const char *const die[] = {"step 7 0", "restore 0 2"};
        use_cards(cards[i], "");
        lose(3, die, 2, "2", "tcp", 0, undisturbed);
    }
}

static void newcomers_take_the_place(void **state) {
    (void)state;
    const char *const die[] = {"step 7 0", "step 13 99"};
    for (size_t i = 0; i < 2; ++i) {
        use_cards(cards[i], "");
        lose(2, die, 1, "1", "auto", 1, undisturbed);
        lose(3, die, 2, "1", "tcp", 1, undisturbed);
    }
}

static void gradients_go_on(void **state) {
    (void)state;
    const char *const die[] = {"step 7 0"};
    for (int i = 0; i < 4; ++i) {
        const int replace = i % 2;
        setenv("TEST_GRADIENTS", i < 2 ? "1" : "lent", 1);
        use_cards(cards[replace], "");
        lose(3, die, 1, "1", replace ? "auto" : "tcp", replace, undisturbed);
    }
    unsetenv("TEST_GRADIENTS");
}

/// A thread copies the elements to the cards before they are asked for.
static void input_is_on_the_cards(void **state) {
    (void)state;
    const char *const die[] = {"step 8 0"};
    setenv("MDIST_DATA_PREFETCH_ON_DEVICE", "true", 1);
    use_cards(cards[1], "");
    lose(3, die, 1, "1", "tcp", 0, undisturbed);
    lose(2, die, 1, "1", "tcp", 1, undisturbed);
    setenv("TEST_FUNCTION", "by replica", 1);
    Job job;
    char on_cpu[64], last[64];
    memcpy(last, undisturbed, sizeof last);
    unsetenv("MDIST_DEVICES");
    run_undisturbed(&job, 2, on_cpu);
    memcpy(undisturbed, on_cpu, sizeof undisturbed);
    use_cards(cards[1], "");
    lose(3, die, 1, "1", "tcp", 1, undisturbed);
    memcpy(undisturbed, last, sizeof undisturbed);
    unsetenv("TEST_FUNCTION");
    unsetenv("MDIST_DATA_PREFETCH_ON_DEVICE");
}

static void expect_worker(const Job *job, uint32_t number, const char *said, int status) {
    const Worker *const worker = &job->workers[number];
    if (strstr(worker->text, said) != NULL && WIFEXITED(worker->status) && WEXITSTATUS(worker->status) == status)
        return;
    print_error("worker %" PRIu32 " ended with status %d; wanted %s, it said:\n%s\n", number, worker->status, said,
                worker->text);
    fail();
}

static void run_with_fault_of_worker_1(Job *job, const char *devices, const char *fault) {
    begin(job, 3, 1, "1", "tcp");
    for (uint32_t i = 0; i < 3; ++i) {
        use_cards(devices, i == 1 ? fault : "");
        start(job, NULL);
    }
    finish(job);
}

/// The others end with the result, and worker 1 with this.
static void lose_the_card_of_worker_1(const char *devices, const char *fault, const char *said) {
    Job job;
    run_with_fault_of_worker_1(&job, devices, fault);
    for (uint32_t i = 0; i < 3; ++i) expect_worker(&job, i, i == 1 ? said : undisturbed, i == 1 ? 3 : 0);
}

static void a_card_is_lost_with_its_worker(void **state) {
    (void)state;
    static const char lost[] = "failed mdist_regroup: MDIST_ERR_DEVICE gpu_fatal";
    lose_the_card_of_worker_1(cards[1], "fail=reduce@20:fatal", lost);
    lose_the_card_of_worker_1(cards[1], "fail=job@600:fatal", lost);
    // What fails is no call for a card of this worker.
    lose_the_card_of_worker_1("gpu:1", "fail=allocate_pinned@2:fatal", lost);
}

/// The wait for what the card was given has a deadline.
static void a_card_that_hangs_is_lost_with_its_worker(void **state) {
    (void)state;
    static const char said[] = "failed mdist_regroup: MDIST_ERR_TIMEOUT gpu_timeout";
    Tries tries = {.what = "a card that hangs", .limit_ms = 3000};
    while (another_try(&tries)) {
        Job job;
        char limit[32];
        snprintf(limit, sizeof limit, "%ums", (unsigned)tries.limit_ms);
        setenv("MDIST_COMMUNICATION_TIMEOUT", limit, 1);
        run_with_fault_of_worker_1(&job, cards[1], "hang=job@600");
        for (uint32_t i = 0; i < 3; i += 2) // the limit is theirs, too
            tries.late = tries.late || strstr(job.workers[i].text, "failed mdist_regroup: MDIST_ERR_TIMEOUT") != NULL;
        for (uint32_t i = 0; i < 3 && !tries.late; ++i)
            expect_worker(&job, i, i == 1 ? said : undisturbed, i == 1 ? 3 : 0);
    }
    unsetenv("MDIST_COMMUNICATION_TIMEOUT");
    assert_false(tries.late);
}

/// What fails once is made good by the steps from the last commit on.
static void a_call_that_fails_once_is_repeated(void **state) {
    (void)state;
    Job job;
    begin(&job, 2, 1, "1", "tcp");
    for (uint32_t i = 0; i < 2; ++i) {
        use_cards(cards[1], i == 1 ? "fail=reduce@20" : "");
        start(&job, NULL);
    }
    finish(&job);
    expect(&job, undisturbed, 0);
    for (uint32_t i = 0; i < 2; ++i) assert_non_null(strstr(job.workers[i].text, "lost: "));
}

/// Worker 1 has no room for the replicas that it gets when worker 0 is lost.
static void a_card_without_room_is_lost_with_its_worker(void **state) {
    (void)state;
    Job job;
    begin(&job, 3, 1, "2", "tcp");
    for (uint32_t i = 0; i < 3; ++i) {
        use_cards(cards[0], i == 1 ? "memory_mb=15" : "");
        start(&job, i == 0 ? "step 7 0" : NULL);
    }
    finish(&job);
    expect_worker(&job, 1, "failed mdist_regroup: MDIST_ERR_OUT_OF_MEMORY", 3);
    expect_worker(&job, 2, undisturbed, 0);
}

/// The others do not wait for a worker that is out of the job, although its program goes on.
static void who_is_out_of_the_job_holds_nobody_up(void **state) {
    (void)state;
    Job job;
    begin(&job, 3, 1, "2", "tcp");
    setenv("TEST_STAYS", "1", 1);
    for (uint32_t i = 0; i < 3; ++i) {
        use_cards(cards[0], i == 1 ? "memory_mb=15" : "");
        start(&job, i == 0 ? "step 7 0" : NULL);
    }
    for (uint32_t i = 0; i < 3; i += 2) reap(&job, job.workers[i].pid);
    struct pollfd closed = {.fd = job.workers[1].out}; // it has said why
    while (poll(&closed, 1, -1) < 0) assert_int_equal(errno, EINTR);
    kill(job.workers[1].pid, SIGKILL);
    finish(&job);
    unsetenv("TEST_STAYS");
    assert_non_null(strstr(job.workers[1].text, "failed mdist_regroup: MDIST_ERR_OUT_OF_MEMORY"));
    expect_worker(&job, 2, undisturbed, 0);
}

/// Some of the replicas that it was to have, and some of their variables, have memory, and others have none.
static void after_a_regroup_without_room_nothing_is_used_that_is_not_there(void **state) {
    (void)state;
    static const char *const rooms[] = {"memory_mb=20", "memory_mb=24", "memory_mb=26", "memory_mb=30"};
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; ++i) {
        Job job;
        if (i % 2 == 1) setenv("TEST_GRADIENTS", "1", 1);
        begin(&job, 2, 1, "1", "tcp");
        use_cards(cards[0], "");
        start(&job, "step 7 0");
        use_cards(cards[0], rooms[i]);
        start(&job, NULL);
        finish(&job);
        expect_worker(&job, 1, "failed mdist_regroup: MDIST_ERR_OUT_OF_MEMORY", 3);
        unsetenv("TEST_GRADIENTS");
    }
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    static const char *const wrong[][3] = {
        {"MDIST_DEVICES", "cpu:0", "CONFIG contradiction devices is cpu:0"},
        {"MDIST_DEVICES", "gpu:7", "CONFIG bad_value devices is gpu:7"},
        {"MDIST_DEVICES", "gpu:0,cpu:0", "CONFIG bad_value devices is gpu:0,cpu:0"},
        {"MDIST_COMMUNICATION_IMPLEMENTATION", "nccl", "CONFIG contradiction communication.implementation is nccl"},
        {"MDIST_CROSS_DEVICE_OPS", "nccl", "CONFIG contradiction cross_device_ops is nccl"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        Job job;
        begin(&job, 2, 1, "1", "auto");
        use_cards("gpu:0", "");
        setenv(wrong[i][0], wrong[i][1], 1);
        start(&job, NULL);
        finish(&job);
        unsetenv(wrong[i][0]);
        if (strstr(job.workers[0].text, wrong[i][2]) == NULL) print_error("it said: %s\n", job.workers[0].text);
        assert_non_null(strstr(job.workers[0].text, wrong[i][2]));
    }
}

/// It would fail in each generation again.
static void a_start_that_can_never_work_is_told(void **state) {
    (void)state;
    Job job;
    begin(&job, 1, 1, "1", "tcp");
    use_cards("gpu:0", "fail=stream_create@5+"); // some replicas would have one
    start(&job, NULL);
    finish(&job);
    expect_worker(&job, 0, "failed mdist_strategy_create(NULL, &strategy, &problem): MDIST_ERR_DEVICE gpu_failed", 3);
}

static void use_cards_by_seed(uint64_t seed) {
    use_cards(cards[seed % 3], seed % 2 ? "" : "reach=0");
}

static void random_kills_change_nothing(void **state) {
    (void)state;
    char result[64];
    Job job;
    unsetenv("MDIST_DEVICES");
    setenv("TEST_STEPS", "90", 1);
    run_undisturbed(&job, 2, result);
    disturb_all(8, result, use_cards_by_seed);
    unsetenv("TEST_STEPS");
}

/// One call to CUDA fails on worker 1, or its GPU hangs, at any moment, or also while the job regroups after worker 0
/// was lost. Each worker ends with the result, or with an error.
static void fail_somewhere(uint64_t seed) {
    static const char *const faults[] = {"fail=job",           "fail=copy", "fail=allocate",     "fail=commit",
                                         "fail=event_record",  "fail=fill", "fail=stream_query", "fail=reduce",
                                         "fail=stream_create", "hang=job"};
    const uint64_t random = mixed(seed * 2654435761u + 1);
    const char *const fault = faults[random % (sizeof faults / sizeof faults[0])];
    const int often = strcmp(fault + 5, "job") == 0 || strcmp(fault + 5, "stream_query") == 0;
    char text[64];
    snprintf(text, sizeof text, "%s@%" PRIu64, fault, 1 + random / 16 % (often ? 3000 : 200));
    setenv("MDIST_COMMUNICATION_TIMEOUT", strcmp(fault, "hang=job") == 0 ? "3s" : "60s",
           1); // who is late may get an error
    Job job;
    begin(&job, 3, 1, "2", random / 4096 % 2 ? "tcp" : "auto");
    for (uint32_t i = 0; i < 3; ++i) {
        use_cards(cards[random / 8192 % 3], i == 1 ? text : "");
        start(&job, i == 0 && random / 32768 % 2 ? "step 7 0" : NULL);
    }
    finish(&job);
    for (uint32_t i = 0; i < 3; ++i) {
        const Worker *const worker = &job.workers[i];
        const int killed = i == 0 && WIFSIGNALED(worker->status) && WTERMSIG(worker->status) == SIGKILL;
        const int refused = WIFEXITED(worker->status) && WEXITSTATUS(worker->status) == 3;
        if (killed || refused || (worker->status == 0 && strstr(worker->text, undisturbed) != NULL)) continue;
        print_error("seed %" PRIu64 ": %s: worker %" PRIu32 " ended with status %d, it said:\n%s\n", seed, text, i,
                    worker->status, worker->text);
        fail();
    }
}

static void random_faults_give_the_result_or_an_error(void **state) {
    (void)state;
    const uint64_t first = test_seed(1), end = first + seed_count(12, 12);
    for (uint64_t seed = first; seed < end; ++seed) fail_somewhere(seed);
    unsetenv("MDIST_COMMUNICATION_TIMEOUT");
}

/// A graph keeps addresses of its generation, so it ends with that, and is recorded anew.
static void graphs_are_recorded_anew(void **state) {
    (void)state;
    Job job;
    use_cards("gpu:1", "");
    setenv("TEST_ALONE", "1", 1);
    begin_with(&job, 1, 1, 1, "1", "tcp");
    start(&job, NULL);
    finish(&job);
    unsetenv("TEST_ALONE");
    expect(&job, "result 64 128 192, recorded 2 times", 0);
}

/// What is recorded need not tell a lost GPU from other failures, either, wherever the step stops.
static void a_card_that_is_lost_in_a_graph_is_named(void **state) {
    (void)state;
    static const char *const ways[] = {NULL, "between", "open"}; // elastic_alone.c has them
    static const char *const faults[] = {"fail=copy@3:fatal", "fail=capture_begin@1:fatal", "fail=capture_end@1:fatal",
                                         "fail=graph_launch@2:fatal"};
    Job job;
    setenv("TEST_ALONE", "1", 1);
    for (size_t i = 0; i < 15; ++i) {
        if (ways[i % 3] != NULL) setenv("TEST_GRAPH", ways[i % 3], 1);
        setenv("MDIST_GPU_BLOCKING", i < 3 ? "1" : "0", 1); // a graph is recorded only if nothing waits
        use_cards("gpu:1", faults[i < 3 ? 0 : i / 3 - 1]);
        begin_with(&job, 1, 1, 1, "1", "tcp");
        start(&job, NULL);
        finish(&job);
        const char *const text = job.workers[0].text;
        const char *const regroup = strstr(text, "mdist_regroup(");
        // A call of the library's own for the graph tells of the loss itself. A call in the part leaves that to the
        // run.
        const char *const run = i < 6
                                    ? "run failed: gpu_fatal: replica 0: gpu:1: this process can no longer use its GPUs"
                                    : "run failed: gpu_fatal: ";
        if (strstr(text, run) == NULL || regroup == NULL || strstr(regroup, " failed: gpu_fatal: ") == NULL) {
            print_error("case %zu: it said:\n%s\n", i, text);
            fail();
        }
        unsetenv("TEST_GRAPH");
    }
    unsetenv("MDIST_GPU_BLOCKING");
    unsetenv("TEST_ALONE");
}

/// Returns the status, or 5 if the worker has done on its GPUs what is forbidden, or has left a graph.
static int checked(int status) {
    if (status != 0 || getenv("MDIST_DEVICES") == NULL) return status;
    void *const module = dlopen(getenv("MDIST_CUDA_MODULE"), RTLD_NOW | RTLD_LOCAL);
    fake_gpu_controls_fn controls;
    *(void **)&controls = dlsym(module, FAKE_GPU_SYMBOL);
    char text[512] = "";
    fake_gpu_live live;
    controls()->live(&live);
    if (controls()->problems(text, sizeof text) == 0 && live.graphs == 0) return 0;
    printf("problems: %s%" PRIu64 " graphs\n", text, live.graphs);
    return 5;
}

int main(int argc, char **argv) {
    if (is_worker(argc, argv)) return checked(getenv("TEST_ALONE") != NULL ? elastic_alone() : elastic_training());
    setenv("MDIST_CUDA_MODULE", MDIST_TEST_FAKE_GPU, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_those_of_the_cpu),
        cmocka_unit_test(the_others_go_on_when_one_is_killed),
        cmocka_unit_test(one_more_is_lost_in_the_regroup),
        cmocka_unit_test(newcomers_take_the_place),
        cmocka_unit_test(gradients_go_on),
        cmocka_unit_test(input_is_on_the_cards),
        cmocka_unit_test(a_card_is_lost_with_its_worker),
        cmocka_unit_test(a_card_that_hangs_is_lost_with_its_worker),
        cmocka_unit_test(a_call_that_fails_once_is_repeated),
        cmocka_unit_test(random_kills_change_nothing),
        cmocka_unit_test(random_faults_give_the_result_or_an_error),
        cmocka_unit_test(a_card_without_room_is_lost_with_its_worker),
        cmocka_unit_test(who_is_out_of_the_job_holds_nobody_up),
        cmocka_unit_test(after_a_regroup_without_room_nothing_is_used_that_is_not_there),
        cmocka_unit_test(graphs_are_recorded_anew),
        cmocka_unit_test(a_card_that_is_lost_in_a_graph_is_named),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(a_start_that_can_never_work_is_told),
    };
    if (getenv("MDIST_TEST_SEED") != NULL) cmocka_set_test_filter("random*");
    return cmocka_run_group_tests(tests, undisturb, NULL);
}
