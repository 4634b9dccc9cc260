// SPDX-License-Identifier: Apache-2.0
#include "trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digest.h"

static const uint64_t initial_seed = 1;

// The pointers that the model's functions read: C has no implicit way from `float *const *` to `const float *const *`.
typedef const float *const *readable;

// ---- The steps: what runs on every replica, at the same time.

static int this_replica(Trainer *self, mdist_replica_t *replica, TrainerReplica **mine, mdist_tensor_t *images,
                        mdist_tensor_t *labels) {
    // A step that fails returns non-zero; mdist_run hands the first cause to its caller, so nobody needs it here.
    if (mdist_replica_argument(replica, 0, images, NULL) != MDIST_OK) return -1;
    if (mdist_replica_argument(replica, 1, labels, NULL) != MDIST_OK) return -1;
    *mine = &self->replicas[mdist_replica_local_index(replica)];
    return 0;
}

static mdist_buffer_t buffer(void *data, size_t elements, mdist_dtype_t dtype) {
    return (mdist_buffer_t){.data = data, .elements = elements, .dtype = dtype};
}

static int32_t train_step(mdist_replica_t *replica, void *user_data) {
    Trainer *self = user_data;
    TrainerReplica *mine;
    mdist_tensor_t images, labels;
    if (this_replica(self, replica, &mine, &images, &labels) != 0) return 1;

    model_gradients((readable)mine->parameters, images.data, labels.data, images.shape[0], &mine->workspace,
                    mine->gradients, mine->totals);

    // One operation for everything: the gradients, and with them the number of rows. Dividing by what all replicas saw
    // makes it the mean over the batch also where the replicas' parts are not equal, or empty, as in a last batch.
    mdist_buffer_t buffers[MODEL_PARTS + 1];
    for (int part = 0; part < MODEL_PARTS; ++part)
        buffers[part] = buffer(mine->gradients[part], model_parts[part].elements, MDIST_FLOAT32);
    buffers[MODEL_PARTS] = buffer(mine->totals, MODEL_TOTALS, MDIST_FLOAT64);
    if (mdist_all_reduce(replica, MDIST_SUM, buffers, buffers, MODEL_PARTS + 1, NULL, NULL) != MDIST_OK) return 1;

    // The reduced gradients have the same bits everywhere, and so has every copy after this.
    model_update(mine->parameters, mine->momentum, (readable)mine->gradients, (float)(1 / mine->totals[TOTAL_ROWS]),
                 self->rate, self->decay);
    return 0;
}

static int32_t evaluate_step(mdist_replica_t *replica, void *user_data) {
    Trainer *self = user_data;
    TrainerReplica *mine;
    mdist_tensor_t images, labels;
    if (this_replica(self, replica, &mine, &images, &labels) != 0) return 1;
    model_evaluate((readable)mine->parameters, images.data, labels.data, images.shape[0], &mine->workspace,
                   mine->totals);
    const mdist_buffer_t totals = buffer(mine->totals, MODEL_TOTALS, MDIST_FLOAT64);
    return mdist_all_reduce(replica, MDIST_SUM, &totals, &totals, 1, NULL, NULL) != MDIST_OK;
}

static mdist_status_t run(Trainer *self, mdist_step_fn step, mdist_value_t *const batch[2], double totals[MODEL_TOTALS],
                          mdist_error_t **error) {
    const mdist_status_t status = mdist_run(self->strategy, step, self, batch, 2, NULL, 0, NULL, error);
    if (status == MDIST_OK && totals) memcpy(totals, self->replicas[0].totals, sizeof self->replicas[0].totals);
    return status;
}

mdist_status_t trainer_train(Trainer *self, mdist_value_t *const batch[2], double totals[MODEL_TOTALS],
                             mdist_error_t **error) {
    return run(self, train_step, batch, totals, error);
}

mdist_status_t trainer_evaluate(Trainer *self, mdist_value_t *const batch[2], double totals[MODEL_TOTALS],
                                mdist_error_t **error) {
    return run(self, evaluate_step, batch, totals, error);
}

// ---- Coming and going.

static mdist_status_t create_variables(Trainer *self, const char *suffix, float *const initial[MODEL_PARTS],
                                       mdist_variable_t *variables[MODEL_PARTS], mdist_error_t **error) {
    for (int i = 0; i < MODEL_PARTS; ++i) {
        const ModelPart *part = &model_parts[i];
        char name[64];
        snprintf(name, sizeof name, "%s%s", part->name, suffix);
        mdist_tensor_t tensor;
        mdist_status_t status =
            mdist_tensor_describe(initial[i], MDIST_FLOAT32, part->shape, part->rank, &tensor, error);
        if (status == MDIST_OK)
            status = mdist_variable_create(self->strategy, name, &tensor, &variables[i], NULL, error);
        if (status != MDIST_OK) return status;
    }
    return MDIST_OK;
}

