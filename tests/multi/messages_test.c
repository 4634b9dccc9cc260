// SPDX-License-Identifier: Apache-2.0
// Messages over workers x replicas: rings, all pairs, random schedules beside collectives, and every way to fail.
#include "multi.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

enum { LARGE = 100000, MOST_ALL = 8, HUGE_ELEMENTS = 16 << 20 };

static mdist_buffer_t floats(float *data, uint64_t elements) {
    return buffer_of(data, MDIST_FLOAT32, elements);
}

static float value_at(uint64_t seed, uint64_t i) {
    return (float)((seed % 1000) * 7 + i % 1009);
}

static void fill_with(float *data, uint64_t seed, uint64_t elements) {
    for (uint64_t i = 0; i < elements; ++i) data[i] = value_at(seed, i);
}

static int holds(const float *data, uint64_t seed, uint64_t elements) {
    for (uint64_t i = 0; i < elements; ++i)
        if (data[i] != value_at(seed, i)) return 0;
    return 1;
}

// ---- Everybody with everybody

/// All receives are started first, then all sends; they are waited for in another order.
static int32_t all_pairs_step(mdist_replica_t *replica, void *user_data) {
    const uint64_t elements = *(const uint64_t *)user_data;
    const uint32_t n = (uint32_t)mdist_replica_count(replica), id = mdist_replica_id(replica);
    float *const out = malloc(n * (elements + 1) * sizeof *out), *const in = malloc(n * (elements + 1) * sizeof *in);
    mdist_work_t *works[2 * MOST_ALL];
    int32_t done = 0;
    if (out == NULL || in == NULL) return 1;
    for (uint32_t other = 0; other < n; ++other) {
        const mdist_buffer_t buffer = floats(in + other * elements, elements);
        if (mdist_receive_start(replica, other, id, &buffer, &works[other], NULL, NULL) != MDIST_OK) return 2;
    }
    for (uint32_t other = 0; other < n; ++other) {
        const mdist_buffer_t buffer = floats(out + other * elements, elements);
        fill_with(out + other * elements, id * 10 + other, elements);
        if (mdist_send_start(replica, other, other, &buffer, &works[n + other], NULL, NULL) != MDIST_OK) return 3;
    }
    if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 4;
    for (uint32_t i = 0; i < 2 * n; ++i) {
        const uint32_t at = (i * 3 + id) % (2 * n); // 2 * n is no multiple of 3 in these tests, or some are seen again
        if (mdist_work_wait(works[at], MDIST_FOREVER, &done, NULL) != MDIST_OK || !done) return 5;
    }
    for (uint32_t i = 0; i < 2 * n; ++i) {
        if (mdist_work_wait(works[i], MDIST_FOREVER, &done, NULL) != MDIST_OK || !done) return 6;
        mdist_work_destroy(works[i]);
    }
    for (uint32_t other = 0; other < n; ++other)
        if (!holds(in + other * elements, other * 10 + id, elements)) return 7;
    free(out);
    free(in);
    return 0;
}

/// A token goes around, by blocking calls alone.
static int32_t token_step(mdist_replica_t *replica, void *user_data) {
    const uint64_t elements = *(const uint64_t *)user_data;
    const uint32_t n = (uint32_t)mdist_replica_count(replica), id = mdist_replica_id(replica);
    float *const token = malloc((elements + 1) * sizeof *token);
    const mdist_buffer_t buffer = floats(token, elements);
    if (token == NULL) return 1;
    fill_with(token, 5, elements);
    for (uint32_t trip = 0; trip < 5; ++trip) {
        if (id == 0 && mdist_send(replica, 1, trip, &buffer, NULL, NULL) != MDIST_OK) return 2;
        if (id == 0) memset(token, 0, elements * sizeof *token);
        if (mdist_receive(replica, (id + n - 1) % n, trip, &buffer, NULL, NULL) != MDIST_OK) return 3;
        if (!holds(token, 5, elements)) return 4;
        if (id != 0 && mdist_send(replica, (id + 1) % n, trip, &buffer, NULL, NULL) != MDIST_OK) return 5;
    }
    free(token);
    return 0;
}

