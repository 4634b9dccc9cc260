// SPDX-License-Identifier: Apache-2.0
// A call of all replicas in a step that all of them refuse fails that step on all workers, and the next one works. If
// only some refuse it, or the step has begun something else, each replica gets its own error, and a job of several
// workers ends with that error's words on all of them.
//
// Rounds are drawn from a seed that all workers have. The model is keeps_job().
#include "multi.h"
#include "started.h"

#include "random.h"

typedef struct Job {
    mdist_strategy_t *strategy;
    mdist_variable_t *summed; // "summed", float32[2]
    mdist_gradients_t *gradients;
    mdist_group_t *everybody;
} Job;

typedef struct Case {
    const char *name; // of the function
    mdist_status_t (*call)(const Job *job, mdist_replica_t *replica, mdist_error_t **error);
    mdist_status_t wanted;
    const char *says; // part of the message
    enum {
        BEFORE,  // the replicas meet
        AFTER,   // they have met
        AT_ONCE, // without waiting for others, so the job ends even if all refuse it
    } when;
} Case;

// --- calls that are refused

static float number;
static int32_t whole;
static mdist_buffer_t one_float(void) {
    return buffer_of(&number, MDIST_FLOAT32, 1);
}
static mdist_buffer_t one_integer(void) {
    return buffer_of(&whole, MDIST_INT32, 1);
}

#define CALL(name) static mdist_status_t name(const Job *job, mdist_replica_t *replica, mdist_error_t **error)

CALL(all_reduce) {
    (void)job;
    const mdist_buffer_t buffer = one_integer();
    return mdist_all_reduce(replica, MDIST_MEAN, &buffer, &buffer, 1, NULL, error);
}

CALL(broadcast) {
    (void)job;
    const mdist_buffer_t buffer = one_float();
    return mdist_broadcast(replica, 1000, &buffer, 1, NULL, error);
}

CALL(all_gather) {
    (void)job;
    const mdist_buffer_t input = one_float(), output = one_integer();
    return mdist_all_gather(replica, &input, &output, 1, NULL, error);
}

CALL(reduce_scatter) {
    (void)job;
    const mdist_buffer_t buffer = one_float();
    return mdist_reduce_scatter(replica, 77, &buffer, &buffer, 1, NULL, error);
}

CALL(all_to_all) {
    (void)job;
    const mdist_buffer_t buffer = one_float();
    return mdist_all_to_all(replica, NULL, &buffer, 1, NULL, error);
}

CALL(all_to_all_parts) {
    (void)job;
    const mdist_buffer_t buffer = one_float();
    return mdist_all_to_all_parts(replica, &buffer, NULL, &buffer, NULL, 1, NULL, error);
}

CALL(reduce_to_root) {
    (void)job;
    const mdist_buffer_t buffer = one_float();
    return mdist_reduce_to_root(replica, MDIST_SUM, 1000, &buffer, &buffer, 1, NULL, error);
}

CALL(gather_to_root) {
    (void)job;
    const mdist_buffer_t buffer = one_float();
    return mdist_gather_to_root(replica, 1000, &buffer, &buffer, 1, NULL, error);
}

CALL(scatter) {
    (void)job;
    const mdist_buffer_t buffer = one_float();
    return mdist_scatter(replica, 1000, &buffer, &buffer, 1, NULL, error);
}

CALL(barrier) {
    (void)job;
    const mdist_call_options_t options = {.struct_size = sizeof options, .flags = 5};
    return mdist_barrier(replica, &options, error);
}

CALL(no_call) {
    (void)job;
    return mdist_prepared_run(replica, NULL, error);
}

CALL(rows) {
    (void)job;
    int64_t index = 0;
    const mdist_tensor_t indices = tensor_of(&index, MDIST_INT64, 1), values = tensor_of(&number, MDIST_FLOAT32, 1);
    mdist_value_t *out = NULL;
    return mdist_all_reduce_sparse(replica, MDIST_MAX, &indices, &values, &out, NULL, error);
}

