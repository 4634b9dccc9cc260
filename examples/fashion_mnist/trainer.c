// SPDX-License-Identifier: Apache-2.0
#include "trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digest.h"

static const uint64_t initial_seed = 1;

// The pointers that the model's functions read. C does not convert `float *const *` to `const float *const *` by
// itself.
typedef const float *const *readable;

// ---- The steps, which run on all replicas at the same time.

// On a GPU, the computation goes on the replica's stream, in order with the library's work. So nothing needs to wait.
static int use_stream_of(mdist_replica_t *replica, Math *math) {
    void *stream = NULL;
    if (mdist_replica_stream(replica, &stream, NULL) != MDIST_OK) return -1;
    math_use_stream(math, stream);
    return 0;
}

static int this_replica(Trainer *self, mdist_replica_t *replica, TrainerReplica **mine, mdist_tensor_t *images,
                        mdist_tensor_t *labels) {
    // A step that fails returns non-zero. mdist_run returns the first cause to its caller, so steps ignore errors.
    if (mdist_replica_argument(replica, 0, NULL, images, NULL) != MDIST_OK) return -1;
    if (mdist_replica_argument(replica, 1, NULL, labels, NULL) != MDIST_OK) return -1;
    *mine = &self->replicas[mdist_replica_local_index(replica)];
    return use_stream_of(replica, (*mine)->math);
}

static mdist_buffer_t buffer(void *data, size_t elements, mdist_dtype_t dtype) {
    return (mdist_buffer_t){.data = data, .elements = elements, .dtype = dtype};
}

// Copies to the host, after all work on the replica's stream.
static int32_t copy_totals(mdist_replica_t *replica, TrainerReplica *mine) {
    const uint64_t shape[] = {MODEL_TOTALS};
    mdist_tensor_t from, to;
    if (mdist_tensor_describe(mine->sums, MDIST_FLOAT64, shape, 1, &from, NULL) != MDIST_OK ||
        mdist_tensor_describe(mine->totals, MDIST_FLOAT64, shape, 1, &to, NULL) != MDIST_OK ||
        mdist_replica_copy(replica, &to, &from, NULL) != MDIST_OK)
        return 1;
    return math_failed(mine->math);
}

static int32_t train_step(mdist_replica_t *replica, void *user_data) {
    Trainer *self = user_data;
    TrainerReplica *mine;
    mdist_tensor_t images, labels;
    if (this_replica(self, replica, &mine, &images, &labels) != 0) return 1;
    if (self->before && self->before(replica, &images, self->before_data) != 0) return 1;

    model_gradients((readable)mine->parameters, images.data, labels.data, images.shape[0], &mine->workspace,
                    mine->gradients, mine->sums);

    // One operation reduces everything: the gradients and the number of rows. Dividing by the rows of all replicas
    // gives the mean over the batch, even if the replicas' parts differ or are empty, as in a last batch.
    mdist_buffer_t buffers[MODEL_PARTS + 1];
    for (int part = 0; part < MODEL_PARTS; ++part)
        buffers[part] = buffer(mine->gradients[part], model_parts[part].elements, MDIST_FLOAT32);
    buffers[MODEL_PARTS] = buffer(mine->sums, MODEL_TOTALS, MDIST_FLOAT64);
    if (mdist_all_reduce(replica, MDIST_SUM, buffers, buffers, MODEL_PARTS + 1, NULL, NULL) != MDIST_OK) return 1;

    // The reduced gradients have the same bits on all replicas, so all copies do, too.
    model_update(mine->math, mine->parameters, mine->momentum, (readable)mine->gradients, &mine->sums[TOTAL_ROWS],
                 self->rate, self->decay);
    return copy_totals(replica, mine);
}

static int32_t evaluate_step(mdist_replica_t *replica, void *user_data) {
    Trainer *self = user_data;
    TrainerReplica *mine;
    mdist_tensor_t images, labels;
    if (this_replica(self, replica, &mine, &images, &labels) != 0) return 1;
    model_evaluate((readable)mine->parameters, images.data, labels.data, images.shape[0], &mine->workspace, mine->sums);
    const mdist_buffer_t sums = buffer(mine->sums, MODEL_TOTALS, MDIST_FLOAT64);
    if (mdist_all_reduce(replica, MDIST_SUM, &sums, &sums, 1, NULL, NULL) != MDIST_OK) return 1;
    return copy_totals(replica, mine);
}

static mdist_status_t run(Trainer *self, mdist_step_fn step, mdist_value_t *const batch[2], double totals[MODEL_TOTALS],
                          mdist_error_t **error) {
    const mdist_status_t status =
        mdist_run(self->strategy, step, self,
                  &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = batch, .argument_count = 2}, error);
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

// ---- Creating and destroying.

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

static mdist_status_t allocate_parts(Math *math, float *parts[MODEL_PARTS]) {
    for (int i = 0; i < MODEL_PARTS; ++i)
        if (!(parts[i] = math_allocate(math, model_parts[i].elements * sizeof(float)))) return MDIST_ERR_OUT_OF_MEMORY;
    return MDIST_OK;
}

static void free_parts(Math *math, float *parts[MODEL_PARTS]) {
    for (int i = 0; i < MODEL_PARTS; ++i) math_release(math, parts[i]);
}

// Finds the number of a replica's GPU; -1 on the CPU. "gpu:0/1" is a second replica on gpu:0.
static mdist_status_t gpu_of(mdist_strategy_t *strategy, uint32_t index, int *gpu, mdist_error_t **error) {
    char name[64];
    const mdist_status_t status = mdist_strategy_device(strategy, index, name, sizeof name, NULL, error);
    *gpu = status == MDIST_OK && strncmp(name, "gpu:", 4) == 0 ? atoi(name + 4) : -1;
    return status;
}

