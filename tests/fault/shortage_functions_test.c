// SPDX-License-Identifier: Apache-2.0
// As shortage_workers_test.c, for functions that are more than one collective: in steps, and between them. Each request
// for memory of the worker that is short is refused in turn, once and for good. A worker that is not short ends with a
// right result, with the failure of the one that is, or with a lost job.
#include "../multi/multi.h"

#include "shortage.h"
#include "shortage_jobs.h"

enum { MOST_REPLICAS = 4, ROWS = 64, BATCH = 8, QUICK_STRIDE = 11 };

typedef struct Plan {
    uint64_t whole_process, for_good, nth; // nth 0: no more jobs
} Plan;

/// What a job needs for its function; NULL: not that.
static mdist_strategy_t *strategy;
static mdist_variable_t *variable;
static mdist_gradients_t *gradients;
static mdist_value_t *ids, *rows; // per replica: its id + 1 as a float, and rows with that
static mdist_dataset_t *dataset, *dealt;
static mdist_iterator_t *iterator;
static mdist_checkpoint_t *checkpoint;

static uint32_t replicas(void) {
    return first_replica_of[worker_count];
}

static float sum_of_ids(void) {
    return (float)(replicas() * (replicas() + 1) / 2);
}

/// Whether the value's first number is that.
static int begins_with(const mdist_value_t *value, float number) {
    mdist_tensor_t tensor;
    return mdist_value_tensor(value, 0, &tensor, NULL) == MDIST_OK && *(const float *)tensor.data == number;
}

/// Frees the value. Returns the status of the call that made it, or OK with *wrong.
static mdist_status_t with_result(mdist_status_t status, mdist_value_t *value, float number, int *wrong) {
    if (status == MDIST_OK) *wrong = !begins_with(value, number);
    mdist_value_destroy(value);
    return status;
}

// ---- Functions between steps

typedef mdist_status_t (*Outside)(int call, int *wrong, mdist_error_t **error);

static void make_ids(void) {
    const uint32_t locals = mdist_strategy_local_replica_count(strategy);
    float numbers[MOST_REPLICAS];
    mdist_tensor_t tensors[MOST_REPLICAS];
    for (uint32_t i = 0; i < locals; ++i) {
        numbers[i] = (float)(first_replica_of[rank] + i + 1);
        tensors[i] = tensor_of(&numbers[i], MDIST_FLOAT32, 1);
    }
    GIVES(MDIST_OK, mdist_value_per_replica(strategy, tensors, locals, &ids, &error));
}

static void make_rows(void) {
    const uint32_t locals = mdist_strategy_local_replica_count(strategy);
    int64_t index = 3;
    mdist_tensor_t tensors[MOST_REPLICAS];
    mdist_value_t *which = NULL;
    for (uint32_t i = 0; i < locals; ++i) tensors[i] = tensor_of(&index, MDIST_INT64, 1);
    GIVES(MDIST_OK, mdist_value_per_replica(strategy, tensors, locals, &which, &error));
    make_ids();
    GIVES(MDIST_OK, mdist_value_sparse(which, ids, &rows, &error));
    mdist_value_destroy(which);
}

static mdist_status_t reduce(int call, int *wrong, mdist_error_t **error) {
    mdist_value_t *out = NULL;
    (void)call;
    const mdist_status_t status = mdist_strategy_reduce(strategy, MDIST_SUM, ids, &out, NULL, error);
    return with_result(status, out, sum_of_ids(), wrong);
}

static mdist_status_t reduce_rows(int call, int *wrong, mdist_error_t **error) {
    mdist_value_t *out = NULL;
    (void)call;
    const mdist_status_t status = mdist_strategy_reduce(strategy, MDIST_SUM, rows, &out, NULL, error);
    return with_result(status, out, 1, wrong);
}

static mdist_status_t gather(int call, int *wrong, mdist_error_t **error) {
    mdist_value_t *out = NULL;
    (void)call;
    const mdist_status_t status = mdist_strategy_gather(strategy, ids, 0, &out, NULL, error);
    return with_result(status, out, 1, wrong);
}