CALL(assign) {
    const mdist_tensor_t tensor = tensor_of(&whole, MDIST_INT32, 1);
    return mdist_replica_assign(replica, job->summed, MDIST_ASSIGN_ADD, &tensor, NULL, error);
}

CALL(assign_rows) {
    int64_t index = 7;
    const mdist_tensor_t indices = tensor_of(&index, MDIST_INT64, 1), values = tensor_of(&number, MDIST_FLOAT32, 1);
    return mdist_replica_assign_sparse(replica, job->summed, MDIST_ASSIGN_ADD, &indices, &values, NULL, error);
}

CALL(variable_without_name) {
    (void)job;
    const mdist_tensor_t initial = tensor_of(&number, MDIST_FLOAT32, 1);
    mdist_variable_t *variable = NULL;
    return mdist_replica_variable_create(replica, "", &initial, &variable, NULL, error);
}

/// Only when all replicas have met does somebody see that the name is taken.
CALL(variable_again) {
    (void)job;
    const mdist_tensor_t initial = tensor_of(&number, MDIST_FLOAT32, 1);
    mdist_variable_t *variable = NULL;
    return mdist_replica_variable_create(replica, "summed", &initial, &variable, NULL, error);
}

CALL(average_loss) {
    (void)job;
    uint64_t batch = 0;
    double loss = 0;
    mdist_tensor_t scalar = tensor_of(&number, MDIST_FLOAT32, 1);
    scalar.rank = 0;
    return mdist_average_loss(replica, &scalar, NULL, &batch, &loss, NULL, error);
}

CALL(merge_call) {
    (void)job;
    return mdist_merge_call(replica, NULL, NULL, NULL, 0, NULL, 0, NULL, error);
}

CALL(all_reduce_start) {
    (void)job;
    const mdist_buffer_t buffer = one_integer();
    mdist_work_t *work = NULL;
    return start_all_reduce(replica, MDIST_MEAN, &buffer, &buffer, 1, &work, NULL, error);
}

CALL(barrier_of_a_group) {
    const mdist_call_options_t options = {.struct_size = sizeof options, .flags = 5, .group = job->everybody};
    return mdist_barrier(replica, &options, error);
}

CALL(send) {
    (void)job;
    const mdist_buffer_t buffer = one_float();
    return mdist_send(replica, 1000, 1, &buffer, NULL, error);
}

CALL(gradients_ready) {
    return mdist_gradients_ready(replica, job->gradients, 9, error);
}

static const Case cases[] = {
    {"mdist_all_reduce", all_reduce, MDIST_ERR_INVALID_ARGUMENT, "MEAN", BEFORE},
    {"mdist_broadcast", broadcast, MDIST_ERR_INVALID_ARGUMENT, "1000", BEFORE},
    {"mdist_all_gather", all_gather, MDIST_ERR_INVALID_ARGUMENT, "int32", BEFORE},
    {"mdist_reduce_scatter", reduce_scatter, MDIST_ERR_INVALID_ARGUMENT, "77", BEFORE},
    {"mdist_all_to_all", all_to_all, MDIST_ERR_INVALID_ARGUMENT, "inputs is NULL", BEFORE},
    {"mdist_all_to_all_parts", all_to_all_parts, MDIST_ERR_INVALID_ARGUMENT, "input_parts is NULL", BEFORE},
    {"mdist_reduce_to_root", reduce_to_root, MDIST_ERR_INVALID_ARGUMENT, "1000", BEFORE},
    {"mdist_gather_to_root", gather_to_root, MDIST_ERR_INVALID_ARGUMENT, "1000", BEFORE},
    {"mdist_scatter", scatter, MDIST_ERR_INVALID_ARGUMENT, "1000", BEFORE},
    {"mdist_barrier", barrier, MDIST_ERR_INVALID_ARGUMENT, "options.flags", BEFORE},
    {"mdist_prepared_run", no_call, MDIST_ERR_BAD_HANDLE, "NULL", BEFORE},
    {"mdist_all_reduce_sparse", rows, MDIST_ERR_UNSUPPORTED, "SUM or MEAN", BEFORE},
    {"mdist_replica_assign", assign, MDIST_ERR_INVALID_ARGUMENT, "summed", BEFORE},
    {"mdist_replica_assign_sparse", assign_rows, MDIST_ERR_INVALID_ARGUMENT, "summed", BEFORE},
    {"mdist_replica_variable_create", variable_without_name, MDIST_ERR_INVALID_ARGUMENT, "empty", BEFORE},
    {"mdist_replica_variable_create", variable_again, MDIST_ERR_INVALID_ARGUMENT, "summed", AFTER},
    {"mdist_average_loss", average_loss, MDIST_ERR_INVALID_ARGUMENT, "per_example", BEFORE},
    {"mdist_merge_call", merge_call, MDIST_ERR_INVALID_ARGUMENT, "merge", BEFORE},
    {"mdist_collective_start", all_reduce_start, MDIST_ERR_INVALID_ARGUMENT, "MEAN", AT_ONCE},
    {"mdist_barrier", barrier_of_a_group, MDIST_ERR_INVALID_ARGUMENT, "options.flags", AT_ONCE},
    {"mdist_send", send, MDIST_ERR_INVALID_ARGUMENT, "1000", AT_ONCE},
    {"mdist_gradients_ready", gradients_ready, MDIST_ERR_INVALID_ARGUMENT, "9", AT_ONCE},
};
enum { CASES = sizeof cases / sizeof cases[0] };

