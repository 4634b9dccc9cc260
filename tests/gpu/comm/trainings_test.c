// SPDX-License-Identifier: Apache-2.0
// Random trainings on simulated GPUs end in the bits of the same training on the CPU: 1 to 8 replicas on 1 to 4
// workers, one or several of them on a card, cards that reach all others, some or none, with and without NCCL. In a
// third of them a call to CUDA or NCCL fails on one worker. Then each worker ends with those bits, or with an error.
//
// MDIST_TEST_SEED names the first seed, MDIST_TEST_COUNT how many there are.
#include "../../fake_gpu/fake_gpu.h"
#include "multi.h"
#include "training.h"

#include <dlfcn.h>

/// Returns whether a call failed, as it may after a fault. Frees the error.
static int failed(const Plan *plan, mdist_status_t status, mdist_error_t *error) {
    if (status != MDIST_OK && plan->fault[0] == '\0') GIVE_UP(mdist_error_message(error));
    mdist_error_free(error);
    return status != MDIST_OK;
}

/// Trains, and returns whether a call failed.
static int train(const Plan *plan, mdist_strategy_t *strategy, uint64_t *hash) {
    Training *const self = malloc(sizeof *self);
    mdist_error_t *error = NULL;
    REQUIRE(self != NULL);
    mdist_status_t status = create_training(self, plan, strategy, &error);
    if (status == MDIST_OK) status = place_training(self, &error);
    for (; status == MDIST_OK && self->step < plan->steps; ++self->step) status = make_step(self, &error);
    for (uint32_t r = 0; r < MOST_HERE && status != MDIST_OK && plan->fault[0] == '\0'; ++r)
        if (self->errors[r] != NULL) fprintf(stderr, "replica %u: %s\n", r, mdist_error_message(self->errors[r]));
    if (status == MDIST_OK) status = hash_training(self, hash, &error);
    const int wrong = failed(plan, status, error);
    destroy_training(self);
    free(self);
    return wrong;
}

/// NULL if that failed, as it may after a fault.
static mdist_strategy_t *strategy_on(const Plan *plan, const char *devices, const char *implementation, int in_job) {
    mdist_strategy_t *strategy = NULL;
    mdist_error_t *why = NULL;
    mdist_config_t *config = NULL;
    GIVES(MDIST_OK, mdist_config_create(&config, &error));
    GIVES(MDIST_OK, in_job ? mdist_config_load_environment(config, &error)
                           : mdist_config_set(config, "strategy", "mirrored", &error));
    GIVES(MDIST_OK, mdist_config_set(config, "devices", devices, &error));
    GIVES(MDIST_OK, mdist_config_set(config, "communication.implementation", implementation, &error));
    GIVES(MDIST_OK, mdist_config_set(config, "gpu.blocking", plan->blocking ? "true" : "false", &error));
    /* Somebody may wait in vain after a fault, and whoever is late then ends with an error, as all may. */
    for (int i = 0; i < 2 && plan->fault[0] != '\0'; ++i)
        GIVES(MDIST_OK,
              mdist_config_set(config, i == 0 ? "communication.timeout" : "communication.join_timeout", "5s", &error));
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
    const uint64_t first = test_seed(1), count = seed_count(25, 300);
    uint64_t wrong = 0;
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
