// SPDX-License-Identifier: Apache-2.0
#include "regroups_worker.h"

#include "../../fake_gpu/fake_gpu.h"
#include "mdist_test.h"
#include "moments.h"
#include "regroups_plan.h"
#include "time_limits.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

static Regroups plan;
static uint32_t number, regroups; // made so far
static Training training;

#define TRY(call)                            \
    do {                                     \
        const mdist_status_t tried = (call); \
        if (tried != MDIST_OK) return tried; \
    } while (0)

/// What the loop knows.
typedef struct Part {
    mdist_strategy_t *strategy;
    mdist_change_t change;
    int32_t regroups; // the workers are to regroup
    int has_result, done;
} Part;

static int dies_in(Place place, uint32_t at) {
    const Death *const death = &plan.deaths[number];
    return death->place == place && death->at == at;
}

static _Atomic int inside; // the call lasts in which the worker is to die

static void die(void) {
    static const char *const places[] = {[IN_STEP] = "a step", [IN_COMMIT] = "a commit", [IN_A_REGROUP] = "a regroup"};
    printf("killed %s %s\n", inside ? "in" : "after", places[plan.deaths[number].place]);
    fflush(stdout);
    raise(SIGKILL);
}

static void reached(const Training *self, uint32_t local, Point point) {
    const Death *const death = &plan.deaths[number];
    if (dies_in(IN_STEP, self->step) && !death->timed && death->point == point && local == death->local % self->placed)
        die();
}

static void saving(const Training *self, uint32_t replica_id) {
    (void)replica_id;
    if (dies_in(IN_COMMIT, self->step) && !plan.deaths[number].timed) die();
}

static void restoring(const Training *self, uint32_t replica_id) {
    (void)self, (void)replica_id;
    if (dies_in(IN_A_REGROUP, regroups) && !plan.deaths[number].timed) die();
}

static void die_then(void *unused) {
    (void)unused;
    die();
}

static int struck = -1; // the moment at which it dies

/// Called as such a call begins.
static void begin_call(Place place, uint32_t at) {
    if (!dies_in(place, at)) return;
    inside = 1;
    if (plan.deaths[number].timed) struck = at_moment(plan.deaths[number].moment, die_then, NULL, NULL);
}

static void end_call(void) {
    inside = 0;
    come_now(struck); // the call has made fewer calls of the system
}

static const fake_gpu_controls *controls(void) {
    void *const module = dlopen(getenv("MDIST_CUDA_MODULE"), RTLD_NOW | RTLD_LOCAL);
    fake_gpu_controls_fn get = NULL;
    if (module != NULL) *(void **)&get = dlsym(module, FAKE_GPU_SYMBOL);
    if (get != NULL) return get();
    printf("there is no simulated GPU\n");
    exit(4);
}

static uint64_t breaks_at; // which call of that name fails; 0 before that has been planned

static uint64_t calls_so_far(void) {
    char name[sizeof plan.fault];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(plan.fault, "@"), plan.fault);
    return controls()->calls(name);
}

/// A newcomer's calls count from its first regroup on.
static void break_in_time(const Part *self) {
    const int is_time = self->change.generation == 0 || training.step == plan.fault_at;
    if (number != plan.faulty || !is_time || breaks_at != 0) return;
    breaks_at = calls_so_far() + strtoull(strchr(plan.fault, '@') + 1, NULL, 10);
    if (controls()->plan(plan.fault)) return;
    printf("no fault: %s\n", plan.fault);
    exit(4);
}

/// Whether all workers are to wait until the store asks for a regroup.
static int awaits_change(const Part *self) {
    const uint32_t workers = mdist_strategy_worker_count(self->strategy);
    if (plan.replaces && training.step >= plan.wait_at && workers < plan.most) return 1;
    return plan.loss == DISMISSED && self->change.generation == 1 && training.step == plan.leave_at;
}

static mdist_status_t commit(Part *self, mdist_error_t **error) {
    begin_call(IN_COMMIT, training.step);
    const mdist_status_t status = mdist_commit(self->strategy, training.step, NULL, error);
    end_call();
    return status;
}

static mdist_status_t await_change(Part *self, mdist_error_t **error) {
    for (;;) {
        TRY(mdist_membership_check(self->strategy, &self->regroups, NULL, NULL, error));
        if (self->regroups) return MDIST_OK;
        nap();
    }
}

/// Nobody leaves, with what it holds for others, before all have the result.
static mdist_status_t end(Part *self, mdist_error_t **error) {
    uint64_t hash;
    TRY(hash_training(&training, &hash, error));
    printf("result %016" PRIx64 "\n", hash);
    self->has_result = 1;
    int32_t verdict;
    TRY(mdist_membership_check(self->strategy, &verdict, NULL, NULL, error));
    self->done = 1;
    return MDIST_OK;
}