// --- a job, and that it works

static Job begin(void) {
    Job job = {.strategy = join()};
    float zeros[2] = {0};
    const mdist_tensor_t initial = tensor_of(zeros, MDIST_FLOAT32, 2);
    const mdist_variable_options_t summed = {.struct_size = sizeof summed, .aggregation = MDIST_AGGREGATION_SUM};
    GIVES(MDIST_OK, mdist_variable_create(job.strategy, "summed", &initial, &job.summed, &summed, &error));
    GIVES(MDIST_OK, mdist_gradients_create(job.strategy, &initial, 1, &job.gradients, NULL, &error));
    uint32_t ids[64];
    const size_t count = mdist_strategy_replica_count(job.strategy);
    for (uint32_t i = 0; i < count; ++i) ids[i] = i;
    GIVES(MDIST_OK, mdist_group_create(job.strategy, ids, count, &job.everybody, &error));
    return job;
}

static void end(Job *job) {
    mdist_group_destroy(job->everybody);
    mdist_gradients_destroy(job->gradients);
    mdist_variable_destroy(job->summed);
    mdist_strategy_destroy(job->strategy);
}

static mdist_status_t sum_of_ids(mdist_replica_t *replica) {
    const uint32_t n = (uint32_t)mdist_replica_count(replica);
    uint64_t sum = (uint64_t)mdist_replica_id(replica);
    const mdist_buffer_t buffer = buffer_of(&sum, MDIST_UINT64, 1);
    const mdist_status_t status = mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL);
    if (status == MDIST_OK) REQUIRE(sum == (uint64_t)n * (n - 1) / 2);
    return status;
}

/// Each replica gives its id to the next one.
static void send_around(mdist_replica_t *replica) {
    const uint32_t n = (uint32_t)mdist_replica_count(replica), id = mdist_replica_id(replica);
    uint32_t mine = id, theirs = n;
    const mdist_buffer_t out = buffer_of(&mine, MDIST_UINT32, 1), in = buffer_of(&theirs, MDIST_UINT32, 1);
    mdist_work_t *sent = NULL;
    GIVES(MDIST_OK, mdist_send_start(replica, (id + 1) % n, 5, &out, &sent, NULL, &error));
    GIVES(MDIST_OK, mdist_receive(replica, (id + n - 1) % n, 5, &in, NULL, &error));
    int32_t done = 0;
    GIVES(MDIST_OK, mdist_work_wait(sent, UINT64_MAX, &done, &error));
    mdist_work_destroy(sent);
    REQUIRE(theirs == (id + n - 1) % n);
}

static int32_t sum_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    return sum_of_ids(replica) != MDIST_OK;
}