static mdist_status_t sum_buffers(int call, int *wrong, mdist_error_t **error) {
    const uint32_t locals = mdist_strategy_local_replica_count(strategy);
    float numbers[MOST_REPLICAS];
    mdist_buffer_t buffers[MOST_REPLICAS];
    (void)call;
    for (uint32_t i = 0; i < locals; ++i) {
        numbers[i] = (float)(first_replica_of[rank] + i + 1);
        buffers[i] = buffer_of(&numbers[i], MDIST_FLOAT32, 1);
    }
    const mdist_status_t status = mdist_strategy_all_reduce(strategy, MDIST_SUM, buffers, buffers, 1, NULL, error);
    *wrong = status == MDIST_OK && numbers[locals - 1] != sum_of_ids();
    return status;
}

static mdist_status_t create_variable(int call, int *wrong, mdist_error_t **error) {
    char name[32];
    float number = (float)rank + 5;
    const mdist_tensor_t initial = tensor_of(&number, MDIST_FLOAT32, 1);
    mdist_variable_t *made = NULL;
    mdist_tensor_t copy;
    snprintf(name, sizeof name, "variable %d", call);
    const mdist_status_t status = mdist_variable_create(strategy, name, &initial, &made, NULL, error);
    *wrong = status == MDIST_OK &&
             (mdist_variable_tensor(made, 0, &copy, NULL) != MDIST_OK || *(const float *)copy.data != 5);
    mdist_variable_destroy(made);
    return status;
}

static void make_counter(void) {
    float zero = 0;
    const mdist_tensor_t initial = tensor_of(&zero, MDIST_FLOAT32, 1);
    const mdist_variable_options_t options = {
        .struct_size = sizeof options, .synchronization = MDIST_SYNC_ON_READ, .aggregation = MDIST_AGGREGATION_SUM};
    GIVES(MDIST_OK, mdist_variable_create(strategy, "counter", &initial, &variable, &options, &error));
    for (uint32_t i = 0; i < mdist_strategy_local_replica_count(strategy); ++i) {
        mdist_tensor_t copy;
        GIVES(MDIST_OK, mdist_variable_tensor(variable, i, &copy, &error));
        *(float *)copy.data = (float)(first_replica_of[rank] + i + 1);
    }
}

static mdist_status_t read_counter(int call, int *wrong, mdist_error_t **error) {
    mdist_value_t *out = NULL;
    (void)call;
    const mdist_status_t status = mdist_variable_read(variable, &out, NULL, error);
    return with_result(status, out, sum_of_ids(), wrong);
}

static mdist_status_t create_group(int call, int *wrong, mdist_error_t **error) {
    const uint32_t list[] = {replicas() - 1, 0};
    mdist_group_t *made = NULL;
    (void)call, (void)wrong;
    const mdist_status_t status = mdist_group_create(strategy, list, 2, &made, error);
    mdist_group_destroy(made);
    return status;
}

static mdist_status_t check_membership(int call, int *wrong, mdist_error_t **error) {
    int32_t verdict = -1;
    (void)call;
    const mdist_status_t status = mdist_membership_check(strategy, &verdict, NULL, NULL, error);
    *wrong = status == MDIST_OK && verdict != MDIST_VERDICT_GO_ON;
    return status;
}

static void make_dataset(void) {
    static float numbers[ROWS];
    const mdist_tensor_t all = tensor_of(numbers, MDIST_FLOAT32, ROWS);
    mdist_dataset_t *whole = NULL;
    for (int i = 0; i < ROWS; ++i) numbers[i] = (float)i;
    GIVES(MDIST_OK, mdist_dataset_from_tensors(&all, 1, NULL, NULL, &whole, NULL, &error));
    GIVES(MDIST_OK, mdist_dataset_batch(whole, BATCH, &dataset, NULL, &error));
    mdist_dataset_destroy(whole);
}

static void make_iterator(void) {
    make_dataset();
    GIVES(MDIST_OK, mdist_distribute_dataset(strategy, dataset, &dealt, NULL, &error));
    GIVES(MDIST_OK, mdist_iterator_create(dealt, &iterator, &error));
}

static mdist_status_t distribute(int call, int *wrong, mdist_error_t **error) {
    mdist_dataset_t *made = NULL;
    (void)call, (void)wrong;
    const mdist_status_t status = mdist_distribute_dataset(strategy, dataset, &made, NULL, error);
    mdist_dataset_destroy(made);
    return status;
}