static void everybody(void) {
    static const uint64_t sizes[] = {0, 1, 1024, 1025, LARGE};
    mdist_strategy_t *strategy = join();
    for (int i = 0; i < 5; ++i) {
        GIVES(MDIST_OK, mdist_run(strategy, all_pairs_step, (void *)&sizes[i], NULL, &error));
        GIVES(MDIST_OK, mdist_run(strategy, token_step, (void *)&sizes[i], NULL, &error));
    }
    mdist_strategy_destroy(strategy);
}

/// 64 MiB in both directions at once.
static void huge(void) {
    const uint64_t elements = HUGE_ELEMENTS;
    mdist_strategy_t *strategy = join();
    GIVES(MDIST_OK, mdist_run(strategy, all_pairs_step, (void *)&elements, NULL, &error));
    mdist_strategy_destroy(strategy);
}

// ---- Random schedules

/// A random list of messages and collectives, the same on all replicas. Each replica does its own parts in the order of
/// the list, receives in the blocking form or started, and sends started unless small enough to be kept. Such a
/// schedule never blocks for ever: take the first unfinished entry of the list, and both its sides have nothing before
/// it.
typedef struct Entry {
    uint32_t from, to; // equal to n: a collective
    uint64_t tag, elements, seed;
} Entry;

enum { ENTRIES = 120, MOST_ELEMENTS = 5000 };

static Entry entry_of(uint64_t seed, uint32_t at, uint32_t n) {
    const uint64_t a = mixed_bits(seed * 1000 + at), b = mixed_bits(a), c = mixed_bits(b);
    const Entry entry = {.from = a % 9 == 0 ? n : (uint32_t)(b % n),
                         .to = (uint32_t)(c % n),
                         .tag = b / 64 % 3,
                         .elements = c / 64 % 4 == 0 ? c / 1024 % MOST_ELEMENTS : c / 1024 % 40,
                         .seed = mixed_bits(c)};
    return entry;
}

typedef struct Open {
    mdist_work_t *work;
    float *data;
    Entry entry;
    int receives;
} Open;

static int32_t finish(Open *open) {
    int32_t done = 0;
    if (open->work != NULL && (mdist_work_wait(open->work, MDIST_FOREVER, &done, NULL) != MDIST_OK || !done)) return 1;
    mdist_work_destroy(open->work);
    const int right = !open->receives || holds(open->data, open->entry.seed, open->entry.elements);
    free(open->data);
    return right ? 0 : 2;
}

static int32_t random_step(mdist_replica_t *replica, void *user_data) {
    const uint64_t seed = *(const uint64_t *)user_data;
    const uint32_t n = (uint32_t)mdist_replica_count(replica), id = mdist_replica_id(replica);
    static _Thread_local Open open[2 * ENTRIES];
    int count = 0;
    for (uint32_t at = 0; at < ENTRIES; ++at) {
        const Entry entry = entry_of(seed, at, n);
        if (entry.from == n) {
            float x = 1;
            const mdist_buffer_t buffer = floats(&x, 1);
            if (mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL) != MDIST_OK || x != (float)n)
                return 1;
            continue;
        }
        for (int receives = 0; receives < 2; ++receives) {
            if ((receives ? entry.to : entry.from) != id) continue;
            Open *self = &open[count++];
            *self = (Open){NULL, malloc((entry.elements + 1) * sizeof(float)), entry, receives};
            if (self->data == NULL) return 2;
            if (!receives) fill_with(self->data, entry.seed, entry.elements);
            const mdist_buffer_t buffer = floats(self->data, entry.elements);
            const int blocks = receives && mixed_bits(seed + at + id) % 2;
            const mdist_status_t status =
                !receives ? mdist_send_start(replica, entry.to, entry.tag, &buffer, &self->work, NULL, NULL)
                : blocks  ? mdist_receive(replica, entry.from, entry.tag, &buffer, NULL, NULL)
                          : mdist_receive_start(replica, entry.from, entry.tag, &buffer, &self->work, NULL, NULL);
            if (status != MDIST_OK) return 3;
        }
        while (count > 0 && mixed_bits(seed ^ (at * 64 + id)) % 4 == 0) { // from time to time, wait for some receive
            if (!open[count - 1].receives) break;
            if (finish(&open[--count]) != 0) return 4;
        }
    }
    while (count > 0)
        if (finish(&open[--count]) != 0) return 5;
    return 0;
}