static int32_t sound_step(mdist_replica_t *replica, void *user_data) {
    if (mdist_replica_count(replica) > 1) send_around(replica);
    return sum_step(replica, user_data);
}

static void require_sound(Job *job) {
    GIVES(MDIST_OK, mdist_strategy_check_health(job->strategy, &error));
    GIVES(MDIST_OK, mdist_run(job->strategy, sound_step, NULL, NULL, &error));
}

// --- a round

typedef enum Before { NOTHING, A_SUM, MESSAGES, A_START, BEFORES } Before;
/// What the replicas do that do not refuse the call.
typedef enum Others { ALL_REFUSE, SUM, RETURN, REFUSE_ANOTHER, OTHERS } Others;

typedef struct Round {
    const Job *job;
    const Case *each, *another;
    Before before;
    Others others;
    uint32_t odd; // the replica that refuses, unless all do
    int32_t code; // what the step of a refusing replica returns
    int entered;
} Round;

static int keeps_job(const Round *round) {
    if (worker_count == 1) return 1;
    return round->others == ALL_REFUSE && round->each->when != AT_ONCE &&
           (round->before == NOTHING || round->before == A_SUM);
}

static void refuse(const Round *round, const Case *each, mdist_replica_t *replica) {
    GIVES(each->wanted, each->call(round->job, replica, &error));
    REQUIRE(strstr(message, each->says) != NULL);
}

static int32_t round_step(mdist_replica_t *replica, void *user_data) {
    const Round *round = user_data;
    uint64_t one = 1;
    const mdist_buffer_t buffer = buffer_of(&one, MDIST_UINT64, 1);
    mdist_work_t *work = NULL;
    if (round->before == MESSAGES && mdist_replica_count(replica) > 1) send_around(replica);
    // If the job ends, some are told when they have only just come here.
    const int ends = !keeps_job(round);
    if (round->before == A_SUM || round->before == MESSAGES || ends) REQUIRE(sum_of_ids(replica) == MDIST_OK || ends);
    if (round->before == A_START) { // unless another replica is faster, and has refused by now
        const mdist_status_t status = start_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, &work, NULL, NULL);
        REQUIRE(status == MDIST_OK || status == MDIST_ERR_ABORTED);
    }
    const int refuses = round->others == ALL_REFUSE || round->odd == mdist_replica_id(replica);
    if (refuses) refuse(round, round->each, replica);
    if (!refuses && round->others == REFUSE_ANOTHER) refuse(round, round->another, replica);
    if (!refuses && round->others == SUM) REQUIRE(sum_of_ids(replica) != MDIST_OK);
    mdist_work_destroy(work);
    return refuses || round->others == REFUSE_ANOTHER ? round->code : 0;
}

/// The words are of the refusal, or of the other one.
static void require_words(const Round *round, const mdist_error_t *error) {
    const char *const words = mdist_error_message(error);
    const int either = strstr(words, round->each->says) != NULL ||
                       (round->others == REFUSE_ANOTHER && strstr(words, round->another->says) != NULL);
    if (!either) fprintf(stderr, "%s: %s\n", round->each->name, words);
    REQUIRE(either);
}

/// Runs the step, on this thread if the worker's only replica is to be entered.
static mdist_status_t run(mdist_strategy_t *strategy, int entered, mdist_step_fn step, void *user_data,
                          mdist_error_t **cause) {
    if (!entered) return mdist_run(strategy, step, user_data, NULL, cause);
    mdist_replica_t *replica = NULL;
    GIVES(MDIST_OK, mdist_run_begin(strategy, NULL, &error));
    GIVES(MDIST_OK, mdist_replica_enter(strategy, 0, &replica, &error));
    mdist_replica_exit(replica, step(replica, user_data), NULL);
    return mdist_run_end(strategy, NULL, 0, cause);
}