static mdist_status_t take_element(int call, int *wrong, mdist_error_t **error) {
    mdist_value_t *out = NULL;
    mdist_tensor_t tensor;
    (void)call;
    const mdist_status_t status = mdist_iterator_next(iterator, &out, 1, error);
    *wrong = status == MDIST_OK &&
             (mdist_value_tensor(out, 0, &tensor, NULL) != MDIST_OK || tensor.shape[0] != BATCH / replicas());
    mdist_value_destroy(out);
    return status;
}

static void make_checkpoint(void) {
    make_counter();
    GIVES(MDIST_OK, mdist_checkpoint_create(strategy, getenv("TEST_FOLDER"), 1, &checkpoint, &error));
    GIVES(MDIST_OK, mdist_checkpoint_add(checkpoint, "counter", variable, &error));
}

static mdist_status_t save(int call, int *wrong, mdist_error_t **error) {
    (void)wrong;
    return mdist_checkpoint_save(checkpoint, (uint64_t)call, NULL, error);
}

// ---- Functions in steps

typedef mdist_status_t (*Inside)(mdist_replica_t *replica, int *wrong, mdist_error_t **error);

static mdist_status_t average(mdist_replica_t *replica, int *wrong, mdist_error_t **error) {
    float losses[2] = {1, 3};
    const mdist_tensor_t per_example = tensor_of(losses, MDIST_FLOAT32, 2);
    uint64_t examples = 0;
    double loss = 0;
    const mdist_status_t status = mdist_average_loss(replica, &per_example, NULL, &examples, &loss, NULL, error);
    *wrong = status == MDIST_OK && (examples != 2 * replicas() || loss != 2.0 / replicas());
    return status;
}

static int32_t merge(mdist_strategy_t *whole, mdist_value_t *const *arguments, size_t argument_count,
                     mdist_value_t **results, size_t result_count, void *user_data) {
    (void)argument_count, (void)result_count, (void)user_data;
    return mdist_strategy_reduce(whole, MDIST_SUM, arguments[0], &results[0], NULL, NULL) != MDIST_OK;
}

static mdist_status_t merge_call(mdist_replica_t *replica, int *wrong, mdist_error_t **error) {
    float number = (float)mdist_replica_id(replica) + 1;
    const mdist_tensor_t argument = tensor_of(&number, MDIST_FLOAT32, 1);
    mdist_tensor_t merged;
    const mdist_status_t status = mdist_merge_call(replica, merge, NULL, &argument, 1, &merged, 1, NULL, error);
    *wrong = status == MDIST_OK && *(const float *)merged.data != sum_of_ids();
    return status;
}

static mdist_status_t sum_rows(mdist_replica_t *replica, int *wrong, mdist_error_t **error) {
    int64_t index = mdist_replica_id(replica);
    float number = (float)index + 1;
    const mdist_tensor_t indices = tensor_of(&index, MDIST_INT64, 1), values = tensor_of(&number, MDIST_FLOAT32, 1);
    mdist_value_t *out = NULL;
    const mdist_status_t status = mdist_all_reduce_sparse(replica, MDIST_SUM, &indices, &values, &out, NULL, error);
    return with_result(status, out, 1, wrong);
}

static void make_total(void) {
    float zero = 0;
    const mdist_tensor_t initial = tensor_of(&zero, MDIST_FLOAT32, 1);
    const mdist_variable_options_t options = {.struct_size = sizeof options, .aggregation = MDIST_AGGREGATION_SUM};
    GIVES(MDIST_OK, mdist_variable_create(strategy, "total", &initial, &variable, &options, &error));
}

static mdist_status_t assign(mdist_replica_t *replica, int *wrong, mdist_error_t **error) {
    float number = (float)mdist_replica_id(replica) + 1;
    const mdist_tensor_t tensor = tensor_of(&number, MDIST_FLOAT32, 1);
    mdist_tensor_t copy;
    const mdist_status_t status = mdist_replica_assign(replica, variable, MDIST_ASSIGN_SET, &tensor, NULL, error);
    *wrong = status == MDIST_OK &&
             (mdist_variable_tensor(variable, mdist_replica_local_index(replica), &copy, NULL) != MDIST_OK ||
              *(const float *)copy.data != sum_of_ids());
    return status;
}

