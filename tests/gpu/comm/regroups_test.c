// SPDX-License-Identifier: Apache-2.0
// Random elastic trainings on simulated GPUs end in the bits of the same training on the CPU that nobody disturbed:
// 1 to 8 replicas on 1 to 4 workers with 1 to 8 cards, while workers or their GPUs are lost in steps, commits and
// regroups, leave, or come. Only if so many are lost that no copy is left of what a replica has of its own, the job may
// end with DATA_LOSS. It must then name replicas that are truly lost.
//
// MDIST_TEST_SEED names the first seed, MDIST_TEST_COUNT how many there are. The lines "tally N ..." tell how they
// ended.
#include "regroups_plan.h"

#include "elastic_job.h"
#include "regroups_worker.h"
#include "stores.h"
#include "time_limits.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>

/// How a job ended. A worker may also end as those behind WRONG.
typedef enum Outcome { SAME, LOST, EARLY, ALONE, WRONG, OUTCOMES, KILLED, BROKEN, GONE, LATE, ENDS } Outcome;

static const char *const outcomes[OUTCOMES] = {"same bits", "DATA_LOSS, as it must be", "lost before the first commit",
                                               "the only worker ended with its GPU", "WRONG"};

static uint64_t tally[LOSSES][OUTCOMES], late, regroups;

/// What workers say, and how many said so.
static struct Said {
    const char *line;
    uint64_t times;
} said_by_workers[] = {
    {"killed in a step", 0},      {"killed after a step", 0},  {"killed in a commit", 0},
    {"killed after a commit", 0}, {"killed in a regroup", 0},  {"killed after a regroup", 0},
    {"the fault came", 0},        {"failed mdist_regroup", 0}, {"failed the first mdist_regroup", 0}};

/// On the CPU, by one process, in a job of fixed size. 0 if that failed.
static uint64_t undisturbed(const Plan *plan) {
    static Training training;
    mdist_config_t *config = NULL;
    mdist_strategy_t *strategy = NULL;
    mdist_error_t *error = NULL;
    char cpus[16];
    uint64_t hash = 0;
    snprintf(cpus, sizeof cpus, "cpu*%" PRIu32, plan->replicas);
    OK(mdist_config_create(&config, &error));
    OK(mdist_config_set(config, "devices", cpus, &error));
    OK(mdist_strategy_create(config, &strategy, &error));
    OK(create_training(&training, plan, strategy, &error));
    OK(place_training(&training, &error));
    for (; training.step < plan->steps; ++training.step) OK(make_step(&training, &error));
    OK(hash_training(&training, &hash, &error));
    destroy_training(&training);
    mdist_strategy_destroy(strategy);
    mdist_config_destroy(config);
    return hash;
}

static void start_next(Job *job, const Regroups *plan) {
    char text[16];
    snprintf(text, sizeof text, "%" PRIu32, job->count);
    setenv("TEST_NUMBER", text, 1);
    setenv("MDIST_DEVICES", plan->devices[job->count], 1);
    start(job, NULL);
}

/// Whether it is lost to a job that goes on.
static int is_to_be_replaced(const Worker *worker) {
    if (WIFSIGNALED(worker->status)) return 1;
    static const char *const ends[] = {"result ", "DATA_LOSS", "no_commit", "job_ended"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; ++i)
        if (strstr(worker->text, ends[i]) != NULL) return 0;
    return 1;
}

