// SPDX-License-Identifier: Apache-2.0
// Random calls for scenarios: all collectives, dtypes and sizes, in place and not, fused, blocking and started, of all
// replicas or of random groups. Every replica goes through one list of calls, and makes those that it has a part in.
// The bits must be those of one process, and these must be what collective.h says.
#pragma once

#include "canonical_tree.h"
#include "multi.h"
#include "started.h"

enum { CALLS = 24, MOST_BUFFERS = 4, MOST_REPLICAS = MOST_SOURCES, MOST_GROUPS = 5, ARENA = 1 << 21 };

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
    ALL_TO_ALL_PARTS,
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
    uint32_t members; // replicas that make the call
    uint32_t list[MOST_REPLICAS];
    int group; // index of the group; -1: all replicas
} Plan;

/// What the step works with. Each replica has its own memory, which is filled the same in every layout.
typedef struct Job {
    Plan plans[CALLS];
    uint32_t replicas; // replicas of the whole job
    char *inputs[MOST_REPLICAS], *outputs[MOST_REPLICAS];
    uint64_t digest[MOST_REPLICAS][CALLS];
    int here[MOST_REPLICAS]; // whether this worker has the replica
    uint32_t group_count;
    uint32_t sizes[MOST_GROUPS], lists[MOST_GROUPS][MOST_REPLICAS];
    mdist_group_t *groups[MOST_GROUPS];
} Job;

static uint64_t state;

static uint32_t random_below(uint32_t bound) {
    return draw_from(&state, bound);
}

