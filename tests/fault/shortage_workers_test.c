// SPDX-License-Identifier: Apache-2.0
// Several workers call something together, and one replica of one worker is short of memory: each request of its call
// is refused in turn, once and for good. Always the status that says so there, and one of a lost job elsewhere; never a
// crash, a hang, a wrong number or a leak (the last by AddressSanitizer).
//
// A job that has failed is over, so each refused request has a job of its own. The same processes form them all, one
// after another. The worker that is short plans what is refused, and tells the others at the beginning of each step.
#include "../multi/multi.h"
#include "started.h"

#include <sched.h>
#include <stdatomic.h>

#include "shortage.h"
#include "shortage_jobs.h"

enum { SMALL = 8, LARGE = 30000, MOST_REPLICAS = 4, WARM = 2, QUICK_STRIDE = 7 };

typedef enum Kind {
    ALL_REDUCE,
    BROADCAST,
    ALL_GATHER,
    REDUCE_SCATTER,
    ALL_TO_ALL,
    PARTS,
    REDUCE_TO_ROOT,
    GATHER,
    SCATTER,
    BARRIER,
    MESSAGE
} Kind;

/// Whom a call begins or ends with: the root, or who sends.
typedef enum Giver { FIRST, SHORT } Giver;

typedef struct What {
    const char *name;
    Kind kind;
    uint64_t elements; // of a replica's piece
    Giver giver;
    int in_group; // of the short replica and the first one, in this order
} What;

static const What all[] = {
    {"all_reduce", ALL_REDUCE, SMALL, FIRST, 0},
    {"large all_reduce", ALL_REDUCE, LARGE, FIRST, 0},
    {"all_reduce of a group", ALL_REDUCE, SMALL, FIRST, 1},
    {"broadcast", BROADCAST, SMALL, FIRST, 0},
    {"large broadcast from the short one", BROADCAST, LARGE, SHORT, 0},
    {"all_gather", ALL_GATHER, SMALL, FIRST, 0},
    {"large all_gather", ALL_GATHER, LARGE, FIRST, 0},
    {"all_gather of a group", ALL_GATHER, SMALL, FIRST, 1},
    {"reduce_scatter", REDUCE_SCATTER, SMALL, FIRST, 0},
    {"large reduce_scatter", REDUCE_SCATTER, LARGE, FIRST, 0},
    {"reduce_scatter of a group", REDUCE_SCATTER, SMALL, FIRST, 1},
    {"all_to_all", ALL_TO_ALL, SMALL, FIRST, 0},
    {"large all_to_all", ALL_TO_ALL, LARGE, FIRST, 0},
    {"all_to_all_parts", PARTS, SMALL, FIRST, 0},
    {"reduce_to_root", REDUCE_TO_ROOT, SMALL, FIRST, 0},
    {"large reduce_to_root", REDUCE_TO_ROOT, LARGE, SHORT, 0},
    {"gather_to_root", GATHER, SMALL, SHORT, 0},
    {"large gather_to_root", GATHER, LARGE, FIRST, 0},
    {"scatter", SCATTER, SMALL, SHORT, 0},
    {"large scatter", SCATTER, LARGE, FIRST, 0},
    {"barrier", BARRIER, 0, FIRST, 0},
    {"send", MESSAGE, SMALL, SHORT, 0},
    {"large send", MESSAGE, LARGE, SHORT, 0},
    {"receive", MESSAGE, SMALL, FIRST, 0},
    {"large receive", MESSAGE, LARGE, FIRST, 0},
};

typedef enum Form { BLOCKING, STARTED, LEFT /* started, and not waited for by the short one */, FORMS } Form;

/// What is refused, the same on all replicas; nth 0: no more jobs.
typedef struct Plan {
    uint64_t form, whole_process, for_good, nth;
} Plan;

typedef struct Part {
    float in[MOST_REPLICAS * LARGE], out[MOST_REPLICAS * LARGE];
    Plan plan;
    mdist_status_t status; // of the call that may be short
    char said[256];        // with it
    char wrong[512];       // nothing may be asserted in a step
    mdist_work_t *left;
} Part;

static Part parts[MOST_REPLICAS]; // of local replicas
static const What *what;
static mdist_group_t *group;
static Plan next;
static uint64_t refused;
static unsigned jobs;
static atomic_int have_started; // replicas of this process, besides the short one

