// SPDX-License-Identifier: Apache-2.0
/*
 * What an elastic job keeps in a commit, and how this training uses it:
 *
 *   mirrored variables       the weights and their momentum                                       trainer.c
 *   a sync-on-read variable  how many images each replica has seen; reading it gives the sum
 *   a blob                   each replica's random generator, which mirrors about half of the images
 *   iterators                one for each epoch, since each has an order of its own, and one for the test
 *
 * With --mirrored there are no second and third: images are not counted, and each step begins with a new generator.
 *
 * All of it is created before the first step, on newcomers too. When a call fails because a worker was lost, the others
 * regroup: they go back to the newest commit, take over the lost worker's replicas, and go on from there.
 */
#include "elastic.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Elastic {
    const ElasticPlan *plan;
    uint64_t steps, at; // of the whole training, and done so far
    uint64_t *random;   // the generators, by replica id; a worker uses those of its own replicas
    float **changed;    // by replica id: the images of one step, some of them mirrored
    mdist_variable_t *seen;
    mdist_blob_t *blob;
    mdist_iterator_t **epochs, *test;
    int has_begun, has_result;
} Elastic;

// ---- What belongs to one replica

static int32_t save(uint32_t replica_id, void *to, size_t bytes, void *user_data) {
    const Elastic *const self = user_data;
    memcpy(to, &self->random[replica_id], bytes);
    return 0;
}

static int32_t restore(uint32_t replica_id, const void *from, size_t bytes, void *user_data) {
    const Elastic *const self = user_data;
    memcpy(&self->random[replica_id], from, bytes);
    return 0;
}