static void check_round(Round *round) {
    mdist_error_t *error = NULL;
    const mdist_status_t status = run(round->job->strategy, round->entered, round_step, round, &error);
    if (round->others == ALL_REFUSE && keeps_job(round)) {
        REQUIRE(status == round->each->wanted);
        REQUIRE(strcmp(mdist_error_operation(error), round->each->name) == 0);
    }
    const int has_odd = round->odd >= first_replica_of[rank] && round->odd < first_replica_of[rank + 1];
    // Where all have returned, nobody has missed the refusing one yet.
    if (status != MDIST_OK || round->others != RETURN || has_odd) require_words(round, error);
    mdist_error_free(error);
    for (int i = 0; i < 2 && !keeps_job(round); ++i) {
        error = NULL;
        REQUIRE(mdist_run(round->job->strategy, sum_step, NULL, NULL, &error) != MDIST_OK);
        require_words(round, error);
        mdist_error_free(error);
    }
}

// --- the scenarios

static void play(Job *job, Round round) {
    round.job = job;
    check_round(&round);
    if (keeps_job(&round)) {
        require_sound(job);
    } else {
        end(job);
        *job = begin();
    }
}

/// A case that another replica refuses in place of case `i`.
static const Case *another(uint32_t i) {
    const char *const name = cases[i].name;
    do i = (i + 1) % CASES;
    while (cases[i].when == AFTER || strcmp(cases[i].name, name) == 0);
    return &cases[i];
}

/// Each case once in which all refuse the call alone, and once more in another way.
static void refuse_in_steps(void) {
    Job job = begin();
    uint64_t random = test_seed(7);
    const uint32_t n = first_replica_of[worker_count];
    const int one_each = n == worker_count;
    for (uint32_t i = 0; i < 2 * CASES * tiered(1, 10); ++i) {
        Round round = {.each = &cases[i % CASES], .another = another(i % CASES)};
        round.code = (int32_t)draw_from(&random, 2);
        round.entered = one_each && draw_from(&random, 2);
        round.odd = (uint32_t)draw_from(&random, n);
        const Before before = (Before)draw_from(&random, BEFORES);
        const Others others = (Others)draw_from(&random, OTHERS);
        const int once_more = i >= CASES, only_alike = n == 1 || round.each->when == AFTER;
        if (once_more) round.before = only_alike && before == A_START ? A_SUM : before;
        // To return with a start under way would be another mistake.
        if (once_more && !only_alike && before != A_START) round.others = others;
        play(&job, round);
    }
    require_sound(&job);
    end(&job);
}

/// What the job remembers of a refusal does not grow, and concerns no later step.
static void refuse_many_times(void) {
    Job job = begin();
    uint64_t random = test_seed(7);
    for (int i = 0; i < 300; ++i) {
        Round round = {.job = &job, .each = &cases[draw_from(&random, CASES)]};
        if (round.each->when == AT_ONCE) continue;
        check_round(&round);
        if (draw_from(&random, 3) == 0) require_sound(&job);
    }
    end(&job);
}

// --- merges

typedef enum Merge { REDUCE, RUN, MERGES } Merge;

typedef struct Merging {
    Job job;
    Merge merge;
    int messages; // before it
    int fails;    // on this worker
    int keeps;    // the job
} Merging;

static int32_t refuse_step(mdist_replica_t *replica, void *user_data) {
    GIVES(MDIST_ERR_INVALID_ARGUMENT, all_reduce(user_data, replica, &error));
    return 1;
}

/// All workers refuse a call in it. Some of them may go on all the same; if the job then ends, others may hear of that
/// while they are still in this call.
static int32_t merge_refused(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                             mdist_value_t **results, size_t result_count, void *user_data) {
    (void)argument_count, (void)results, (void)result_count;
    Merging *self = user_data;
    mdist_value_t *mean = NULL;
    const mdist_status_t status = self->merge == REDUCE
                                      ? mdist_strategy_reduce(strategy, MDIST_MEAN, arguments[0], &mean, NULL, NULL)
                                      : mdist_run(strategy, refuse_step, &self->job, NULL, NULL);
    REQUIRE(status == MDIST_ERR_INVALID_ARGUMENT || (status == MDIST_ERR_ABORTED && !self->keeps));
    return self->fails;
}