/// Runs it. `limit_ms` is what the workers wait for a GPU that hangs, and the store for the first workers.
static void run_job(Job *job, const Regroups *plan, uint64_t limit_ms) {
    static const char *const versions[] = {"none", "21800", "22809"};
    char text[128];
    mdist_error_t *error = NULL;
    begin_with(job, plan->plan.replicas, plan->most, 1, plan->copies == 1 ? "1" : "2", plan->link);
    if (plan->loss == JOINED) { // by a store that begins with fewer workers than there may be
        mdist_store_destroy(job->store);
        snprintf(text, sizeof text, "%ums", (unsigned)limit_ms);
        setenv("MDIST_ELASTIC_WAIT", text, 1);
        job->store = begin_elastic_store("elastic", job->address, sizeof job->address);
    }
    snprintf(text, sizeof text, "devices=8,reach=%s,delay_us=%" PRIu32 ",seed=%" PRIu64 ",nccl=%s", plan->plan.reach,
             plan->plan.delay_us, plan->plan.seed % 100000, versions[plan->plan.seed % 3]);
    setenv("MDIST_FAKE_GPU", text, 1);
    setenv("MDIST_GPU_BLOCKING", plan->plan.blocking ? "true" : "false", 1);
    snprintf(text, sizeof text, "%ums", (unsigned)(plan->loss == HANG ? limit_ms : 600000));
    setenv("MDIST_COMMUNICATION_TIMEOUT", text, 1);
    while (job->count < plan->size) start_next(job, plan);
    if (plan->loss == JOINED) await_begin(&job->workers[0]);
    while (plan->loss == JOINED && job->count < plan->most) start_next(job, plan);
    if (plan->loss == DISMISSED) {
        await_begin(&job->workers[plan->leaver]);
        OK(mdist_store_dismiss(job->store, job->workers[plan->leaver].id, &error));
    }
    for (int seen[MOST_STARTED] = {0}; reap(job, -1);)
        for (uint32_t i = 0; i < job->count; ++i) {
            if (!job->workers[i].ended || seen[i]++) continue;
            if (plan->replaces && job->count < MOST_STARTED && is_to_be_replaced(&job->workers[i]))
                start_next(job, plan);
        }
    mdist_store_destroy(job->store);
}

/// The rank of a worker in that generation, and how many were there. 0 if it was not.
static int find_rank(const Worker *worker, uint32_t generation, uint32_t *rank, uint32_t *count) {
    char line[64];
    snprintf(line, sizeof line, "generation %" PRIu32 " rank", generation);
    const char *const found = strstr(worker->text, line);
    return found != NULL && sscanf(found + strlen(line), "%" SCNu32 " of %" SCNu32, rank, count) == 2;
}

static uint32_t last_generation(const Worker *worker) {
    uint32_t last = 0;
    for (const char *at = worker->text; (at = strstr(at, "generation ")) != NULL; ++at)
        (void)sscanf(at, "generation %" SCNu32, &last);
    return last;
}

/// Whether all that had the state of this replica in that generation have ended otherwise than with these words.
static int is_lost(const Job *job, const Regroups *plan, uint32_t generation, uint32_t replica) {
    for (uint32_t i = 0; i < job->count; ++i) {
        uint32_t rank, count, owner = 0;
        if (strstr(job->workers[i].text, "replica_lost") == NULL) continue;
        if (!find_rank(&job->workers[i], generation, &rank, &count)) continue;
        while (first_replica_of_rank(plan, owner + 1, count) <= replica) ++owner;
        if ((rank + count - owner) % count <= plan->copies) return 0; // it is the owner, or a holder
    }
    return 1;
}

/// Whether what a worker says of lost replicas is true.
static int tells_truth(const Job *job, const Regroups *plan, const Worker *worker) {
    const char *at = strstr(worker->text, "of the state of replicas ");
    const uint32_t generation = last_generation(worker);
    if (at == NULL) return generation == 0 && strstr(worker->text, "no worker that is left") != NULL;
    for (at += strlen("of the state of replicas ");;) { // "2, 3. Restore"
        char *end;
        const unsigned long replica = strtoul(at, &end, 10);
        if (end == at || replica >= plan->plan.replicas) return 0;
        if (generation != 0 && !is_lost(job, plan, generation, (uint32_t)replica)) return 0;
        if (*end != ',') return *end == '.';
        at = end + 1;
    }
}

