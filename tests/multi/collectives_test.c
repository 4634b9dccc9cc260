// SPDX-License-Identifier: Apache-2.0
// Every collective gives the same bits on workers x replicas as in one process with as many replicas. The calls are
// random: all kinds, dtypes and sizes, in place and not, fused, blocking and started.
#include "multi.h"

#include <sys/stat.h>
#include <unistd.h>

enum { CALLS = 24, MOST_BUFFERS = 4, MOST_REPLICAS = 12, ARENA = 1 << 21 };

typedef enum Kind {
    ALL_REDUCE,
    BROADCAST,
    ALL_GATHER,
    REDUCE_SCATTER,
    ALL_TO_ALL,
    BARRIER,
    REDUCE_TO_ROOT,
    GATHER_TO_ROOT,
    SCATTER,
    KINDS
} Kind;

typedef struct Plan {
    Kind kind;
    mdist_reduce_op_t op;
    uint32_t root;
    int32_t dtype[MOST_BUFFERS];
    uint64_t length[MOST_BUFFERS][MOST_REPLICAS]; // length of a replica's own part
    size_t buffers;
    int in_place;
    int started;
} Plan;

/// What the step works with. Each replica has its own memory, which is filled the same in every layout.
typedef struct Job {
    Plan plans[CALLS];
    uint32_t replicas; // replicas of the whole job
    char *inputs[MOST_REPLICAS], *outputs[MOST_REPLICAS];
    uint64_t digest[MOST_REPLICAS][CALLS];
    int here[MOST_REPLICAS]; // whether this worker has the replica
} Job;

static uint64_t state;

static uint32_t random_below(uint32_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % bound);
}

static size_t size_of(int32_t dtype) {
    static const size_t sizes[] = {0, 4, 8, 2, 2, 1, 1, 4, 4, 8, 8};
    return sizes[dtype];
}

static uint64_t random_length(void) {
    switch (random_below(4)) {
        case 0:
            return random_below(4);
        case 1:
            return random_below(300);
        case 2:
            return random_below(5000);
        default:
            return random_below(40000);
    }
}

static int has_parts(Kind kind) {
    return kind == ALL_GATHER || kind == REDUCE_SCATTER || kind == GATHER_TO_ROOT || kind == SCATTER;
}

static Plan random_plan(uint32_t replicas) {
    Plan plan = {.kind = (Kind)random_below(KINDS), .root = random_below(replicas)};
    plan.buffers = plan.kind == BARRIER ? 0 : random_below(MOST_BUFFERS + 1);
    plan.in_place = plan.kind != ALL_TO_ALL && random_below(2);
    plan.started = random_below(3) == 0;
    const int integers = random_below(2) == 0;
    plan.op = (mdist_reduce_op_t)(1 + random_below(5));
    if (integers && plan.op == MDIST_MEAN) plan.op = MDIST_SUM;
    for (size_t b = 0; b < plan.buffers; ++b) {
        plan.dtype[b] = (int32_t)(integers ? 5 + random_below(6) : 1 + random_below(4));
        const uint64_t length = random_length();
        for (uint32_t r = 0; r < replicas; ++r)
            plan.length[b][r] = has_parts(plan.kind) ? random_length() / replicas : length;
    }
    return plan;
}

/// Fills memory with random bytes. They depend only on the replica and the call.
static void fill(char *memory, size_t bytes, uint32_t replica, uint32_t call) {
    uint64_t x = replica * 7919u + call * 104729u + 1;
    for (size_t i = 0; i < bytes; i += sizeof x) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        const uint64_t mixed = x ^ x >> 32;
        memcpy(memory + i, &mixed, bytes - i < sizeof mixed ? bytes - i : sizeof mixed);
    }
}

static uint64_t digest_of(const char *memory, size_t bytes) {
    uint64_t digest = 1469598103934665603u;
    for (size_t i = 0; i < bytes; i += sizeof digest) {
        uint64_t eight = 0;
        memcpy(&eight, memory + i, bytes - i < sizeof eight ? bytes - i : sizeof eight);
        digest = (digest ^ eight) * 1099511628211u;
        digest ^= digest >> 32;
    }
    return digest;
}

typedef struct Buffers {
    mdist_buffer_t in[MOST_BUFFERS], out[MOST_BUFFERS];
    size_t in_used, out_used;
} Buffers;

static uint64_t total(const Plan *plan, size_t b, uint32_t replicas) {
    uint64_t sum = 0;
    for (uint32_t r = 0; r < replicas; ++r) sum += plan->length[b][r];
    return sum;
}

