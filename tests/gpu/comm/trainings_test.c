// SPDX-License-Identifier: Apache-2.0
// Random trainings on simulated GPUs end in the bits of the same training on the CPU: 1 to 8 replicas on 1 to 4
// workers, one or several of them on a card, cards that reach all others, some or none, with and without NCCL. In a
// third of them a call to CUDA or NCCL fails on one worker. Then each worker ends with those bits, or with an error.
//
// MDIST_TEST_SEED names the first seed, MDIST_TEST_COUNT how many there are.
#include "../../fake_gpu/fake_gpu.h"
#include "multi.h"
#include "trainings_plan.h"

#include <dlfcn.h>
#include <time.h>

static size_t size_of(int32_t dtype) {
    return dtype == MDIST_FLOAT64 ? 8 : dtype == MDIST_FLOAT32 ? 4 : 2;
}

/// The element of a gradient, from the weight, into `to`. Draws its numbers from `state`.
static void gradient_of(const Plan *plan, int32_t dtype, const unsigned char *weight, unsigned char *to,
                        uint64_t *state) {
    const float factor = (float)((int64_t)draw(state, 2001) - 1000) / 997.0f;
    const float whole = (float)((int64_t)draw(state, 3) - 1);
    double real;
    float single;
    uint16_t half;
    uint32_t bits;
    switch (dtype) {
        case MDIST_FLOAT32:
            memcpy(&single, weight, 4);
            single = plan->exact ? whole : single * factor + factor;
            memcpy(to, &single, 4);
            return;
        case MDIST_FLOAT64:
            memcpy(&real, weight, 8);
            real = plan->exact ? (double)whole : real * (double)factor - 0.1;
            memcpy(to, &real, 8);
            return;
        case MDIST_BFLOAT16:
            memcpy(&half, weight, 2);
            bits = (uint32_t)half << 16;
            memcpy(&single, &bits, 4);
            single = plan->exact ? whole : single * factor + factor;
            memcpy(&bits, &single, 4);
            half = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
            memcpy(to, &half, 2);
            return;
        default: // a float16 between 1/64 and 4, of any sign
            half = (uint16_t)((9 + draw(state, 8)) << 10 | draw(state, 1024) | draw(state, 2) << 15);
            memcpy(to, &half, 2);
    }
}

/// One process's part of a training.
typedef struct Training {
    Plan plan;
    uint32_t step;
    mdist_variable_t *weights[MOST_TENSORS];
    mdist_gradients_t *gradients;
    void *in[MOST_HERE][MOST_TENSORS], *out[MOST_HERE][MOST_TENSORS]; // on the devices, by local replica
    unsigned char host[MOST_HERE][2][MOST_ELEMENTS * 8];
    mdist_error_t *errors[MOST_HERE];
} Training;

static mdist_tensor_t tensor_at(const Plan *plan, uint32_t t, void *data) {
    return tensor_of(data, (mdist_dtype_t)plan->dtypes[t], plan->elements[t]);
}

/// Computes this replica's gradients on the host, from the weights on its device, and copies them to `to`.
static int compute(mdist_replica_t *replica, Training *self, uint32_t r, uint32_t t, const mdist_tensor_t *to) {
    const Plan *const plan = &self->plan;
    uint64_t state = plan->seed + 1000 * self->step + 100 * t + mdist_replica_id(replica);
    const mdist_tensor_t weights = tensor_at(plan, t, self->host[r][0]), here = tensor_at(plan, t, self->host[r][1]);
    const size_t size = size_of(plan->dtypes[t]);
    mdist_tensor_t there;
    if (mdist_variable_tensor(self->weights[t], r, &there, &self->errors[r]) != MDIST_OK ||
        mdist_replica_copy(replica, &weights, &there, &self->errors[r]) != MDIST_OK)
        return 1;
    for (size_t i = 0; i < plan->elements[t]; ++i)
        gradient_of(plan, plan->dtypes[t], self->host[r][0] + i * size, self->host[r][1] + i * size, &state);
    return mdist_replica_copy(replica, to, &here, &self->errors[r]) != MDIST_OK;
}