/// Whether this newcomer found a job that had ended.
static int came_too_late(const Job *job, const Worker *worker) {
    int has_result = strstr(worker->text, "job_ended") != NULL;
    for (uint32_t i = 0; i < job->count && strstr(worker->text, "no worker that is left") != NULL; ++i)
        has_result = has_result || (job->workers[i].status == 0 && strstr(job->workers[i].text, "result ") != NULL);
    return has_result;
}

static Outcome ending_of(const Job *job, const Regroups *plan, uint32_t number, uint64_t hash) {
    const Worker *const worker = &job->workers[number];
    const char *const said = worker->text;
    char result[32];
    snprintf(result, sizeof result, "result %016" PRIx64, hash);
    for (const char *at = said; (at = strstr(at, "result ")) != NULL; ++at)
        if (strncmp(at, result, strlen(result)) != 0) return WRONG;
    if (strstr(said, "MDIST_ERR_INTERNAL") != NULL) return WRONG;
    if (WIFSIGNALED(worker->status))
        return WTERMSIG(worker->status) == SIGKILL && plan->deaths[number].place != NOWHERE ? KILLED : WRONG;
    if (worker->status == 0 && strstr(said, "\nleft\n") != NULL) return plan->leaver == number ? GONE : WRONG;
    if (worker->status == 0) return strstr(said, result) != NULL ? SAME : WRONG;
    if (WEXITSTATUS(worker->status) != 3) return WRONG;
    if (number >= plan->size && came_too_late(job, worker)) return LATE;
    if (strstr(said, "DATA_LOSS replica_lost") != NULL)
        return may_lose_state(plan) && tells_truth(job, plan, worker) ? LOST : WRONG;
    if (strstr(said, "ABORTED no_commit") != NULL) return may_lose_first_commit(plan) ? EARLY : WRONG;
    if (strstr(said, "ABORTED dismissed") != NULL && plan->loss == DISMISSED && plan->leaver == number) return GONE;
    if (number == plan->faulty) return BROKEN;
    return WRONG;
}

/// Whether the job ended well, and how.
static Outcome judge(const Job *job, const Regroups *plan, uint64_t hash) {
    uint64_t ends[ENDS] = {0};
    uint32_t generation = 1;
    for (uint32_t i = 0; i < job->count; ++i) {
        ++ends[ending_of(job, plan, i, hash)];
        for (size_t k = 0; k < sizeof said_by_workers / sizeof said_by_workers[0]; ++k)
            said_by_workers[k].times += strstr(job->workers[i].text, said_by_workers[k].line) != NULL;
        const uint32_t last = last_generation(&job->workers[i]);
        if (last > generation) generation = last;
    }
    late += ends[LATE];
    regroups += generation - 1;
    const int kinds = (ends[SAME] != 0) + (ends[LOST] != 0) + (ends[EARLY] != 0);
    if (ends[WRONG] != 0 || kinds > 1) return WRONG;
    if (kinds == 0) return ends[BROKEN] != 0 && plan->size == 1 ? ALONE : WRONG;
    return ends[SAME] != 0 ? SAME : ends[LOST] != 0 ? LOST : EARLY;
}

static void print_job(const Job *job, const Regroups *plan) {
    print_error("seed %" PRIu64 ": %s; %" PRIu32 " replicas, %" PRIu32 " to %" PRIu32 " workers, copies %" PRIu32
                ", commits every %" PRIu32 " of %" PRIu32 " steps, %s, %s%s\n",
                plan->plan.seed, name_of_loss(plan->loss), plan->plan.replicas, plan->size, plan->most, plan->copies,
                plan->every, plan->plan.steps, plan->link, plan->faulty != NOBODY ? "fault " : "", plan->fault);
    for (uint32_t i = 0; i < job->count; ++i)
        print_error("  worker %" PRIu32 " on %s ended with status %#x, it said:\n%s\n", i, plan->devices[i],
                    (unsigned)job->workers[i].status, job->workers[i].text);
}