static void make_gradients(void) {
    float zero = 0;
    const mdist_tensor_t one = tensor_of(&zero, MDIST_FLOAT32, 1), like[2] = {one, one};
    const mdist_gradients_options_t buckets = {.struct_size = sizeof buckets, .bucket_bytes = 1};
    GIVES(MDIST_OK, mdist_gradients_create(strategy, like, 2, &gradients, &buckets, &error));
}

static mdist_status_t reduce_gradients(mdist_replica_t *replica, int *wrong, mdist_error_t **error) {
    mdist_tensor_t tensors[2];
    mdist_status_t status = MDIST_OK;
    for (size_t i = 0; i < 2 && status == MDIST_OK; ++i) {
        status = mdist_gradients_tensor(gradients, mdist_replica_local_index(replica), i, &tensors[i], error);
        if (status == MDIST_OK) *(float *)tensors[i].data = (float)mdist_replica_id(replica) + 1;
    }
    for (size_t i = 0; i < 2 && status == MDIST_OK; ++i)
        status = mdist_gradients_ready(replica, gradients, 1 - i, error);
    if (status == MDIST_OK) status = mdist_gradients_wait(replica, gradients, NULL, NULL, error);
    *wrong = status == MDIST_OK && *(const float *)tensors[1].data != sum_of_ids();
    return status;
}

// ---- A job

/// `prepare` makes what the function needs. It may be NULL.
typedef struct What {
    const char *name;
    void (*prepare)(void);
    Outside outside; // or
    Inside inside;
} What;

static const What all[] = {
    {"strategy_reduce", make_ids, reduce, NULL},
    {"strategy_reduce of rows", make_rows, reduce_rows, NULL},
    {"strategy_gather", make_ids, gather, NULL},
    {"strategy_all_reduce", NULL, sum_buffers, NULL},
    {"variable_create", NULL, create_variable, NULL},
    {"variable_read", make_counter, read_counter, NULL},
    {"group_create", NULL, create_group, NULL},
    {"membership_check", NULL, check_membership, NULL},
    {"distribute_dataset", make_dataset, distribute, NULL},
    {"iterator_next", make_iterator, take_element, NULL},
    {"checkpoint_save", make_checkpoint, save, NULL},
    {"average_loss", NULL, NULL, average},
    {"merge_call", NULL, NULL, merge_call},
    {"all_reduce_sparse", NULL, NULL, sum_rows},
    {"replica_assign", make_total, NULL, assign},
    {"gradients", make_gradients, NULL, reduce_gradients},
};

typedef struct Part {
    Plan plan;
    mdist_status_t status; // the first that failed
    uint32_t told_rank;    // with it
    char said[256];
    int wrong;
} Part;

static Part parts[MOST_REPLICAS]; // of local replicas; the first one's is also that of functions between steps
static const What *what;
static Plan next;
static uint64_t refused;
static unsigned jobs;

/// Frees the error.
static int went(Part *part, mdist_status_t status, mdist_error_t **out) {
    mdist_error_t *const error = *out;
    if ((status == MDIST_OK) != (error == NULL) || mdist_error_status(error) != status) part->wrong = 2;
    if (status != MDIST_OK && part->status == MDIST_OK) {
        part->status = status;
        part->told_rank = mdist_error_rank(error);
        snprintf(part->said, sizeof part->said, "%s", mdist_error_message(error));
    }
    mdist_error_free(error);
    *out = NULL;
    return status == MDIST_OK;
}

static void begin_shortage(void) {
    shortage_start(next.whole_process ? SHORT_OF_MEMORY : SHORT_OF_MEMORY_HERE, next.nth, (int)next.for_good);
}