/// Waits for others, or makes one step, or the result.
static mdist_status_t go_on(Part *self, mdist_error_t **error) {
    self->regroups = 0;
    if (plan.loss == LEFT && number == plan.leaver && training.step == plan.leave_at) {
        puts("left");
        self->done = 1;
        return MDIST_OK;
    }
    if (awaits_change(self)) return await_change(self, error);
    if (training.step == plan.plan.steps) return end(self, error);
    break_in_time(self);
    begin_call(IN_STEP, training.step);
    const mdist_status_t status = make_step(&training, error);
    end_call();
    if (status != MDIST_OK) return status;
    if (++training.step % plan.every != 0) return MDIST_OK;
    TRY(commit(self, error));
    return mdist_membership_check(self->strategy, &self->regroups, NULL, NULL, error);
}

static void print_generation(const Part *self) {
    const uint32_t rank = mdist_strategy_rank(self->strategy), count = mdist_strategy_worker_count(self->strategy);
    const uint32_t first = first_replica_of_rank(&plan, rank, count);
    printf("generation %" PRIu32 " rank %" PRIu32 " of %" PRIu32 "\n", self->change.generation, rank, count);
    fflush(stdout);
    const mdist_change_t *const change = &self->change;
    const int is_told = change->rank == rank && change->worker_count == count && change->first_replica_id == first;
    const uint32_t here = mdist_strategy_local_replica_count(self->strategy);
    if (here == first_replica_of_rank(&plan, rank + 1, count) - first && (change->generation == 1 || is_told)) return;
    puts("other replicas than those");
    exit(4);
}

static mdist_status_t regroup(Part *self, mdist_error_t **error) {
    ++regroups;
    begin_call(IN_A_REGROUP, regroups);
    const mdist_status_t status = mdist_regroup(self->strategy, &self->change, NULL, error);
    end_call();
    if (status != MDIST_OK) return status;
    TRY(place_training(&training, error));
    training.step = (uint32_t)self->change.step;
    print_generation(self);
    return MDIST_OK;
}

static int say(const char *call, mdist_error_t *error) {
    printf("failed %s: %s %s %s\n", call, mdist_status_name(mdist_error_status(error)), mdist_error_reason(error),
           mdist_error_message(error));
    mdist_error_free(error);
    fflush(stdout);
    return 3;
}

/// Trains to the end. Returns the exit status.
static int train(Part *self) {
    mdist_error_t *error = NULL;
    if (place_training(&training, &error) != MDIST_OK) return say("place_training", error);
    if (mdist_strategy_is_joining(self->strategy)) {
        break_in_time(self);
        if (regroup(self, &error) != MDIST_OK) return say("the first mdist_regroup", error);
    } else {
        self->change.generation = 1;
        puts("begun");
        print_generation(self);
    }
    while (!self->done) {
        if (go_on(self, &error) == MDIST_OK && !self->regroups) continue;
        if (error != NULL) printf("lost: %s\n", mdist_error_message(error));
        mdist_error_free(error);
        error = NULL;
        if (self->regroups && plan.commits_first && commit(self, &error) != MDIST_OK) mdist_error_free(error);
        error = NULL;
        if (regroup(self, &error) == MDIST_OK) continue;
        if (!self->has_result) return say("mdist_regroup", error);
        mdist_error_free(error); // the others have left
        break;
    }
    return 0;
}

/// Returns the status, or 5 if the worker has done on its GPUs what is forbidden, or has left something there.
static int checked(int status) {
    char text[1024] = "";
    fake_gpu_live live;
    controls()->live(&live);
    const uint64_t problems = controls()->problems(text, sizeof text);
    if (problems == 0 && live.graphs == 0 && live.comms == 0) return status;
    printf("problems: %s%" PRIu64 " graphs and %" PRIu64 " groups of NCCL are left\n", text, live.graphs, live.comms);
    return 5;
}

int regroups_worker(void) {
    alarm(MDIST_TEST_SANITIZED ? 600 : 120); // for one that hangs
    plan = regroups_of(strtoull(getenv("TEST_SEED"), NULL, 10));
    number = (uint32_t)atoi(getenv("TEST_NUMBER"));
    Part part = {.change = {.struct_size = sizeof part.change}};
    mdist_error_t *error = NULL;
    if (mdist_strategy_create(NULL, &part.strategy, &error) != MDIST_OK) return say("mdist_strategy_create", error);
    int status = 0;
    if (create_training(&training, &plan.plan, part.strategy, &error) != MDIST_OK)
        status = say("create_training", error);
    training.aborts = plan.aborts;
    training.reached = reached;
    training.saving = saving;
    training.restoring = restoring;
    if (status == 0) status = train(&part);
    if (breaks_at != 0 && calls_so_far() >= breaks_at) puts("the fault came");
    fflush(stdout);
    if (strstr(plan.fault, "hang") != NULL && number == plan.faulty && status != 0)
        _exit(status); // its GPU still hangs
    destroy_training(&training);
    mdist_strategy_destroy(part.strategy);
    return checked(status);
}