static void random_schedules(void) {
    mdist_strategy_t *strategy = join();
    const uint64_t first = test_seed(1), end = first + seed_count(15, 300);
    for (uint64_t seed = first; seed < end; ++seed)
        GIVES(MDIST_OK, mdist_run(strategy, random_step, (void *)&seed, NULL, &error));
    mdist_strategy_destroy(strategy);
}

// ---- Functions that are called when a message is over

typedef struct Told {
    atomic_int calls, status;
} Told;

static void tell(mdist_status_t status, void *user_data) {
    Told *const self = user_data;
    atomic_store(&self->status, status);
    atomic_fetch_add(&self->calls, 1);
}

typedef struct Ring {
    mdist_group_t *group; // every other replica, from the last to the first
    uint64_t elements;
} Ring;

static int in_group(uint32_t id) {
    return id % 2 == 0;
}

/// A ring in which no replica makes a call that waits for its messages: functions tell it. Members of the group meet in
/// between.
static int32_t told_step(mdist_replica_t *replica, void *user_data) {
    const Ring *const ring = user_data;
    const uint32_t n = (uint32_t)mdist_replica_count(replica), id = mdist_replica_id(replica);
    const mdist_call_options_t options = {.struct_size = sizeof options, .group = ring->group};
    float *const out = malloc((ring->elements + 1) * sizeof *out), *const in =
                                                                       malloc((ring->elements + 1) * sizeof *in);
    if (out == NULL || in == NULL) return 1;
    const mdist_buffer_t mine = floats(out, ring->elements), theirs = floats(in, ring->elements);
    for (uint64_t trip = 0; trip < 20; ++trip) {
        Told told[2] = {{0, 0}, {0, 0}};
        mdist_work_t *works[2] = {NULL, NULL};
        fill_with(out, id * 100 + trip, ring->elements);
        if (mdist_send_start(replica, (id + 1) % n, 3, &mine, &works[0], NULL, NULL) != MDIST_OK) return 2;
        if (mdist_receive_start(replica, (id + n - 1) % n, 3, &theirs, &works[1], NULL, NULL) != MDIST_OK) return 3;
        for (int i = 0; i < 2; ++i)
            if (mdist_work_on_done(works[i], tell, &told[i], NULL) != MDIST_OK) return 4;
        float x = 1;
        const mdist_buffer_t one = floats(&x, 1);
        if (in_group(id) && (mdist_all_reduce(replica, MDIST_SUM, &one, &one, 1, &options, NULL) != MDIST_OK ||
                             x != (float)((n + 1) / 2)))
            return 5;
        for (int i = 0; i < 2; ++i)
            while (atomic_load(&told[i].calls) == 0) sched_yield();
        for (int i = 0; i < 2; ++i) {
            if (atomic_load(&told[i].calls) != 1 || atomic_load(&told[i].status) != MDIST_OK) return 6;
            mdist_work_destroy(works[i]);
        }
        if (!holds(in, (id + n - 1) % n * 100 + trip, ring->elements)) return 7;
    }
    free(out);
    free(in);
    return 0;
}

/// Nobody sends, and nobody waits: a function tells.
static int32_t told_late_step(mdist_replica_t *replica, void *user_data) {
    const mdist_call_options_t soon = {.struct_size = sizeof soon, .timeout_ns = 300000000};
    Told *const told = user_data;
    float x = 0;
    const mdist_buffer_t one = floats(&x, 1);
    mdist_work_t *work = NULL;
    if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 3; // all runs before are over
    if (mdist_replica_id(replica) != 0) return 0;
    if (mdist_receive_start(replica, first_replica_of[1], 3, &one, &work, &soon, NULL) != MDIST_OK) return 1;
    if (mdist_work_on_done(work, tell, told, NULL) != MDIST_OK) return 2;
    while (atomic_load(&told->calls) == 0) sched_yield();
    mdist_work_destroy(work);
    return 0;
}