/// Reduces the tensors in one of the ways. The results lie in self->out.
static mdist_status_t reduce(mdist_replica_t *replica, Training *self, uint32_t r, Way way) {
    const Plan *const plan = &self->plan;
    const mdist_reduce_op_t op = (mdist_reduce_op_t)plan->op;
    mdist_error_t **const error = &self->errors[r];
    mdist_buffer_t in[MOST_TENSORS], out[MOST_TENSORS], part[MOST_TENSORS];
    mdist_work_t *work = NULL;
    mdist_status_t status = MDIST_OK;
    int32_t done = 0;
    const uint32_t all = plan->replicas, id = mdist_replica_id(replica), root = self->step % all;
    for (uint32_t t = 0; t < plan->tensors; ++t) {
        in[t] = buffer_of(self->in[r][t], (mdist_dtype_t)plan->dtypes[t], plan->elements[t]);
        out[t] = buffer_of(self->out[r][t], (mdist_dtype_t)plan->dtypes[t], plan->elements[t]);
        const uint64_t begin = (uint64_t)plan->elements[t] * id / all,
                       end = (uint64_t)plan->elements[t] * (id + 1) / all;
        part[t] = out[t];
        part[t].data = (char *)out[t].data + begin * size_of(plan->dtypes[t]);
        part[t].elements = end - begin;
    }
    switch (way) {
        case STARTED:
            status = mdist_all_reduce_start(replica, op, in, out, plan->tensors, &work, NULL, error);
            if (status == MDIST_OK) status = mdist_work_wait(work, MDIST_FOREVER, &done, error);
            mdist_work_destroy(work);
            return status;
        case SCATTERED:
            status = mdist_reduce_scatter(replica, op, in, part, plan->tensors, NULL, error);
            return status == MDIST_OK ? mdist_all_gather(replica, part, out, plan->tensors, NULL, error) : status;
        case ROOTED:
            status = mdist_reduce_to_root(replica, op, root, in, out, plan->tensors, NULL, error);
            return status == MDIST_OK ? mdist_broadcast(replica, root, out, plan->tensors, NULL, error) : status;
        default:
            return mdist_all_reduce(replica, op, in, out, plan->tensors, NULL, error);
    }
}

typedef struct Reduction {
    Training *training;
    uint32_t r;
    Way way;
} Reduction;

static int32_t reduce_as_told(mdist_replica_t *replica, void *user_data) {
    const Reduction *const self = user_data;
    return reduce(replica, self->training, self->r, self->way) != MDIST_OK;
}

/// The same as reduce(), by a graph if the plan says so.
static mdist_status_t reduce_somehow(mdist_replica_t *replica, Training *self, uint32_t r, Way way) {
    Reduction told = {self, r, way};
    mdist_error_t *error = NULL;
    if (!self->plan.graphs) return reduce(replica, self, r, way);
    const uint64_t key = 100 * (uint64_t)way + (way == ROOTED ? self->step % self->plan.replicas : 0);
    const mdist_status_t status = mdist_replica_graph(replica, key, reduce_as_told, &told, &error);
    if (self->errors[r] == NULL)
        self->errors[r] = error;
    else
        mdist_error_free(error);
    return status;
}