/// Lays the call's buffers out in a replica's memory. In place, a part lies where it belongs in the whole.
static void lay_out(const Job *job, const Plan *plan, uint32_t id, Buffers *out) {
    size_t in_at = 0, out_at = 0;
    for (size_t b = 0; b < plan->buffers; ++b) {
        const size_t size = size_of(plan->dtype[b]);
        uint64_t whole = plan->length[b][id], part = plan->length[b][id], before = 0;
        if (has_parts(plan->kind)) {
            whole = total(plan, b, job->replicas);
            for (uint32_t r = 0; r < id; ++r) before += plan->length[b][r];
        }
        if (plan->kind == ALL_TO_ALL) whole = part = part / job->replicas * job->replicas;
        const int gathers = plan->kind == ALL_GATHER || plan->kind == GATHER_TO_ROOT;
        const int scatters = plan->kind == REDUCE_SCATTER || plan->kind == SCATTER;
        const uint64_t ins = scatters ? whole : part;
        const uint64_t outs = gathers ? whole : part;
        out->in[b] = (mdist_buffer_t){job->inputs[id] + in_at, ins, plan->dtype[b], 0};
        out->out[b] = (mdist_buffer_t){job->outputs[id] + out_at, outs, plan->dtype[b], 0};
        if (plan->in_place || plan->kind == BROADCAST) {
            char *const base = job->outputs[id] + out_at;
            out->in[b].data = gathers ? base + before * size : base;
            if (scatters) out->out[b].data = base + before * size;
        }
        in_at += ins * size;
        out_at += (whole > outs ? whole : outs) * size;
    }
    out->in_used = in_at;
    out->out_used = out_at;
}

static mdist_status_t call(const Plan *plan, mdist_replica_t *replica, const Buffers *buffers) {
    const size_t n = plan->buffers;
    switch (plan->kind) {
        case ALL_REDUCE:
            return mdist_all_reduce(replica, plan->op, buffers->in, buffers->out, n, NULL, NULL);
        case BROADCAST:
            return mdist_broadcast(replica, plan->root, buffers->out, n, NULL, NULL);
        case ALL_GATHER:
            return mdist_all_gather(replica, buffers->in, buffers->out, n, NULL, NULL);
        case REDUCE_SCATTER:
            return mdist_reduce_scatter(replica, plan->op, buffers->in, buffers->out, n, NULL, NULL);
        case ALL_TO_ALL:
            return mdist_all_to_all(replica, buffers->in, buffers->out, n, NULL, NULL);
        case REDUCE_TO_ROOT:
            return mdist_reduce_to_root(replica, plan->op, plan->root, buffers->in, buffers->out, n, NULL, NULL);
        case GATHER_TO_ROOT:
            return mdist_gather_to_root(replica, plan->root, buffers->in, buffers->out, n, NULL, NULL);
        case SCATTER:
            return mdist_scatter(replica, plan->root, buffers->in, buffers->out, n, NULL, NULL);
        default:
            return mdist_barrier(replica, NULL, NULL);
    }
}

static mdist_status_t start(const Plan *plan, mdist_replica_t *replica, const Buffers *buffers) {
    const size_t n = plan->buffers;
    mdist_work_t *work = NULL;
    mdist_status_t status;
    switch (plan->kind) {
        case ALL_REDUCE:
            status = mdist_all_reduce_start(replica, plan->op, buffers->in, buffers->out, n, &work, NULL, NULL);
            break;
        case BROADCAST:
            status = mdist_broadcast_start(replica, plan->root, buffers->out, n, &work, NULL, NULL);
            break;
        case ALL_GATHER:
            status = mdist_all_gather_start(replica, buffers->in, buffers->out, n, &work, NULL, NULL);
            break;
        case REDUCE_SCATTER:
            status = mdist_reduce_scatter_start(replica, plan->op, buffers->in, buffers->out, n, &work, NULL, NULL);
            break;
        case ALL_TO_ALL:
            status = mdist_all_to_all_start(replica, buffers->in, buffers->out, n, &work, NULL, NULL);
            break;
        case REDUCE_TO_ROOT:
            status = mdist_reduce_to_root_start(replica, plan->op, plan->root, buffers->in, buffers->out, n, &work,
                                                NULL, NULL);
            break;
        case GATHER_TO_ROOT:
            status = mdist_gather_to_root_start(replica, plan->root, buffers->in, buffers->out, n, &work, NULL, NULL);
            break;
        case SCATTER:
            status = mdist_scatter_start(replica, plan->root, buffers->in, buffers->out, n, &work, NULL, NULL);
            break;
        default:
            status = mdist_barrier_start(replica, &work, NULL, NULL);
    }
    int32_t done = 0;
    if (status == MDIST_OK) status = mdist_work_wait(work, MDIST_FOREVER, &done, NULL);
    mdist_work_destroy(work);
    return status == MDIST_OK && !done ? MDIST_ERR_INTERNAL : status;
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    Job *job = user_data;
    const uint32_t id = mdist_replica_id(replica);
    job->here[id] = 1;
    for (uint32_t c = 0; c < CALLS; ++c) {
        const Plan *plan = &job->plans[c];
        Buffers buffers;
        lay_out(job, plan, id, &buffers);
        fill(job->inputs[id], buffers.in_used, id, c);
        fill(job->outputs[id], buffers.out_used, id, c);
        const int started = plan->started && id % 3 != 1; // some replicas start what others call blocking
        const mdist_status_t status = started ? start(plan, replica, &buffers) : call(plan, replica, &buffers);
        if (status != MDIST_OK) return (int32_t)c + 1;
        uint64_t digest = 0;
        for (size_t b = 0; b < plan->buffers; ++b)
            digest = digest * 31 + digest_of(buffers.out[b].data, buffers.out[b].elements * size_of(plan->dtype[b]));
        job->digest[id][c] = digest;
    }
    return 0;
}