static void told(void) {
    static const uint64_t sizes[] = {1, 1024, LARGE};
    mdist_strategy_t *strategy = join();
    const uint32_t n = first_replica_of[worker_count];
    uint32_t members[MOST_ALL];
    size_t count = 0;
    for (uint32_t id = n; id-- > 0;)
        if (in_group(id)) members[count++] = id;
    Ring ring = {NULL, 0};
    GIVES(MDIST_OK, mdist_group_create(strategy, members, count, &ring.group, &error));
    for (int i = 0; i < 3; ++i) {
        ring.elements = sizes[i];
        GIVES(MDIST_OK, mdist_run(strategy, told_step, &ring, NULL, &error));
    }
    mdist_group_destroy(ring.group);
    Told late = {0, 0};
    mdist_error_t *error = NULL;
    const mdist_status_t status = mdist_run(strategy, told_late_step, &late, NULL, &error);
    // The others' steps return, and then they leave the job. Either that is noticed first, or that time is over.
    if (rank == 0) REQUIRE(status == MDIST_ERR_PEER_LOST || status == MDIST_ERR_TIMEOUT);
    if (rank == 0) REQUIRE(atomic_load(&late.calls) == 1 && atomic_load(&late.status) == status);
    mdist_error_free(error);
    mdist_strategy_destroy(strategy);
}

// ---- Failures

typedef struct Failing {
    enum { MISMATCH, MISMATCH_LARGE, RETURNS, RETURNS_FROM_SEND, FAILS_STEP, CIRCLE, DIES, LEAVES } how;
    atomic_int wrong;
} Failing;

static mdist_status_t status_of(int how) {
    static const mdist_status_t all[] = {MDIST_ERR_MISMATCH,  MDIST_ERR_MISMATCH, MDIST_ERR_MISMATCH,
                                         MDIST_ERR_MISMATCH,  MDIST_ERR_ABORTED,  MDIST_ERR_TIMEOUT,
                                         MDIST_ERR_PEER_LOST, MDIST_ERR_PEER_LOST};
    return all[how];
}

static float large[MOST_ALL][LARGE + 1];

static uint64_t limit_ns(void) {
    return (uint64_t)atoi(getenv("TEST_LIMIT")) * 1000000000;
}

/// The victim is worker 1, with the last replicas; `me` and `it` are a replica of worker 0 and one of worker 1.
static int32_t failing_step(mdist_replica_t *replica, void *user_data) {
    Failing *self = user_data;
    const uint32_t id = mdist_replica_id(replica), me = 0, it = first_replica_of[1];
    const mdist_call_options_t limit = {.struct_size = sizeof limit,
                                        .timeout_ns = self->how == CIRCLE ? limit_ns() : 0};
    const mdist_buffer_t one = floats(large[id], 1), many = floats(large[id], LARGE),
                         more = floats(large[id], LARGE + 1);
    mdist_status_t status = MDIST_OK;
    if (id != me && id != it) return 0;
    const int is_it = id == it;
    switch (self->how) {
        case MISMATCH:
            if (is_it && mdist_send(replica, me, 7, &one, NULL, NULL) != MDIST_OK) ++self->wrong;
            if (is_it) return 0;
            status = mdist_receive(replica, it, 7, &many, NULL, NULL);
            break;
        case MISMATCH_LARGE: // both sides wait, and both get it
            status = is_it ? mdist_send(replica, me, 7, &more, NULL, NULL)
                           : mdist_receive(replica, it, 7, &many, NULL, NULL);
            break;
        case RETURNS:
            if (is_it) return 0;
            status = mdist_receive(replica, it, 7, &one, NULL, NULL);
            break;
        case RETURNS_FROM_SEND:
            if (is_it) return 0;
            status = mdist_send(replica, it, 7, &many, NULL, NULL);
            break;
        case FAILS_STEP:
            if (is_it) return 9;
            status = mdist_receive(replica, it, 7, &one, NULL, NULL);
            break;
        case CIRCLE:
            status = mdist_receive(replica, is_it ? me : it, is_it ? 3 : 7, &one, &limit, NULL);
            break;
        default:
            if (is_it && self->how == DIES) {
                mdist_send(replica, me, 6, &one, NULL, NULL);
                raise(SIGKILL);
            }
            if (is_it) return 0;
            status = mdist_receive(replica, it, 6, &one, NULL, NULL);
            if (status == MDIST_OK) status = mdist_receive(replica, it, 7, &many, NULL, NULL);
    }
    if (status != status_of(self->how)) {
        fprintf(stderr, "replica %u: %s\n", id, mdist_status_name(status));
        ++self->wrong;
    }
    return 0;
}