static size_t size_of(int32_t dtype) {
    static const size_t sizes[] = {0, 4, 8, 2, 2, 1, 1, 4, 4, 8, 8, 2, 2, 1};
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

static int reduces(Kind kind) {
    return kind == ALL_REDUCE || kind == REDUCE_SCATTER || kind == REDUCE_TO_ROOT;
}

/// Draws some replicas in a random order. Every third list is sorted, so that it names each worker's members one after
/// another.
static void draw_group(Job *job, uint32_t group) {
    uint32_t *const list = job->lists[group];
    for (uint32_t r = 0; r < job->replicas; ++r) {
        const uint32_t other = random_below(r + 1);
        list[r] = list[other];
        list[other] = r;
    }
    job->sizes[group] = 1 + random_below(job->replicas);
    for (uint32_t i = 1; group % 3 == 0 && i < job->sizes[group]; ++i)
        for (uint32_t j = i; j > 0 && list[j] < list[j - 1]; --j) {
            const uint32_t smaller = list[j];
            list[j] = list[j - 1];
            list[j - 1] = smaller;
        }
}

static Plan random_plan(const Job *job) {
    Plan plan = {.kind = (Kind)random_below(KINDS), .group = -1, .members = job->replicas};
    for (uint32_t r = 0; r < job->replicas; ++r) plan.list[r] = r;
    if (job->group_count != 0 && random_below(5) != 0) {
        plan.group = (int)random_below(job->group_count);
        plan.members = job->sizes[plan.group];
        memcpy(plan.list, job->lists[plan.group], sizeof plan.list);
    }
    const uint32_t replicas = plan.members;
    plan.root = plan.list[random_below(replicas)];
    plan.buffers = plan.kind == BARRIER ? 0 : random_below(MOST_BUFFERS + 1);
    plan.in_place = plan.kind != ALL_TO_ALL && plan.kind != ALL_TO_ALL_PARTS && random_below(2);
    plan.started = random_below(3) == 0;
    plan.op = (mdist_reduce_op_t)(1 + random_below(OPS));
    for (size_t b = 0; b < plan.buffers; ++b) {
        do plan.dtype[b] = (int32_t)(1 + random_below(DTYPES));
        while (reduces(plan.kind) && !takes((int)plan.op, plan.dtype[b]));
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
    uint64_t in_parts[MOST_BUFFERS * MOST_REPLICAS], out_parts[MOST_BUFFERS * MOST_REPLICAS];
    size_t in_used, out_used;
} Buffers;

/// What position `from` gives to position `to` in an all-to-all of parts; sometimes nothing.
static uint64_t part_length(const Plan *plan, size_t b, uint32_t from, uint32_t to) {
    const uint64_t length = (plan->length[b][0] * 31 + from * 17 + to * 7) % 400;
    return length < 40 ? 0 : length;
}

static uint64_t total(const Plan *plan, size_t b) {
    uint64_t sum = 0;
    for (uint32_t r = 0; r < plan->members; ++r) sum += plan->length[b][r];
    return sum;
}

/// A replica's position in the call; the number of members if it does not take part.
static uint32_t position_of(const Plan *plan, uint32_t id) {
    uint32_t position = 0;
    while (position < plan->members && plan->list[position] != id) ++position;
    return position;
}

/// Lays the call's buffers out in a replica's memory. In place, a part lies where it belongs in the whole.
static void lay_out(const Job *job, const Plan *plan, uint32_t id, Buffers *out) {
    const uint32_t at = position_of(plan, id);
    size_t in_at = 0, out_at = 0;
    for (size_t b = 0; b < plan->buffers; ++b) {
        const size_t size = size_of(plan->dtype[b]);
        uint64_t whole = plan->length[b][at], part = plan->length[b][at], before = 0;
        if (has_parts(plan->kind)) {
            whole = total(plan, b);
            for (uint32_t r = 0; r < at; ++r) before += plan->length[b][r];
        }
        if (plan->kind == ALL_TO_ALL) whole = part = part / plan->members * plan->members;
        const int gathers = plan->kind == ALL_GATHER || plan->kind == GATHER_TO_ROOT;
        const int scatters = plan->kind == REDUCE_SCATTER || plan->kind == SCATTER;
        uint64_t ins = scatters ? whole : part;
        uint64_t outs = gathers ? whole : part;
        for (uint32_t r = 0; plan->kind == ALL_TO_ALL_PARTS && r < plan->members; ++r) {
            if (r == 0) ins = outs = 0;
            ins += out->in_parts[b * plan->members + r] = part_length(plan, b, at, r);
            outs += out->out_parts[b * plan->members + r] = part_length(plan, b, r, at);
        }
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

static mdist_status_t call(const Plan *plan, mdist_replica_t *replica, const Buffers *buffers,
                           const mdist_call_options_t *options) {
    const size_t n = plan->buffers;
    switch (plan->kind) {
        case ALL_REDUCE:
            return mdist_all_reduce(replica, plan->op, buffers->in, buffers->out, n, options, NULL);
        case BROADCAST:
            return mdist_broadcast(replica, plan->root, buffers->out, n, options, NULL);
        case ALL_GATHER:
            return mdist_all_gather(replica, buffers->in, buffers->out, n, options, NULL);
        case REDUCE_SCATTER:
            return mdist_reduce_scatter(replica, plan->op, buffers->in, buffers->out, n, options, NULL);
        case ALL_TO_ALL:
            return mdist_all_to_all(replica, buffers->in, buffers->out, n, options, NULL);
        case ALL_TO_ALL_PARTS:
            return mdist_all_to_all_parts(replica, buffers->in, buffers->in_parts, buffers->out, buffers->out_parts, n,
                                          options, NULL);
        case REDUCE_TO_ROOT:
            return mdist_reduce_to_root(replica, plan->op, plan->root, buffers->in, buffers->out, n, options, NULL);
        case GATHER_TO_ROOT:
            return mdist_gather_to_root(replica, plan->root, buffers->in, buffers->out, n, options, NULL);
        case SCATTER:
            return mdist_scatter(replica, plan->root, buffers->in, buffers->out, n, options, NULL);
        default:
            return mdist_barrier(replica, options, NULL);
    }
}

static mdist_status_t start(const Plan *plan, mdist_replica_t *replica, const Buffers *buffers,
                            const mdist_call_options_t *options) {
    const size_t n = plan->buffers;
    mdist_work_t *work = NULL;
    mdist_status_t status;
    switch (plan->kind) {
        case ALL_REDUCE:
            status = start_all_reduce(replica, plan->op, buffers->in, buffers->out, n, &work, options, NULL);
            break;
        case BROADCAST:
            status = start_broadcast(replica, plan->root, buffers->out, n, &work, options, NULL);
            break;
        case ALL_GATHER:
            status = start_all_gather(replica, buffers->in, buffers->out, n, &work, options, NULL);
            break;
        case REDUCE_SCATTER:
            status = start_reduce_scatter(replica, plan->op, buffers->in, buffers->out, n, &work, options, NULL);
            break;
        case ALL_TO_ALL:
            status = start_all_to_all(replica, buffers->in, buffers->out, n, &work, options, NULL);
            break;
        case ALL_TO_ALL_PARTS:
            status = start_all_to_all_parts(replica, buffers->in, buffers->in_parts, buffers->out, buffers->out_parts,
                                            n, &work, options, NULL);
            break;
        case REDUCE_TO_ROOT:
            status =
                start_reduce_to_root(replica, plan->op, plan->root, buffers->in, buffers->out, n, &work, options, NULL);
            break;
        case GATHER_TO_ROOT:
            status = start_gather_to_root(replica, plan->root, buffers->in, buffers->out, n, &work, options, NULL);
            break;
        case SCATTER:
            status = start_scatter(replica, plan->root, buffers->in, buffers->out, n, &work, options, NULL);
            break;
        default:
            status = start_barrier(replica, &work, options, NULL);
    }
    int32_t done = 0;
    if (status == MDIST_OK) status = mdist_work_wait(work, MDIST_FOREVER, &done, NULL);
    mdist_work_destroy(work);
    return status == MDIST_OK && !done ? MDIST_ERR_INTERNAL : status;
}

static uint64_t digest_of_outputs(const Plan *plan, const Buffers *buffers) {
    uint64_t digest = 0;
    for (size_t b = 0; b < plan->buffers; ++b)
        digest = digest * 31 + digest_of(buffers->out[b].data, buffers->out[b].elements * size_of(plan->dtype[b]));
    return digest;
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    Job *job = user_data;
    const uint32_t id = mdist_replica_id(replica);
    job->here[id] = 1;
    for (uint32_t c = 0; c < CALLS; ++c) {
        const Plan *plan = &job->plans[c];
        if (position_of(plan, id) == plan->members) continue;
        const mdist_call_options_t options = {.struct_size = sizeof options,
                                              .group = plan->group < 0 ? NULL : job->groups[plan->group]};
        Buffers buffers;
        lay_out(job, plan, id, &buffers);
        fill(job->inputs[id], buffers.in_used, id, c);
        fill(job->outputs[id], buffers.out_used, id, c);
        const int started = plan->started && id % 3 != 1; // some replicas start what others call blocking
        const mdist_status_t status =
            started ? start(plan, replica, &buffers, &options) : call(plan, replica, &buffers, &options);
        if (status != MDIST_OK) return (int32_t)c + 1;
        job->digest[id][c] = digest_of_outputs(plan, &buffers);
    }
    return 0;
}

static Job *job_of(uint32_t replicas, uint32_t groups, uint64_t seed) {
    Job *job = calloc(1, sizeof *job);
    REQUIRE(job != NULL);
    job->replicas = replicas;
    job->group_count = groups;
    state = seed;
    for (uint32_t g = 0; g < groups; ++g) draw_group(job, g);
    for (uint32_t c = 0; c < CALLS; ++c) job->plans[c] = random_plan(job);
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

/// Makes the groups, runs the calls, and destroys the groups.
static void run_job(mdist_strategy_t *strategy, Job *job) {
    for (uint32_t g = 0; g < job->group_count; ++g)
        GIVES(MDIST_OK, mdist_group_create(strategy, job->lists[g], job->sizes[g], &job->groups[g], &error));
    GIVES(MDIST_OK, mdist_run(strategy, step, job, NULL, &error));
    for (uint32_t g = 0; g < job->group_count; ++g) mdist_group_destroy(job->groups[g]);
}

/// Runs the same job on one worker that has all replicas.
static void run_alone(Job *job) {
    mdist_config_t *config = NULL;
    mdist_strategy_t *strategy = NULL;
    char devices[16];
    snprintf(devices, sizeof devices, "cpu*%u", job->replicas);
    GIVES(MDIST_OK, mdist_config_create(&config, &error));
    GIVES(MDIST_OK, mdist_config_set(config, "devices", devices, &error));
    GIVES(MDIST_OK, mdist_config_set(config, "strategy", "mirrored", &error)); // though there are other workers
    GIVES(MDIST_OK, mdist_strategy_create(config, &strategy, &error));
    run_job(strategy, job);
    mdist_strategy_destroy(strategy);
    mdist_config_destroy(config);
}

// ---- What the calls give, by the definition.

/// Writes what position `at` has in the end. `all` are the buffers of all positions, with their inputs.
static void define_output(const Plan *plan, uint32_t at, size_t b, const Buffers *all, char *out) {
    const size_t size = size_of(plan->dtype[b]);
    const uint32_t n = plan->members;
    uint64_t before = 0, elements = all[at].out[b].elements;
    uint32_t root = 0;
    while (plan->list[root] != plan->root) ++root;
    for (uint32_t p = 0; has_parts(plan->kind) && p < at; ++p) before += plan->length[b][p];
    const unsigned char *sources[MOST_REPLICAS];
    for (uint32_t p = 0; p < n; ++p)
        sources[p] = (const unsigned char *)all[p].in[b].data + (plan->kind == REDUCE_SCATTER ? before * size : 0);
    if (reduces(plan->kind)) reduce_plainly((int)plan->op, plan->dtype[b], sources, n, (unsigned char *)out, elements);
    if (plan->kind == BROADCAST) memcpy(out, sources[root], elements * size);
    if (plan->kind == SCATTER) memcpy(out, sources[root] + before * size, elements * size);
    for (uint32_t p = 0; p < n; ++p) { // what p gives
        uint64_t from = 0, count = all[p].in[b].elements;
        if (plan->kind == ALL_TO_ALL) count /= n, from = at * count;
        for (uint32_t q = 0; plan->kind == ALL_TO_ALL_PARTS && q < at; ++q) from += part_length(plan, b, p, q);
        if (plan->kind == ALL_TO_ALL_PARTS) count = part_length(plan, b, p, at);
        if (plan->kind == ALL_GATHER || plan->kind == GATHER_TO_ROOT || plan->kind == ALL_TO_ALL ||
            plan->kind == ALL_TO_ALL_PARTS) {
            memcpy(out, sources[p] + from * size, count * size);
            out += count * size;
        }
    }
}

/// Checks what the replicas had after call `c`. The call is over, so their memory can be used again.
static void check_definition(const Job *job, uint32_t c) {
    const Plan *const plan = &job->plans[c];
    Buffers all[MOST_REPLICAS];
    memset(all, 0, sizeof all);
    for (uint32_t p = 0; p < plan->members; ++p) {
        const uint32_t id = plan->list[p];
        lay_out(job, plan, id, &all[p]);
        fill(job->inputs[id], all[p].in_used, id, c);
        fill(job->outputs[id], all[p].out_used, id, c);
    }
    for (uint32_t p = 0; p < plan->members; ++p) {
        const int only_root = plan->kind == REDUCE_TO_ROOT || plan->kind == GATHER_TO_ROOT;
        if (only_root && plan->list[p] != plan->root) continue; // undefined
        Buffers wanted = all[p];
        for (size_t b = 0; b < plan->buffers; ++b) {
            wanted.out[b].data = malloc(wanted.out[b].elements * size_of(plan->dtype[b]) + 1);
            REQUIRE(wanted.out[b].data != NULL);
            define_output(plan, p, b, all, wanted.out[b].data);
        }
        const int same = digest_of_outputs(plan, &wanted) == job->digest[plan->list[p]][c];
        for (size_t b = 0; b < plan->buffers; ++b) free(wanted.out[b].data);
        if (same) continue;
        fprintf(stderr, "call %u (kind %d, op %d, %zu buffers, first dtype %d), position %u of %u\n", c,
                (int)plan->kind, (int)plan->op, plan->buffers, plan->dtype[0], p, plan->members);
        GIVE_UP("the bits that collective.h defines");
    }
}

/// Runs random calls of all replicas, and of random groups, on the workers and on one worker.
static void compare_with_one_worker(uint32_t groups) {
    const uint32_t rounds = is_long() ? 15 : MDIST_TEST_SANITIZED ? 1 : 3; // sanitizers slow many workers down
    const uint64_t first = test_seed(0);
    mdist_strategy_t *strategy = join();
    const uint32_t replicas = mdist_strategy_replica_count(strategy);
    for (uint32_t round = 0; round < rounds; ++round) {
        Job *alone = job_of(replicas, groups, first + round * 1000 + replicas);
        Job *together = job_of(replicas, groups, first + round * 1000 + replicas);
        run_alone(alone);
        run_job(strategy, together);
        for (uint32_t c = 0; rank == 0 && c < CALLS; ++c) check_definition(alone, c); // once is enough
        for (uint32_t id = 0; id < replicas; ++id) {
            for (uint32_t c = 0; c < CALLS && together->here[id]; ++c) {
                if (alone->digest[id][c] == together->digest[id][c]) continue;
                const Plan *plan = &alone->plans[c];
                fprintf(stderr, "round %u, call %u (kind %d, op %d, %zu buffers, first dtype %d), replica %u, group",
                        round, c, (int)plan->kind, (int)plan->op, plan->buffers, plan->dtype[0], id);
                for (uint32_t i = 0; i < plan->members; ++i) fprintf(stderr, " %u", plan->list[i]);
                fprintf(stderr, "\n");
                GIVE_UP("the same bits");
            }
        }
        job_free(alone);
        job_free(together);
    }
    mdist_strategy_destroy(strategy);
}