/// The limit that somebody is to reach; LONG_ENOUGH_MS if nobody is.
static uint64_t first_limit_ms(const Regroups *plan) {
    if (plan->loss == JOINED) return 300;
    return plan->loss != HANG ? LONG_ENOUGH_MS : MDIST_TEST_SANITIZED ? 30000 : 5000;
}

/// Whether a limit that was too short for the healthy explains how the job ended: nobody has another result.
static int is_explained(const Job *job, uint64_t hash) {
    char result[32];
    int explained = 0;
    snprintf(result, sizeof result, "result %016" PRIx64, hash);
    for (uint32_t i = 0; i < job->count; ++i) {
        const char *const said = job->workers[i].text;
        if (strstr(said, "result ") != NULL && strstr(said, result) == NULL) return 0;
        explained = explained || strstr(said, "MDIST_ERR_TIMEOUT") != NULL || strstr(said, "ABORTED") != NULL ||
                    strstr(said, "DATA_LOSS") != NULL;
    }
    return explained;
}

/// Returns whether the job of this seed ended badly.
static int fails(uint64_t seed) {
    static Job job;
    const Regroups plan = regroups_of(seed);
    const uint64_t hash = undisturbed(&plan.plan);
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, seed);
    setenv("TEST_SEED", text, 1);
    Outcome outcome = WRONG;
    Tries tries = {.what = name_of_loss(plan.loss), .limit_ms = first_limit_ms(&plan)};
    while (another_try(&tries)) {
        run_job(&job, &plan, tries.limit_ms);
        outcome = judge(&job, &plan, hash);
        tries.late = outcome == WRONG && tries.limit_ms < LONG_ENOUGH_MS && is_explained(&job, hash);
    }
    ++tally[plan.loss][outcome];
    if (outcome != WRONG && getenv("TEST_VERBOSE") == NULL) return 0;
    print_job(&job, &plan);
    return outcome == WRONG;
}

static void trainings_that_regroup_end_in_the_bits_of_the_cpu(void **state) {
    (void)state;
    const uint64_t first = test_seed(1);
    const uint64_t count = seed_count(MDIST_TEST_SANITIZED ? 8 : 20, 100); // with sanitizers one can take half a minute
    uint64_t wrong = 0;
    unsetenv("MDIST_TEST_TIER"); // in a worker it would be a key that the library does not know
    unsetenv("MDIST_TEST_SEED");
    unsetenv("MDIST_TEST_COUNT");
    for (uint64_t seed = first; seed < first + count; ++seed) wrong += (uint64_t)fails(seed);
    for (int loss = 0; loss < LOSSES; ++loss)
        for (int outcome = 0; outcome < OUTCOMES; ++outcome)
            if (tally[loss][outcome] != 0)
                print_message("tally %" PRIu64 " %s: %s\n", tally[loss][outcome], name_of_loss((Loss)loss),
                              outcomes[outcome]);
    for (size_t k = 0; k < sizeof said_by_workers / sizeof said_by_workers[0]; ++k)
        print_message("tally %" PRIu64 " workers: %s\n", said_by_workers[k].times, said_by_workers[k].line);
    print_message("tally %" PRIu64 " newcomers that came too late\ntally %" PRIu64 " regroups\n", late, regroups);
    assert_int_equal(wrong, 0);
}

int main(int argc, char **argv) {
    if (is_worker(argc, argv)) return regroups_worker();
    setenv("MDIST_CUDA_MODULE", MDIST_TEST_FAKE_GPU, 0);
    setenv("MDIST_LOG", "off", 0);
    unsetenv("MDIST_TEST_DEVICE");
    quiet_log();
    const struct CMUnitTest tests[] = {cmocka_unit_test(trainings_that_regroup_end_in_the_bits_of_the_cpu)};
    return cmocka_run_group_tests_name("gpu/comm/regroups", tests, NULL, NULL);
}