static void failing(void) {
    static const char *const words[] = {
        "sends 1 float32 to replica 0 with tag 7, but replica 0 receives 100000 float32 there",
        "sends 100001 float32 to replica 0 with tag 7, but replica 0 receives 100000 float32 there",
        "returned from its step without sending what replica 0 waits to receive from it (tag 7",
        "returned from its step without receiving what replica 0 sends to it (tag 7",
        "returned 9",
        "(tag 3)",
        "worker 1",
        "worker 1"};
    Failing self = {.how = atoi(getenv("TEST_HOW"))};
    mdist_strategy_t *strategy = join();
    mdist_error_t *error = NULL;
    if (self.how == LEAVES && rank == 1) { // it makes no run at all
        mdist_strategy_destroy(strategy);
        return;
    }
    const mdist_status_t status = mdist_run(strategy, failing_step, &self, NULL, &error);
    const char *const text = mdist_error_message(error);
    if (rank == 1 && self.how <= RETURNS_FROM_SEND) outlive_others(); // a worker that leaves is another failure
    REQUIRE(self.wrong == 0);
    if (rank == 0 && (status >= 0 || strstr(text, words[self.how]) == NULL)) GIVE_UP(text);
    if (rank == 0 && self.how == CIRCLE && strstr(text, "which waits to receive from") == NULL)
        fail_or_late(status, text, __FILE__, __LINE__); // the other one had not begun to wait
    if (rank == 0 && self.how >= DIES) REQUIRE(mdist_error_rank(error) == 1);
    mdist_error_free(error);
    mdist_strategy_destroy(strategy);
}

static const char *const ways[] = {"MDIST_COMMUNICATION_IMPLEMENTATION=auto", "MDIST_COMMUNICATION_IMPLEMENTATION=tcp"};

static void check(const char *scenario, uint32_t workers, const char *devices) {
    for (int way = 0; way < 2; ++way) {
        const char *const environment[] = {ways[way], "MDIST_UNEVEN_REPLICAS=1", NULL};
        const char *const even[] = {ways[way], NULL};
        const Workers job = {.scenario = scenario,
                             .count = workers,
                             .devices = devices,
                             .environment = strchr(devices, '|') != NULL ? environment : even};
        if (run_workers(&job)) fail_msg("%s: %u workers with %s, %s", scenario, workers, devices, ways[way]);
    }
}

static void everybody_sends_to_everybody(void **unused) {
    (void)unused;
    check("everybody", 2, "cpu*2");
    check("everybody", 3, "cpu*1");
    check("everybody", 4, "cpu*1");
    check("everybody", 2, "cpu*1|cpu*3");
}

static void random_schedules_end_well(void **unused) {
    (void)unused;
    check("random_schedules", 2, "cpu*1");
    check("random_schedules", 2, "cpu*2");
    check("random_schedules", 4, "cpu*1");
    check("random_schedules", 3, "cpu*3|cpu*1|cpu*2");
}

static void functions_tell_of_messages(void **unused) {
    (void)unused;
    check("told", 2, "cpu*1");
    check("told", 2, "cpu*2");
    check("told", 3, "cpu*3|cpu*1|cpu*2");
}

static void large_messages_cross_each_other(void **unused) {
    (void)unused;
    check("huge", 2, "cpu*1");
}

static void every_failure_reaches_who_waits(void **unused) {
    (void)unused;
    for (int way = 0; way < 2; ++way) {
        for (int how = MISMATCH; how <= LEAVES; ++how) {
            char variable[32];
            snprintf(variable, sizeof variable, "TEST_HOW=%d", how);
            const char *const environment[] = {ways[way], variable, NULL};
            const Workers job = {.scenario = "failing",
                                 .count = 2,
                                 .devices = how % 2 == way ? "cpu*1" : "cpu*2",
                                 .environment = environment,
                                 .victim = 1,
                                 .killed = how == DIES};
            const int failed = how == CIRCLE ? run_workers_in_time(&job, "TEST_LIMIT") : run_workers(&job);
            if (failed) fail_msg("kind %d of failure, %s", how, ways[way]);
        }
    }
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_sends_to_everybody),    cmocka_unit_test(random_schedules_end_well),
        cmocka_unit_test(functions_tell_of_messages),      cmocka_unit_test(large_messages_cross_each_other),
        cmocka_unit_test(every_failure_reaches_who_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {{"everybody", everybody},
                                              {"huge", huge},
                                              {"random_schedules", random_schedules},
                                              {"told", told},
                                              {"failing", failing}};
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