static int32_t training_step(mdist_replica_t *replica, void *user_data) {
    Training *const self = user_data;
    const Plan *const plan = &self->plan;
    const uint32_t r = mdist_replica_local_index(replica);
    const Way way = plan->ways[self->step];
    mdist_error_t **const error = &self->errors[r];
    mdist_tensor_t sums[MOST_TENSORS];
    for (uint32_t t = 0; t < plan->tensors; ++t) {
        mdist_tensor_t own = tensor_at(plan, t, self->in[r][t]);
        sums[t] = tensor_at(plan, t, self->out[r][t]);
        if (way == GRADIENTS) {
            if (mdist_gradients_tensor(self->gradients, r, t, &own, error) != MDIST_OK) return 1;
            sums[t] = own;
        }
        if (compute(replica, self, r, t, &own) != 0) return 2;
        if (way == GRADIENTS && mdist_gradients_ready(replica, self->gradients, t, error) != MDIST_OK) return 3;
    }
    const mdist_status_t status = way == GRADIENTS ? mdist_gradients_wait(replica, self->gradients, NULL, NULL, error)
                                                   : reduce_somehow(replica, self, r, way);
    if (status != MDIST_OK) return 4;
    for (uint32_t t = 0; t < plan->tensors; ++t)
        if (mdist_replica_assign(replica, self->weights[t], MDIST_ASSIGN_SUB, &sums[t], NULL, error) != MDIST_OK)
            return 5;
    return 0;
}

/// Returns whether a call failed, as it may after a fault. Frees the error.
static int failed(const Plan *plan, mdist_status_t status, mdist_error_t *error) {
    if (status != MDIST_OK && plan->fault[0] == '\0') GIVE_UP(mdist_error_message(error));
    mdist_error_free(error);
    return status != MDIST_OK;
}

#define TRY(plan, call)                              \
    do {                                             \
        mdist_error_t *error = NULL;                 \
        const mdist_status_t status = (call);        \
        if (failed((plan), status, error)) return 1; \
    } while (0)

static int prepare(Training *self, mdist_strategy_t *strategy) {
    const Plan *const plan = &self->plan;
    mdist_tensor_t like[MOST_TENSORS];
    static unsigned char zeros[MOST_ELEMENTS * 8];
    const mdist_variable_options_t options = {sizeof options, MDIST_SYNC_ON_WRITE, MDIST_AGGREGATION_NONE, 0, NULL};
    const mdist_gradients_options_t rules = {sizeof rules, 0, plan->op, 0, 5000, plan->clip};
    for (uint32_t t = 0; t < plan->tensors; ++t) {
        char name[32];
        snprintf(name, sizeof name, "weights %u", (unsigned)t);
        like[t] = tensor_at(plan, t, zeros);
        TRY(plan, mdist_variable_create(strategy, name, &like[t], &self->weights[t], &options, &error));
        const size_t bytes = plan->elements[t] * size_of(plan->dtypes[t]);
        for (uint32_t r = 0; r < mdist_strategy_local_replica_count(strategy); ++r) {
            TRY(plan, mdist_alloc(strategy, r, bytes, &self->in[r][t], &error));
            TRY(plan, mdist_alloc(strategy, r, bytes, &self->out[r][t], &error));
        }
    }
    TRY(plan, mdist_gradients_create(strategy, like, plan->tensors, &self->gradients, &rules, &error));
    return 0;
}