static int32_t merging_step(mdist_replica_t *replica, void *user_data) {
    const Merging *self = user_data;
    const mdist_tensor_t argument = tensor_of(&whole, MDIST_INT32, 1);
    if (self->messages && mdist_replica_count(replica) > 1) send_around(replica);
    const mdist_status_t status =
        mdist_merge_call(replica, merge_refused, user_data, &argument, 1, NULL, 0, NULL, NULL);
    return status != MDIST_OK || sum_of_ids(replica) != MDIST_OK;
}

static void refuse_in_merges(void) {
    Merging self = {.job = begin()};
    uint64_t random = test_seed(7);
    const int one_each = first_replica_of[worker_count] == worker_count;
    for (uint32_t i = 0; i < tiered(40, 400); ++i) {
        // The workers whose merge fails, as bits: all of them in every other round.
        const uint32_t all = (1u << worker_count) - 1, some = (uint32_t)draw_from(&random, all + 1);
        const uint32_t failing = i % 2 ? all : some;
        self.merge = (Merge)draw_from(&random, MERGES);
        self.messages = draw_from(&random, 4) == 0 && self.merge == REDUCE; // else the run in it ends the job
        self.fails = failing >> rank & 1;
        self.keeps = worker_count == 1 || failing == 0 || (failing == all && !self.messages);
        const int entered = one_each && draw_from(&random, 2);
        mdist_error_t *error = NULL;
        const mdist_status_t status = run(self.job.strategy, entered, merging_step, &self, &error);
        if (self.keeps) REQUIRE(status == (failing == 0 ? MDIST_OK : MDIST_ERR_CALLBACK));
        if (!self.keeps) REQUIRE(status != MDIST_OK && strstr(mdist_error_message(error), "MEAN") != NULL);
        mdist_error_free(error);
        if (self.keeps) {
            require_sound(&self.job);
        } else {
            end(&self.job);
            self.job = begin();
        }
    }
    end(&self.job);
}

// --- the tests

static void check(const char *scenario, uint32_t workers, const char *devices, const char *const *environment) {
    const Workers job = {.scenario = scenario, .count = workers, .devices = devices, .environment = environment};
    if (run_workers(&job) == 0) return;
    print_error("%s: %u workers with %s\n", scenario, workers, devices);
    fail();
}

static const char *const apart[] = {"MDIST_COMMUNICATION_IMPLEMENTATION=tcp", NULL};

static void a_step_that_all_refuse_leaves_the_job(void **unused) {
    (void)unused;
    for (uint32_t workers = 1; workers <= 3; ++workers) {
        check("refuse_in_steps", workers, "cpu*1", NULL);
        check("refuse_in_steps", workers, "cpu*2", apart);
    }
    check("refuse_in_steps", 2, "cpu*1|cpu*3", NULL);
    check("refuse_in_steps", 5, "cpu*1", apart); // by relays
}

static void a_job_goes_on_however_often_all_refuse(void **unused) {
    (void)unused;
    check("refuse_many_times", 2, "cpu*2", NULL);
    check("refuse_many_times", 3, "cpu*1", apart);
}

static void a_merge_in_which_all_refuse_leaves_the_job_if_it_fails_on_all(void **unused) {
    (void)unused;
    check("refuse_in_merges", 1, "cpu*2", NULL);
    check("refuse_in_merges", 2, "cpu*1", NULL);
    check("refuse_in_merges", 3, "cpu*2", apart);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_that_all_refuse_leaves_the_job),
        cmocka_unit_test(a_job_goes_on_however_often_all_refuse),
        cmocka_unit_test(a_merge_in_which_all_refuse_leaves_the_job_if_it_fails_on_all),
    };
    return cmocka_run_group_tests_name("step refusals", tests, NULL, NULL);
}

int main(int argc, char **argv) {
    static const NamedScenario scenarios[] = {
        {"refuse_in_steps", refuse_in_steps},
        {"refuse_many_times", refuse_many_times},
        {"refuse_in_merges", refuse_in_merges},
    };
    return multi_main(argc, argv, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