static mdist_status_t allocate_parts(float *parts[MODEL_PARTS]) {
    for (int i = 0; i < MODEL_PARTS; ++i) {
        const size_t size = (model_parts[i].elements * sizeof(float) + 63) & ~(size_t)63; // aligned is fastest
        if (!(parts[i] = aligned_alloc(64, size))) return MDIST_ERR_OUT_OF_MEMORY;
    }
    return MDIST_OK;
}

static void free_parts(float *parts[MODEL_PARTS]) {
    for (int i = 0; i < MODEL_PARTS; ++i) free(parts[i]);
}

static mdist_status_t create_all_variables(Trainer *self, mdist_error_t **error) {
    float *initial[MODEL_PARTS] = {NULL}, *const zeros[MODEL_PARTS] = {NULL};
    mdist_status_t status = allocate_parts(initial);
    if (status == MDIST_OK) {
        model_initialise(initial, initial_seed);
        status = create_variables(self, "", initial, self->parameters, error);
    }
    if (status == MDIST_OK) status = create_variables(self, "/momentum", zeros, self->momentum, error);
    free_parts(initial);
    return status;
}

static mdist_status_t create_replica(Trainer *self, uint32_t index, size_t max_rows, mdist_error_t **error) {
    TrainerReplica *mine = &self->replicas[index];
    if (model_workspace_create(max_rows, &mine->workspace) != 0) return MDIST_ERR_OUT_OF_MEMORY;
    mdist_status_t status = allocate_parts(mine->gradients);
    for (int i = 0; i < MODEL_PARTS && status == MDIST_OK; ++i) {
        mdist_tensor_t parameters, momentum;
        status = mdist_variable_tensor(self->parameters[i], index, &parameters, error);
        if (status == MDIST_OK) status = mdist_variable_tensor(self->momentum[i], index, &momentum, error);
        if (status != MDIST_OK) break;
        mine->parameters[i] = parameters.data; // this copy's memory; it never moves
        mine->momentum[i] = momentum.data;
    }
    return status;
}

mdist_status_t trainer_create(mdist_strategy_t *strategy, size_t max_rows, Trainer *out, mdist_error_t **error) {
    Trainer self = {.strategy = strategy, .replica_count = mdist_strategy_local_replica_count(strategy)};
    self.rate = 0.1f;
    self.decay = 0.9f;
    mdist_status_t status = create_all_variables(&self, error);
    if (status == MDIST_OK) {
        self.replicas = calloc(self.replica_count, sizeof *self.replicas);
        if (!self.replicas) status = MDIST_ERR_OUT_OF_MEMORY;
    }
    for (uint32_t i = 0; i < self.replica_count && status == MDIST_OK; ++i)
        status = create_replica(&self, i, max_rows, error);
    if (status == MDIST_OK)
        *out = self;
    else
        trainer_destroy(&self);
    return status;
}

void trainer_destroy(Trainer *self) {
    for (uint32_t i = 0; i < self->replica_count && self->replicas; ++i) {
        free_parts(self->replicas[i].gradients);
        model_workspace_destroy(&self->replicas[i].workspace);
    }
    free(self->replicas);
    for (int part = 0; part < MODEL_PARTS; ++part) {
        mdist_variable_destroy(self->parameters[part]);
        mdist_variable_destroy(self->momentum[part]);
    }
    memset(self, 0, sizeof *self);
}

static uint64_t digest_of(const TrainerReplica *replica) {
    uint64_t digest = DIGEST_START;
    for (int i = 0; i < MODEL_PARTS; ++i)
        digest = digest_add(digest, replica->parameters[i], model_parts[i].elements * sizeof(float));
    for (int i = 0; i < MODEL_PARTS; ++i)
        digest = digest_add(digest, replica->momentum[i], model_parts[i].elements * sizeof(float));
    return digest;
}

// Every replica of the job tells every other its digest.
static int32_t digest_step(mdist_replica_t *replica, void *user_data) {
    Trainer *self = user_data;
    TrainerReplica *mine = &self->replicas[mdist_replica_local_index(replica)];
    const uint32_t count = mdist_replica_count(replica);
    uint64_t own = digest_of(mine), *all = malloc(count * sizeof *all);
    if (!all) return 1;
    const mdist_buffer_t in = buffer(&own, 1, MDIST_UINT64), out = buffer(all, count, MDIST_UINT64);
    const mdist_status_t status = mdist_all_gather(replica, &in, &out, 1, NULL, NULL);
    mine->digest = own;
    mine->same = status == MDIST_OK;
    for (uint32_t i = 0; i < count && mine->same; ++i) mine->same = all[i] == own;
    free(all);
    return status != MDIST_OK;
}

mdist_status_t trainer_digest(Trainer *self, uint64_t *digest, int *same, mdist_error_t **error) {
    const mdist_status_t status = mdist_run(self->strategy, digest_step, self, NULL, 0, NULL, 0, NULL, error);
    *digest = self->replicas[0].digest;
    *same = self->replicas[0].same;
    return status;
}