static Job *job_of(uint32_t replicas, uint64_t seed) {
    Job *job = calloc(1, sizeof *job);
    REQUIRE(job != NULL);
    job->replicas = replicas;
    state = seed;
    for (uint32_t c = 0; c < CALLS; ++c) job->plans[c] = random_plan(replicas);
    for (uint32_t r = 0; r < replicas; ++r) {
        job->inputs[r] = malloc(ARENA);
        job->outputs[r] = malloc(ARENA);
        REQUIRE(job->inputs[r] != NULL && job->outputs[r] != NULL);
    }
    return job;
}

static void job_free(Job *job) {
    for (uint32_t r = 0; r < job->replicas; ++r) {
        free(job->inputs[r]);
        free(job->outputs[r]);
    }
    free(job);
}

/// Runs the same job on one worker that has all replicas.
static void run_alone(Job *job) {
    mdist_config_t *config = NULL;
    mdist_strategy_t *strategy = NULL;
    char devices[16];
    snprintf(devices, sizeof devices, "cpu*%u", job->replicas);
    GIVES(MDIST_OK, mdist_config_create(&config, &error));
    GIVES(MDIST_OK, mdist_config_set(config, "devices", devices, &error));
    GIVES(MDIST_OK, mdist_strategy_create(config, &strategy, &error));
    GIVES(MDIST_OK, mdist_run(strategy, step, job, NULL, 0, NULL, 0, NULL, &error));
    mdist_strategy_destroy(strategy);
    mdist_config_destroy(config);
}

static void same_bits(void) {
    const uint32_t rounds = is_long() ? 15 : MDIST_TEST_SANITIZED ? 1 : 3; // sanitizers slow many workers down
    mdist_strategy_t *strategy = join();
    const uint32_t replicas = mdist_strategy_replica_count(strategy);
    for (uint32_t round = 0; round < rounds; ++round) {
        Job *alone = job_of(replicas, round * 1000 + replicas);
        Job *together = job_of(replicas, round * 1000 + replicas);
        run_alone(alone);
        GIVES(MDIST_OK, mdist_run(strategy, step, together, NULL, 0, NULL, 0, NULL, &error));
        for (uint32_t id = 0; id < replicas; ++id) {
            for (uint32_t c = 0; c < CALLS && together->here[id]; ++c) {
                if (alone->digest[id][c] == together->digest[id][c]) continue;
                fprintf(stderr, "round %u, call %u (kind %d, op %d, %zu buffers, first dtype %d), replica %u\n", round,
                        c, (int)alone->plans[c].kind, (int)alone->plans[c].op, alone->plans[c].buffers,
                        alone->plans[c].dtype[0], id);
                GIVE_UP("the same bits");
            }
        }
        job_free(alone);
        job_free(together);
    }
    mdist_strategy_destroy(strategy);
}

/// Worker 0 starts an operation and does something else until worker 1 has the result.
static int32_t busy_step(mdist_replica_t *replica, void *user_data) {
    const char *pipe_path = user_data;
    float x = (float)mdist_replica_id(replica) + 1;
    const mdist_buffer_t buffer = {&x, 1, MDIST_FLOAT32, 0};
    if (mdist_replica_id(replica) == 1) {
        if (mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL) != MDIST_OK || x != 3) return 1;
        FILE *told = fopen(pipe_path, "w"); // opens when worker 0 listens
        return told == NULL || fclose(told) != 0;
    }
    mdist_work_t *work = NULL;
    if (mdist_all_reduce_start(replica, MDIST_SUM, &buffer, &buffer, 1, &work, NULL, NULL) != MDIST_OK) return 2;
    FILE *heard = fopen(pipe_path, "r");
    if (heard == NULL || fgetc(heard) != EOF || fclose(heard) != 0) return 3;
    int32_t done = 0;
    const mdist_status_t status = mdist_work_wait(work, MDIST_FOREVER, &done, NULL);
    mdist_work_destroy(work);
    return status != MDIST_OK || !done || x != 3;
}