static uint64_t next_random(uint64_t *state) { // splitmix64
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static void copy_image(const float *from, float *to, int mirrored) {
    for (int y = 0; y < 28; ++y, from += 28, to += 28)
        for (int x = 0; x < 28; ++x) to[x] = from[mirrored ? 27 - x : x];
}

// Runs in each training step. The images belong to the library, so it makes others instead of changing them.
static int change_images(mdist_replica_t *replica, mdist_tensor_t *images, void *user_data) {
    Elastic *const self = user_data;
    const uint32_t id = mdist_replica_id(replica);
    const uint64_t rows = images->shape[0];
    mdist_tensor_t count;
    if (self->plan->mirrored) {
        self->random[id] = self->at * mdist_strategy_replica_count(self->plan->strategy) + id;
    } else {
        if (mdist_variable_tensor(self->seen, mdist_replica_local_index(replica), &count, NULL) != MDIST_OK) return -1;
        *(double *)count.data += (double)rows;
    }
    const size_t bytes = self->plan->trainer->max_rows * MODEL_INPUTS * sizeof(float);
    if (!self->changed[id] && !(self->changed[id] = malloc(bytes))) return -1;
    for (uint64_t row = 0; row < rows; ++row)
        copy_image((const float *)images->data + row * MODEL_INPUTS, self->changed[id] + row * MODEL_INPUTS,
                   (int)(next_random(&self->random[id]) & 1));
    images->data = self->changed[id];
    return 0;
}

// ---- Creating everything, before the first step

static mdist_status_t create_state(Elastic *self, mdist_error_t **error) {
    mdist_strategy_t *const strategy = self->plan->strategy;
    const uint32_t replicas = mdist_strategy_replica_count(strategy);
    self->random = calloc(replicas, sizeof *self->random);
    self->changed = calloc(replicas, sizeof *self->changed);
    self->epochs = calloc(self->plan->epochs, sizeof *self->epochs);
    if (!self->random || !self->changed || !self->epochs) return MDIST_ERR_OUT_OF_MEMORY;
    for (uint32_t id = 0; id < replicas; ++id) self->random[id] = id + 1;

    double zero = 0;
    const mdist_tensor_t like = {.data = &zero, .dtype = MDIST_FLOAT64};
    const mdist_variable_options_t options = {
        .struct_size = sizeof options, .synchronization = MDIST_SYNC_ON_READ, .aggregation = MDIST_AGGREGATION_SUM};
    mdist_status_t status = MDIST_OK;
    if (!self->plan->mirrored) status = mdist_variable_create(strategy, "seen", &like, &self->seen, &options, error);
    if (status == MDIST_OK && !self->plan->mirrored)
        status =
            mdist_blob_create(strategy, "random", sizeof *self->random, save, restore, self, NULL, &self->blob, error);
    for (uint64_t epoch = 0; epoch < self->plan->epochs && status == MDIST_OK; ++epoch)
        status = mdist_iterator_create(self->plan->training, &self->epochs[epoch], error);
    if (status == MDIST_OK) status = mdist_iterator_create(self->plan->test, &self->test, error);
    return status;
}

static void destroy_state(Elastic *self) {
    const uint32_t replicas = mdist_strategy_replica_count(self->plan->strategy);
    for (uint64_t epoch = 0; epoch < self->plan->epochs && self->epochs; ++epoch)
        mdist_iterator_destroy(self->epochs[epoch]);
    for (uint32_t id = 0; id < replicas && self->changed; ++id) free(self->changed[id]);
    mdist_iterator_destroy(self->test);
    mdist_variable_destroy(self->seen);
    mdist_blob_destroy(self->blob);
    free(self->epochs);
    free(self->changed);
    free(self->random);
}

// ---- The training

// Takes one step, and commits now and then. The verdict says whether workers wait to come or are to leave.
static mdist_status_t take_step(Elastic *self, int32_t *verdict, mdist_error_t **error) {
    const ElasticPlan *const plan = self->plan;
    mdist_value_t *batch[2];
    mdist_status_t status = mdist_iterator_next(self->epochs[self->at / plan->steps_per_epoch], batch, 2, error);
    if (status != MDIST_OK) return status;
    plan->trainer->rate = plan->first_rate * (1.0f - (float)self->at / (float)(plan->steps_per_epoch * plan->epochs));
    status = trainer_train(plan->trainer, batch, NULL, error);
    mdist_value_destroy(batch[0]);
    mdist_value_destroy(batch[1]);
    if (status != MDIST_OK || ++self->at % plan->commit != 0) return status;
    status = mdist_commit(plan->strategy, self->at, NULL, error);
    return status == MDIST_OK ? mdist_membership_check(plan->strategy, verdict, NULL, NULL, error) : status;
}

static mdist_status_t evaluate(Elastic *self, double *accuracy, mdist_error_t **error) {
    mdist_value_t *batch[2];
    double totals[MODEL_TOTALS], correct = 0, rows = 0;
    for (;;) {
        mdist_status_t status = mdist_iterator_next(self->test, batch, 2, error);
        if (status != MDIST_OK) {
            *accuracy = correct / rows;
            return status == MDIST_END ? MDIST_OK : status;
        }
        status = trainer_evaluate(self->plan->trainer, batch, totals, error);
        mdist_value_destroy(batch[0]);
        mdist_value_destroy(batch[1]);
        if (status != MDIST_OK) return status;
        correct += totals[TOTAL_CORRECT];
        rows += totals[TOTAL_ROWS];
    }
}

static mdist_status_t read_seen(Elastic *self, double *seen, mdist_error_t **error) {
    mdist_value_t *value;
    mdist_tensor_t sum;
    mdist_status_t status = mdist_variable_read(self->seen, &value, NULL, error);
    if (status != MDIST_OK) return status;
    status = mdist_value_tensor(value, 0, &sum, error);
    if (status == MDIST_OK) *seen = *(const double *)sum.data;
    mdist_value_destroy(value);
    return status;
}

// Workers may be lost here, too. The others then regroup, and come here again.
static mdist_status_t finish(Elastic *self, mdist_error_t **error) {
    double accuracy = 0, seen = 0;
    uint64_t digest = 0;
    int same = 0;
    int32_t verdict;
    mdist_status_t status = evaluate(self, &accuracy, error);
    if (status == MDIST_OK && self->seen) status = read_seen(self, &seen, error);
    if (status == MDIST_OK) status = trainer_digest(self->plan->trainer, &digest, &same, error);
    if (status != MDIST_OK) return status;
    if (mdist_strategy_is_chief(self->plan->strategy)) {
        if (self->seen) printf("images seen: %.0f\n", seen);
        printf("weights digest: %016" PRIx64 "%s\ntest accuracy: %.4f\n", digest,
               same ? "" : ", but not on all replicas", accuracy);
        fflush(stdout);
    }
    self->has_result = 1;
    // Nobody leaves before all have the result: this waits for all workers.
    return mdist_membership_check(self->plan->strategy, &verdict, NULL, NULL, error);
}

static void tell_of(Elastic *self, const mdist_change_t *change) {
    printf("generation %" PRIu32 ": worker %" PRIu32 " of %" PRIu32 ", from step %" PRIu64 "\n", change->generation,
           change->rank, change->worker_count, change->step);
    fflush(stdout);
    self->has_begun = 1;
}

static mdist_status_t regroup(Elastic *self, mdist_error_t **error) {
    mdist_change_t change = {.struct_size = sizeof change};
    mdist_error_free(*error); // a worker was lost, or there was no error
    *error = NULL;
    mdist_status_t status = mdist_regroup(self->plan->strategy, &change, NULL, error);
    if (status != MDIST_OK) return status;
    self->at = change.step;
    tell_of(self, &change);
    return trainer_renew(self->plan->trainer, error);
}

static mdist_status_t train(Elastic *self, mdist_error_t **error) {
    mdist_strategy_t *const strategy = self->plan->strategy;
    int regroups = mdist_strategy_is_joining(strategy);
    const mdist_change_t first = {
        .generation = 1, .rank = mdist_strategy_rank(strategy), .worker_count = mdist_strategy_worker_count(strategy)};
    for (;;) {
        mdist_status_t status = regroups ? regroup(self, error) : MDIST_OK;
        if (status != MDIST_OK) return self->has_result ? MDIST_OK : status; // the others may have left with the result
        int32_t verdict = MDIST_VERDICT_GO_ON;
        const int ends = self->at >= self->steps;
        status = ends ? finish(self, error) : take_step(self, &verdict, error);
        if (ends && status == MDIST_OK) return MDIST_OK;
        if (status == MDIST_OK && !self->has_begun) tell_of(self, &first);
        regroups = status != MDIST_OK || verdict == MDIST_VERDICT_REGROUP;
    }
}

mdist_status_t elastic_train(const ElasticPlan *plan, mdist_error_t **error) {
    Elastic self = {.plan = plan, .steps = plan->epochs * plan->steps_per_epoch};
    if (plan->limit_steps != 0 && plan->limit_steps < self.steps) self.steps = plan->limit_steps;
    plan->trainer->before = change_images;
    plan->trainer->before_data = &self;
    mdist_status_t status = create_state(&self, error);
    if (status == MDIST_OK) status = train(&self, error);
    plan->trainer->before = NULL;
    destroy_state(&self);
    return status;
}