static uint32_t replicas(void) {
    return first_replica_of[worker_count];
}

/// The last replica of the worker that is short.
static uint32_t short_one(void) {
    return first_replica_of[victim + 1] - 1;
}

static int takes_part(uint32_t id) {
    return !(what->in_group || what->kind == MESSAGE) || id == 0 || id == short_one();
}

// ---- The call

#define EITHER(name, ...)                                                  \
    (work == NULL ? mdist_##name(replica, __VA_ARGS__, 1, &options, error) \
                  : start_##name(replica, __VA_ARGS__, 1, work, &options, error))

static mdist_status_t send_or_receive(mdist_replica_t *replica, int sends, uint32_t other, const mdist_buffer_t *buffer,
                                      mdist_work_t **work, mdist_error_t **error) {
    if (work == NULL) return (sends ? mdist_send : mdist_receive)(replica, other, 7, buffer, NULL, error);
    return (sends ? mdist_send_start : mdist_receive_start)(replica, other, 7, buffer, work, NULL, error);
}

/// Calls it, or with `work` starts it.
static mdist_status_t call(mdist_replica_t *replica, Part *part, mdist_work_t **work, mdist_error_t **error) {
    const mdist_call_options_t options = {.struct_size = sizeof options, .group = group};
    const uint32_t id = mdist_replica_id(replica), count = what->in_group ? 2 : replicas();
    const uint32_t giver = what->giver == SHORT ? short_one() : 0;
    const uint64_t n = what->elements;
    const mdist_buffer_t piece = buffer_of(part->in, MDIST_FLOAT32, n), own = buffer_of(part->out, MDIST_FLOAT32, n);
    const mdist_buffer_t from_all = buffer_of(part->in, MDIST_FLOAT32, n * count);
    const mdist_buffer_t to_all = buffer_of(part->out, MDIST_FLOAT32, n * count);
    const mdist_buffer_t none = buffer_of(NULL, MDIST_FLOAT32, 0);
    const mdist_buffer_t *const to_root = id == giver ? &to_all : &none;
    uint64_t lengths[MOST_REPLICAS];
    for (uint32_t i = 0; i < count; ++i) lengths[i] = n;
    for (uint64_t i = 0; i < n * count; ++i) part->in[i] = (float)(id + 1), part->out[i] = 0;
    switch (what->kind) {
        case ALL_REDUCE:
            return EITHER(all_reduce, MDIST_SUM, &piece, &own);
        case BROADCAST:
            memcpy(part->out, part->in, n * sizeof(float));
            return EITHER(broadcast, giver, &own);
        case ALL_GATHER:
            return EITHER(all_gather, &piece, &to_all);
        case REDUCE_SCATTER:
            return EITHER(reduce_scatter, MDIST_SUM, &from_all, &own);
        case ALL_TO_ALL:
            return EITHER(all_to_all, &from_all, &to_all);
        case PARTS:
            return EITHER(all_to_all_parts, &from_all, lengths, &to_all, lengths);
        case REDUCE_TO_ROOT:
            return EITHER(reduce_to_root, MDIST_SUM, giver, &piece, id == giver ? &own : &none);
        case GATHER:
            return EITHER(gather_to_root, giver, &piece, to_root);
        case SCATTER:
            return EITHER(scatter, giver, id == giver ? &from_all : &none, &own);
        case MESSAGE:
            return send_or_receive(replica, id == giver, id == 0 ? short_one() : 0, id == giver ? &piece : &own, work,
                                   error);
        case BARRIER:
            break;
    }
    return work == NULL ? mdist_barrier(replica, &options, error) : start_barrier(replica, work, &options, error);
}

/// What the first and the last number of the result are.
static int is_right(uint32_t id, const Part *part) {
    const uint32_t count = what->in_group ? 2 : replicas(), giver = what->giver == SHORT ? short_one() : 0;
    const float *const out = part->out;
    const uint64_t last = what->elements - 1, last_of_all = what->elements * count - 1;
    const float sum = what->in_group ? (float)(short_one() + 2) : (float)(count * (count + 1) / 2);
    const float first_id = what->in_group ? (float)(short_one() + 1) : 1;
    const float last_id = what->in_group ? 1 : (float)count;
    switch (what->kind) {
        case ALL_REDUCE:
        case REDUCE_SCATTER:
            return out[0] == sum && out[last] == sum;
        case BROADCAST:
        case SCATTER:
            return out[0] == (float)(giver + 1) && out[last] == (float)(giver + 1);
        case REDUCE_TO_ROOT:
            return id != giver || (out[0] == sum && out[last] == sum);
        case GATHER:
            return id != giver || (out[0] == first_id && out[last_of_all] == last_id);
        case ALL_GATHER:
        case ALL_TO_ALL:
        case PARTS:
            return out[0] == first_id && out[last_of_all] == last_id;
        case MESSAGE:
            return id == giver || (out[0] == (float)(giver + 1) && out[last] == (float)(giver + 1));
        case BARRIER:
            break;
    }
    return 1;
}

// ---- The step

/// Keeps the status, and checks that a failure comes with its story. Frees the error.
static int went(Part *part, mdist_status_t status, mdist_error_t **out) {
    mdist_error_t *const error = *out;
    if ((status == MDIST_OK) != (error == NULL) || mdist_error_status(error) != status ||
        (status != MDIST_OK && mdist_error_message(error)[0] == '\0'))
        snprintf(part->wrong, sizeof part->wrong, "status %s, and error %s: \"%s\"", mdist_status_name(status),
                 mdist_status_name(mdist_error_status(error)), mdist_error_message(error));
    if (status != MDIST_OK && part->status == MDIST_OK) {
        part->status = status;
        snprintf(part->said, sizeof part->said, "%s", mdist_error_message(error));
    }
    mdist_error_free(error);
    *out = NULL;
    return status == MDIST_OK;
}

static void call_or_start(mdist_replica_t *replica, Part *part, int is_short) {
    mdist_error_t *error = NULL;
    mdist_work_t *work = NULL;
    int32_t done = 0;
    if (part->plan.form == BLOCKING) {
        went(part, call(replica, part, NULL, &error), &error);
        return;
    }
    const int started = went(part, call(replica, part, &work, &error), &error);
    atomic_fetch_add(&have_started, !is_short);
    if (started && (part->plan.form == STARTED || !is_short)) {
        went(part, mdist_work_wait(work, MDIST_FOREVER, &done, &error), &error);
    }
    if (part->plan.form == LEFT && is_short)
        part->left = work;
    else
        mdist_work_destroy(work);
}

/// The replicas of this process, besides the short one, that take part in the call.
static int mates(void) {
    int count = 0;
    for (uint32_t id = first_replica_of[rank]; id < first_replica_of[rank + 1]; ++id)
        count += takes_part(id) && id != short_one();
    return count;
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    Part *const part = &parts[mdist_replica_local_index(replica)];
    const uint32_t id = mdist_replica_id(replica);
    const int is_short = id == short_one();
    const mdist_buffer_t plan = buffer_of(&part->plan, MDIST_UINT64, sizeof(Plan) / sizeof(uint64_t));
    mdist_error_t *error = NULL;
    (void)user_data;
    part->plan = next;
    went(part, mdist_broadcast(replica, short_one(), &plan, 1, NULL, &error), &error);
    if (part->status != MDIST_OK) snprintf(part->wrong, sizeof part->wrong, "no plan");
    if (part->status != MDIST_OK || part->plan.nth == 0) return 0;
    for (int i = 0; i < WARM && takes_part(id) && part->status == MDIST_OK; ++i) {
        if (went(part, call(replica, part, NULL, &error), &error) && !is_right(id, part))
            snprintf(part->wrong, sizeof part->wrong, "wrong numbers before the shortage");
    }
    // Nobody is in an earlier call then. Whoever is late may still be in this one when the job ends.
    went(part, mdist_barrier(replica, NULL, &error), &error);
    if (part->status != MDIST_OK && is_short) snprintf(part->wrong, sizeof part->wrong, "failed before the shortage");
    if (part->status != MDIST_OK || part->wrong[0] != '\0' || !takes_part(id)) return part->status != MDIST_OK;
    // Where all only start it, the short one comes last and leads.
    while (is_short && part->plan.form != BLOCKING && atomic_load(&have_started) < mates()) sched_yield();
    if (is_short)
        shortage_start(part->plan.whole_process ? SHORT_OF_MEMORY : SHORT_OF_MEMORY_HERE, part->plan.nth,
                       (int)part->plan.for_good);
    call_or_start(replica, part, is_short);
    if (is_short && part->plan.form != LEFT) refused = shortage_stop();
    const int is_done = part->status == MDIST_OK && part->left == NULL;
    if (is_done && !is_right(id, part)) snprintf(part->wrong, sizeof part->wrong, "wrong numbers");
    return part->status == MDIST_OK ? 0 : 1;
}

// ---- The jobs

static int is_expected(mdist_status_t status, const Plan *plan, uint32_t id) {
    if (status == MDIST_OK) return 1;
    if (rank != victim) return status == MDIST_ERR_ABORTED || status == MDIST_ERR_PEER_LOST;
    if (status == MDIST_ERR_OUT_OF_MEMORY) return 1;
    if (plan->form == LEFT && status == MDIST_ERR_FAILED_PRECONDITION) return 1; // that says so
    if (plan->whole_process) return status == MDIST_ERR_ABORTED || status == MDIST_ERR_PEER_LOST;
    return id != short_one() && status == MDIST_ERR_ABORTED;
}

static void check_part(const Part *part, uint32_t id) {
    const Plan *const plan = &part->plan;
    char text[1024];
    const char *const wrong = part->wrong[0] != '\0'                ? part->wrong
                              : is_expected(part->status, plan, id) ? NULL
                                                                    : mdist_status_name(part->status);
    if (wrong == NULL) return;
    snprintf(text, sizeof text, "%s, form %u, %s, %s, request %u, replica %u: %s (%s)", what->name,
             (unsigned)plan->form, plan->whole_process ? "whole process" : "one thread",
             plan->for_good ? "for good" : "once", (unsigned)plan->nth, id, wrong, part->said);
    GIVE_UP(text);
}

/// Forms a job, in which what `next` says happens, and which may fail. Returns whether there is to be another one.
static int live(void) {
    const uint32_t list[] = {short_one(), 0}, first = first_replica_of[rank], end = first_replica_of[rank + 1];
    mdist_strategy_t *const strategy = join();
    mdist_error_t *error = NULL;
    for (uint32_t id = first; id < end; ++id) {
        parts[id - first].status = MDIST_OK;
        parts[id - first].left = NULL;
        parts[id - first].wrong[0] = parts[id - first].said[0] = '\0';
    }
    atomic_store(&have_started, 0);
    refused = 0;
    if (what->in_group) REQUIRE(mdist_group_create(strategy, list, 2, &group, NULL) == MDIST_OK);
    mdist_run(strategy, step, NULL, NULL, &error);
    if (rank == victim && next.form == LEFT) refused = shortage_stop();
    mdist_error_free(error);
    mdist_group_destroy(group);
    group = NULL;
    mdist_strategy_destroy(strategy);
    for (uint32_t id = first; id < end; ++id) {
        mdist_work_destroy(parts[id - first].left);
        check_part(&parts[id - first], id);
    }
    return parts[0].plan.nth != 0;
}

/// Refuses each request in turn, until there are no more. The quick tier takes some of them.
static void refuse_each(uint64_t form, uint64_t whole_process, uint64_t for_good) {
    const uint64_t stride = tiered(QUICK_STRIDE, 1);
    next = (Plan){form, whole_process, for_good, 1 + (form + for_good) % stride};
    do {
        live();
        next.nth += stride;
        ++jobs;
    } while (refused != 0);
}

static void shortages(void) {
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        if (strcmp(all[i].name, getenv("TEST_WHAT")) == 0) what = &all[i];
    if (rank != victim) {
        while (live()) {
        }
        return;
    }
    for (uint64_t form = 0; form < FORMS; ++form) {
        for (uint64_t whole_process = 0; whole_process <= tiered(form == STARTED, 1); ++whole_process) {
            refuse_each(form, whole_process, 0);
#ifndef MDIST_TEST_LIBCXX // it has 512 bytes for exceptions without memory, and then ends the process
            refuse_each(form, whole_process, 1);
#endif
        }
    }
    next.nth = 0;
    live();
    printf("# %s: %u jobs\n", what->name, jobs);
}

static const char *name(size_t i) {
    return i < sizeof all / sizeof *all ? all[i].name : NULL;
}

int main(int argument_count, char **arguments) {
    return shortage_main(argument_count, arguments, shortages, name);
}