/// Tells the plan. Calls what is called in a step twice, the second time with a shortage.
static int32_t step(mdist_replica_t *replica, void *user_data) {
    Part *const part = &parts[mdist_replica_local_index(replica)];
    const int is_short = mdist_replica_id(replica) == replicas() - 1;
    const mdist_buffer_t plan = buffer_of(&part->plan, MDIST_UINT64, sizeof(Plan) / sizeof(uint64_t));
    mdist_error_t *error = NULL;
    (void)user_data;
    part->plan = next;
    if (!went(part, mdist_broadcast(replica, replicas() - 1, &plan, 1, NULL, &error), &error)) return 1;
    for (int call = 0; call < 2 && part->plan.nth != 0 && what->inside != NULL && part->status == MDIST_OK; ++call) {
        if (is_short && call == 1) begin_shortage();
        went(part, what->inside(replica, &part->wrong, &error), &error);
        if (is_short && call == 1) refused = shortage_stop();
        // Nobody is in the first call any more.
        if (call == 0 && part->status == MDIST_OK) went(part, mdist_barrier(replica, NULL, &error), &error);
    }
    return part->status != MDIST_OK;
}

static void call_outside(void) {
    for (int call = 0; call < 2 && parts[0].status == MDIST_OK; ++call) {
        mdist_error_t *error = NULL;
        if (rank == victim && call == 1) begin_shortage();
        went(&parts[0], what->outside(call, &parts[0].wrong, &error), &error);
        if (rank == victim && call == 1) refused = shortage_stop();
        if (call == 0 && parts[0].status == MDIST_OK)
            went(&parts[0], mdist_strategy_check_health(strategy, &error), &error);
    }
}

static int32_t meet(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    return mdist_barrier(replica, NULL, NULL) != MDIST_OK;
}

static int is_expected(const Part *part) {
    const mdist_status_t status = part->status;
    if (status == MDIST_OK || status == MDIST_ERR_ABORTED || status == MDIST_ERR_PEER_LOST) return 1;
    if (status == MDIST_ERR_CALLBACK) return what->inside == merge_call;
    if (status == MDIST_ERR_UNSUPPORTED) return what->outside == create_group; // no memory to share, and no other link
    return status == MDIST_ERR_OUT_OF_MEMORY && (rank == victim || part->told_rank == victim);
}

static void check_part(const Part *part, uint32_t id) {
    char text[1024];
    if (is_expected(part) && !part->wrong) return;
    snprintf(text, sizeof text, "%s, %s, %s, request %u, replica %u: %s, %s (%s)", what->name,
             part->plan.whole_process ? "whole process" : "one thread", part->plan.for_good ? "for good" : "once",
             (unsigned)part->plan.nth, id, mdist_status_name(part->status), part->wrong ? "wrong" : "unexpected",
             part->said);
    GIVE_UP(text);
}

static void destroy_all(void) {
    mdist_checkpoint_destroy(checkpoint);
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(dealt);
    mdist_dataset_destroy(dataset);
    mdist_gradients_destroy(gradients);
    mdist_variable_destroy(variable);
    mdist_value_destroy(ids);
    mdist_value_destroy(rows);
    mdist_strategy_destroy(strategy);
    checkpoint = NULL, iterator = NULL, dealt = dataset = NULL;
    gradients = NULL, variable = NULL, ids = rows = NULL;
}

/// Forms a job, in which what `next` says happens, and which may fail. Returns whether there is to be another one.
static int live(void) {
    memset(parts, 0, sizeof parts);
    refused = 0;
    strategy = join();
    if (what->prepare != NULL) what->prepare();
    mdist_run(strategy, step, NULL, NULL, NULL);
    const int more = parts[0].plan.nth != 0;
    if (more && what->outside != NULL) call_outside();
    mdist_run(strategy, meet, NULL, NULL, NULL); // nobody has been left behind in the call
    destroy_all();
    for (uint32_t id = first_replica_of[rank]; id < first_replica_of[rank + 1]; ++id)
        check_part(&parts[id - first_replica_of[rank]], id);
    return more;
}

/// Refuses each request in turn, until there are no more. The quick tier takes some of them.
static void refuse_each(uint64_t whole_process, uint64_t for_good) {
    const uint64_t stride = tiered(QUICK_STRIDE, 1);
    next = (Plan){whole_process, for_good, 1 + (whole_process + for_good) % stride};
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
    for (uint64_t whole_process = 0; whole_process <= 1; ++whole_process) {
        refuse_each(whole_process, 0);
#ifndef MDIST_TEST_LIBCXX // it has 512 bytes for exceptions without memory, and then ends the process
        refuse_each(whole_process, 1);
#endif
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