static uint64_t hashed(uint64_t hash, const unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

/// Makes the steps, and a hash of the weights. All copies must have the same. Returns whether a call failed.
static int make_steps(Training *self, mdist_strategy_t *strategy, uint64_t *hash) {
    const Plan *const plan = &self->plan;
    const uint32_t own = mdist_strategy_local_replica_count(strategy);
    for (; self->step < plan->steps; ++self->step) {
        mdist_error_t *error = NULL;
        const mdist_status_t status = mdist_run(strategy, training_step, self, NULL, 0, NULL, 0, NULL, &error);
        for (uint32_t r = 0; r < own && status != MDIST_OK; ++r) {
            if (self->errors[r] != NULL && plan->fault[0] == '\0')
                fprintf(stderr, "replica %u: %s\n", r, mdist_error_message(self->errors[r]));
            mdist_error_free(self->errors[r]);
        }
        if (failed(plan, status, error)) return 1;
    }
    for (uint32_t r = 0; r < own; ++r) {
        uint64_t copy = 14695981039346656037u;
        for (uint32_t t = 0; t < plan->tensors; ++t) {
            const mdist_tensor_t here = tensor_at(plan, t, self->host[0][0]);
            mdist_tensor_t there;
            TRY(plan, mdist_variable_tensor(self->weights[t], r, &there, &error));
            TRY(plan, mdist_tensor_copy(&here, &there, &error));
            copy = hashed(copy, self->host[0][0], plan->elements[t] * size_of(plan->dtypes[t]));
        }
        if (r > 0 && copy != *hash) GIVE_UP("replicas have different weights");
        *hash = copy;
    }
    return 0;
}

/// Trains, and returns whether a call failed.
static int train(const Plan *plan, mdist_strategy_t *strategy, uint64_t *hash) {
    Training *const self = calloc(1, sizeof *self);
    REQUIRE(self != NULL);
    const uint32_t own = mdist_strategy_local_replica_count(strategy);
    self->plan = *plan;
    const int wrong = prepare(self, strategy) || make_steps(self, strategy, hash);
    mdist_gradients_destroy(self->gradients);
    for (uint32_t t = 0; t < plan->tensors; ++t) {
        mdist_variable_destroy(self->weights[t]);
        for (uint32_t r = 0; r < own; ++r) mdist_free(self->in[r][t]), mdist_free(self->out[r][t]);
    }
    free(self);
    return wrong;
}

/// NULL if that failed, as it may after a fault.
static mdist_strategy_t *strategy_on(const Plan *plan, const char *devices, const char *implementation, int in_job) {
    mdist_strategy_t *strategy = NULL;
    mdist_error_t *why = NULL;
    mdist_config_t *config = NULL;
    GIVES(MDIST_OK, mdist_config_create(&config, &error));
    if (in_job) GIVES(MDIST_OK, mdist_config_load_environment(config, &error));
    GIVES(MDIST_OK, mdist_config_set(config, "devices", devices, &error));
    GIVES(MDIST_OK, mdist_config_set(config, "communication.implementation", implementation, &error));
    GIVES(MDIST_OK, mdist_config_set(config, "gpu.blocking", plan->blocking ? "true" : "false", &error));
    for (int i = 0; i < 2 && plan->fault[0] != '\0'; ++i)
        GIVES(MDIST_OK,
              mdist_config_set(config, i == 0 ? "communication.timeout" : "communication.join_timeout", "20s", &error));
    const mdist_status_t status = mdist_strategy_create(config, &strategy, &why);
    mdist_config_destroy(config);
    return failed(plan, status, why) ? NULL : strategy;
}

/// Ends this worker if the simulated GPU has seen a mistake.
static void require_no_problems(void) {
    static char text[2000];
    void *const file = dlopen(getenv("MDIST_CUDA_MODULE"), RTLD_NOW | RTLD_NOLOAD);
    fake_gpu_controls_fn controls = NULL;
    if (file != NULL) *(void **)&controls = dlsym(file, FAKE_GPU_SYMBOL);
    REQUIRE(controls != NULL);
    if (controls()->problems(text, sizeof text) != 0) GIVE_UP(text);
}

/// One worker of a training on GPUs.
static void trains(void) {
    const Plan plan = plan_of(strtoull(getenv("TEST_SEED"), NULL, 10));
    char devices[128] = "", fake[300];
    size_t length = 0;
    for (uint32_t id = first_replica_of[rank]; id < first_replica_of[rank + 1]; ++id) {
        uint32_t before = 0; // replicas of this worker on the same card
        for (uint32_t other = first_replica_of[rank]; other < id; ++other)
            before += other / plan.per_card == id / plan.per_card;
        if (before != 0) continue;
        uint32_t here = 0;
        for (uint32_t other = id; other < first_replica_of[rank + 1]; ++other)
            here += other / plan.per_card == id / plan.per_card;
        length += (size_t)snprintf(devices + length, sizeof devices - length, "%sgpu:%u*%u", length == 0 ? "" : ",",
                                   (unsigned)(id / plan.per_card), (unsigned)here);
    }
    snprintf(fake, sizeof fake, "%s%s", getenv("MDIST_FAKE_GPU"), plan.fault);
    if (rank == plan.victim) setenv("MDIST_FAKE_GPU", fake, 1);
    uint64_t hash = 0;
    mdist_strategy_t *const strategy =
        strategy_on(&plan, devices, plan.exact && plan.replicas > 1 ? "nccl" : "auto", 1);
    const int wrong = strategy == NULL || train(&plan, strategy, &hash);
    mdist_strategy_destroy(strategy);
    require_no_problems();
    if (!wrong && hash != strtoull(getenv("TEST_HASH"), NULL, 10)) GIVE_UP("the weights are not those of the CPU");
}

static const NamedScenario scenarios[] = {{"trains", trains}};

static int fails(uint64_t seed) {
    static const char *const versions[] = {"21800", "22105", "22602", "22809"};
    const Plan plan = plan_of(seed);
    char cpus[16], fake[200], own_seed[64], own_hash[64], devices[64] = "";
    snprintf(cpus, sizeof cpus, "cpu*%u", (unsigned)plan.replicas);
    uint64_t hash = 0;
    mdist_strategy_t *const strategy = strategy_on(&plan, cpus, "auto", 0);
    const int wrong = strategy == NULL || train(&plan, strategy, &hash);
    mdist_strategy_destroy(strategy);
    if (wrong) return 1;
    snprintf(own_hash, sizeof own_hash, "TEST_HASH=%llu", (unsigned long long)hash);
    snprintf(own_seed, sizeof own_seed, "TEST_SEED=%llu", (unsigned long long)seed);
    snprintf(fake, sizeof fake, "devices=8,memory=guarded,reach=%s,delay_us=%u,seed=%u,nccl=%s", plan.reach,
             (unsigned)plan.delay_us, (unsigned)(seed % 100000), plan.exact ? versions[seed % 4] : "none");
    setenv("MDIST_FAKE_GPU", fake, 1);
    for (uint32_t i = 0; i < plan.workers; ++i)
        snprintf(devices + strlen(devices), sizeof devices - strlen(devices), "%scpu*%u", i == 0 ? "" : "|",
                 (unsigned)plan.counts[i]);
    const char *const environment[] = {own_seed, own_hash, "MDIST_LOG_LEVEL=error", NULL};
    const Workers job = {.scenario = "trains", .count = plan.workers, .devices = devices, .environment = environment};
    if (run_workers(&job) == 0) return 0;
    fprintf(stderr, "seed %llu: %s on cards of %u, %s%s\n", (unsigned long long)seed, devices, (unsigned)plan.per_card,
            fake, plan.fault);
    return 1;
}

static void trainings_on_gpus_end_in_the_bits_of_the_cpu(void **state) {
    (void)state;
    const char *const given = getenv("MDIST_TEST_SEED"), *const asked = getenv("MDIST_TEST_COUNT");
    const uint64_t first = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 1000;
    const uint64_t count = asked != NULL ? strtoull(asked, NULL, 10) : given != NULL ? 1 : is_long() ? 300 : 25;
    uint64_t wrong = 0;
    print_message("# %llu trainings from seed %llu; MDIST_TEST_SEED=... repeats one\n", (unsigned long long)count,
                  (unsigned long long)first);
    for (uint64_t seed = first; seed < first + count; ++seed) wrong += (uint64_t)fails(seed);
    assert_int_equal(wrong, 0);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(trainings_on_gpus_end_in_the_bits_of_the_cpu)};
    setenv("MDIST_CUDA_MODULE", MDIST_TEST_FAKE_GPU, 0);
    unsetenv("MDIST_TEST_DEVICE");
    unsetenv("MDIST_GPU_BLOCKING");
    return cmocka_run_group_tests_name("gpu/comm/trainings", tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