static void started_goes_on(void) {
    mdist_strategy_t *strategy = join();
    GIVES(MDIST_OK, mdist_run(strategy, busy_step, getenv("TEST_PIPE"), NULL, 0, NULL, 0, NULL, &error));
    mdist_strategy_destroy(strategy);
}

static void check(uint32_t workers, const char *devices, const char *const *environment) {
    const Workers job = {.scenario = "same_bits", .count = workers, .devices = devices, .environment = environment};
    assert_int_equal(run_workers(&job), 0);
}

static void two_workers_have_the_bits_of_one(void **unused) {
    (void)unused;
    check(2, "cpu*1", NULL);
    check(2, "cpu*2", NULL);
    check(2, "cpu*3", NULL); // three replicas make no subtree
}

static void three_and_four_workers_have_the_bits_of_one(void **unused) {
    (void)unused;
    check(3, "cpu*1", NULL);
    check(3, "cpu*3", NULL);
    check(4, "cpu*2", NULL);
}

static void workers_with_different_numbers_of_replicas_have_the_bits_of_one(void **unused) {
    (void)unused;
    static const char *const sockets[] = {"MDIST_COMMUNICATION_IMPLEMENTATION=tcp", NULL};
    check(2, "cpu*1|cpu*2", NULL); // single values, two of them on one worker
    check(3, "cpu*3|cpu*3|cpu*1", NULL);
    check(3, "cpu*1|cpu*4|cpu*2", sockets);
    check(4, "cpu*2|cpu*1|cpu*1|cpu*1", NULL);
    check(4, "cpu*1|cpu*1|cpu*1|cpu*2", sockets);
    if (!is_long()) return;
    check(2, "cpu*1|cpu*2", sockets);
    check(3, "cpu*3|cpu*3|cpu*1", sockets);
    check(3, "cpu*1|cpu*4|cpu*2", NULL);
    check(4, "cpu*2|cpu*1|cpu*1|cpu*1", sockets);
    check(4, "cpu*1|cpu*1|cpu*1|cpu*2", NULL);
}

static void sockets_give_the_bits_of_shared_memory(void **unused) {
    (void)unused;
    static const char *const sockets[] = {"MDIST_COMMUNICATION_IMPLEMENTATION=tcp", NULL};
    check(2, "cpu*2", sockets);
    check(3, "cpu*1", sockets);
}

/// Large operations go by Gloo, the rest by sockets.
static void gloo_gives_the_bits_of_shared_memory(void **unused) {
    (void)unused;
    if (!mdist_has("gloo")) skip();
    static const char *const gloo[] = {"MDIST_COMMUNICATION_IMPLEMENTATION=gloo", NULL};
    check(2, "cpu*2", gloo);
    check(3, "cpu*1", gloo);
}

static void a_started_operation_goes_on_while_its_replica_does_something_else(void **unused) {
    (void)unused;
    char folder[] = "/tmp/mdist-multi-XXXXXX", path[64], variable[80];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/pipe", folder);
    snprintf(variable, sizeof variable, "TEST_PIPE=%s", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    const char *const sockets[] = {variable, "MDIST_COMMUNICATION_IMPLEMENTATION=tcp", NULL};
    const char *const shared[] = {variable, NULL};
    const Workers over_sockets = {
        .scenario = "started_goes_on", .count = 2, .devices = "cpu*1", .environment = sockets};
    const Workers over_memory = {.scenario = "started_goes_on", .count = 2, .devices = "cpu*1", .environment = shared};
    const int failures = run_workers(&over_sockets) + run_workers(&over_memory);
    unlink(path);
    rmdir(folder);
    assert_int_equal(failures, 0);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_workers_have_the_bits_of_one),
        cmocka_unit_test(three_and_four_workers_have_the_bits_of_one),
        cmocka_unit_test(workers_with_different_numbers_of_replicas_have_the_bits_of_one),
        cmocka_unit_test(sockets_give_the_bits_of_shared_memory),
        cmocka_unit_test(gloo_gives_the_bits_of_shared_memory),
        cmocka_unit_test(a_started_operation_goes_on_while_its_replica_does_something_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {{"same_bits", same_bits}, {"started_goes_on", started_goes_on}};
    return multi_main(argument_count, arguments, scenarios, 2, test_all);
}