static mdist_status_t create_all_variables(Trainer *self, mdist_error_t **error) {
    Math *const host = math_create(-1);
    float *initial[MODEL_PARTS] = {NULL}, *const zeros[MODEL_PARTS] = {NULL};
    mdist_status_t status = allocate_parts(host, initial);
    if (status == MDIST_OK) {
        model_initialise(initial, initial_seed);
        status = create_variables(self, "", initial, self->parameters, error);
    }
    if (status == MDIST_OK) status = create_variables(self, "/momentum", zeros, self->momentum, error);
    free_parts(host, initial);
    return status;
}

static mdist_status_t create_replica(Trainer *self, uint32_t index, size_t max_rows, mdist_error_t **error) {
    TrainerReplica *mine = &self->replicas[index];
    int gpu;
    mdist_status_t status = gpu_of(self->strategy, index, &gpu, error);
    if (status != MDIST_OK) return status;
    if (!(mine->math = math_create(gpu))) return gpu >= 0 ? MDIST_ERR_UNSUPPORTED : MDIST_ERR_OUT_OF_MEMORY;
    if (model_workspace_create(mine->math, max_rows, &mine->workspace) != 0) return MDIST_ERR_OUT_OF_MEMORY;
    if (!(mine->sums = math_allocate(mine->math, sizeof mine->totals))) return MDIST_ERR_OUT_OF_MEMORY;
    status = allocate_parts(mine->math, mine->gradients);
    for (int i = 0; i < MODEL_PARTS && status == MDIST_OK; ++i) {
        mdist_tensor_t parameters, momentum;
        status = mdist_variable_tensor(self->parameters[i], index, &parameters, error);
        if (status == MDIST_OK) status = mdist_variable_tensor(self->momentum[i], index, &momentum, error);
        if (status != MDIST_OK) break;
        mine->parameters[i] = parameters.data; // this copy's memory; it moves only when an elastic job regroups
        mine->momentum[i] = momentum.data;
    }
    return status;
}

static mdist_status_t create_replicas(Trainer *self, mdist_error_t **error) {
    self->replica_count = mdist_strategy_local_replica_count(self->strategy);
    self->replicas = calloc(self->replica_count, sizeof *self->replicas);
    mdist_status_t status = self->replicas ? MDIST_OK : MDIST_ERR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < self->replica_count && status == MDIST_OK; ++i)
        status = create_replica(self, i, self->max_rows, error);
    return status;
}

static void destroy_replicas(Trainer *self) {
    for (uint32_t i = 0; i < self->replica_count && self->replicas; ++i) {
        TrainerReplica *const mine = &self->replicas[i];
        if (!mine->math) continue;
        free_parts(mine->math, mine->gradients);
        math_release(mine->math, mine->sums);
        model_workspace_destroy(&mine->workspace);
        math_destroy(mine->math);
    }
    free(self->replicas);
    self->replicas = NULL;
}

mdist_status_t trainer_renew(Trainer *self, mdist_error_t **error) {
    destroy_replicas(self);
    return create_replicas(self, error);
}

mdist_status_t trainer_create(mdist_strategy_t *strategy, size_t max_rows, Trainer *out, mdist_error_t **error) {
    Trainer self = {.strategy = strategy, .max_rows = max_rows};
    self.rate = 0.1f;
    self.decay = 0.9f;
    mdist_status_t status = create_all_variables(&self, error);
    if (status == MDIST_OK) status = create_replicas(&self, error);
    if (status == MDIST_OK)
        *out = self;
    else
        trainer_destroy(&self);
    return status;
}

void trainer_destroy(Trainer *self) {
    destroy_replicas(self);
    for (int part = 0; part < MODEL_PARTS; ++part) {
        mdist_variable_destroy(self->parameters[part]);
        mdist_variable_destroy(self->momentum[part]);
    }
    memset(self, 0, sizeof *self);
}

// Computes the digest of a replica's variables, wherever they lie.
static int digest_of(mdist_replica_t *replica, float *const parts[MODEL_PARTS], uint64_t *digest) {
    for (int i = 0; i < MODEL_PARTS; ++i) {
        const ModelPart *const part = &model_parts[i];
        float *const copy = malloc(part->elements * sizeof(float));
        mdist_tensor_t from, to;
        const int well = copy &&
                         mdist_tensor_describe(parts[i], MDIST_FLOAT32, part->shape, part->rank, &from, NULL) == 0 &&
                         mdist_tensor_describe(copy, MDIST_FLOAT32, part->shape, part->rank, &to, NULL) == 0 &&
                         mdist_replica_copy(replica, &to, &from, NULL) == MDIST_OK;
        if (well) *digest = digest_add(*digest, copy, part->elements * sizeof(float));
        free(copy);
        if (!well) return -1;
    }
    return 0;
}

// Gathers the digests of all replicas of the job, and compares them.
static int32_t digest_step(mdist_replica_t *replica, void *user_data) {
    Trainer *self = user_data;
    TrainerReplica *mine = &self->replicas[mdist_replica_local_index(replica)];
    const uint32_t count = mdist_replica_count(replica);
    uint64_t own = DIGEST_START;
    if (digest_of(replica, mine->parameters, &own) != 0 || digest_of(replica, mine->momentum, &own) != 0) return 1;
    uint64_t *const all = malloc(count * sizeof *all);
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
    const mdist_status_t status = mdist_run(self->strategy, digest_step, self, NULL, error);
    *digest = self->replicas[0].digest;
    *same = self->replicas[0].same;
    return status;
}
