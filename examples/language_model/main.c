// SPDX-License-Identifier: Apache-2.0
/*
 * A small language model learns to guess the next letter. Its step is that of larger models in short.
 *
 *   language_model [DEVICES [STEPS [FILE]]]      language_model gpu:0,gpu:1 2000 book.txt
 *
 * Gradients lie in the library's memory. As soon as a layer's gradient is complete, the step says so, and its reduction
 * over the replicas starts while the layers below are still computed: in buckets, the last layers first. At the end the
 * step waits for all reductions, and each replica changes its own copy of the parameters. On a GPU, the model's
 * products and the library's work go on the replica's stream in order. The step waits only for the loss.
 */
#include <mdist/mdist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

enum { BATCH = 64, MOST_TEXT = 1 << 20 };
static const float rate = 0.02f;

typedef struct Job {
    const char *devices;
    long steps;
    uint8_t *contexts, *next; // for each position in the text
    uint64_t places;
    mdist_strategy_t *strategy;
    mdist_dataset_t *batches;
    mdist_variable_t *parameters[PARTS], *momentum[PARTS];
    mdist_gradients_t *gradients;
    Model *models; // by local replica
    uint32_t replicas;
    double totals[MATH_TOTALS]; // those of the last step, over all replicas
    mdist_error_t *error;
} Job;

#define TRY(call)                                      \
    do {                                               \
        const mdist_status_t try_status = (call);      \
        if (try_status != MDIST_OK) return try_status; \
    } while (0)

// ---- The step, on every replica at the same time.

typedef struct Step {
    Job *job;
    mdist_replica_t *replica;
} Step;

static int is_ready(int part, void *user_data) {
    const Step *const step = user_data;
    return mdist_gradients_ready(step->replica, step->job->gradients, (size_t)part, NULL) != MDIST_OK;
}

static mdist_tensor_t totals_at(double *totals) {
    return (mdist_tensor_t){.data = totals, .dtype = MDIST_FLOAT64, .rank = 1, .shape = {MATH_TOTALS}};
}

static int32_t train_step(mdist_replica_t *replica, void *user_data) {
    Job *const self = user_data;
    const uint32_t local = mdist_replica_local_index(replica);
    Model *const model = &self->models[local];
    mdist_tensor_t contexts, next;
    void *stream = NULL;
    if (mdist_replica_argument(replica, 0, NULL, &contexts, NULL) != MDIST_OK ||
        mdist_replica_argument(replica, 1, NULL, &next, NULL) != MDIST_OK ||
        mdist_replica_stream(replica, &stream, NULL) != MDIST_OK)
        return 1;
    math_use_stream(model->math, stream);

    Step step = {self, replica};
    if (model_gradients(model, contexts.data, next.data, contexts.shape[0], is_ready, &step) != 0) return 1;
    if (mdist_gradients_wait(replica, self->gradients, NULL, NULL, NULL) != MDIST_OK) return 1;
    const mdist_buffer_t totals = {model->totals, MATH_TOTALS, MDIST_FLOAT64, 0};
    if (mdist_all_reduce(replica, MDIST_SUM, &totals, &totals, 1, NULL, NULL) != MDIST_OK) return 1;
    model_update(model, rate);

    double here[MATH_TOTALS];
    const mdist_tensor_t from = totals_at(model->totals), to = totals_at(local == 0 ? self->totals : here);
    if (mdist_replica_copy(replica, &to, &from, NULL) != MDIST_OK) return 1;
    return math_failed(model->math);
}

// ---- The data.

// Every position in the text is an example: the letters before it, and the letter there.
static int read_text(Job *self, const char *file) {
    char *text = NULL;
    size_t length = sizeof built_in_text - 1;
    FILE *const in = file ? fopen(file, "rb") : NULL;
    if (file) {
        text = malloc(MOST_TEXT);
        if (!in || !text) return -1;
        length = fread(text, 1, MOST_TEXT, in);
        fclose(in);
    }
    if (length < CONTEXT + BATCH) return -1;
    self->places = length - CONTEXT;
    self->contexts = malloc(self->places * CONTEXT);
    self->next = malloc(self->places);
    if (!self->contexts || !self->next) return -1;
    const char *const from = file ? text : built_in_text;
    for (uint64_t i = 0; i < self->places; ++i) {
        for (int k = 0; k < CONTEXT; ++k) self->contexts[i * CONTEXT + (uint64_t)k] = letter_of(from[i + (uint64_t)k]);
        self->next[i] = letter_of(from[i + CONTEXT]);
    }
    free(text);
    return 0;
}

static mdist_status_t create_input(Job *self) {
    mdist_dataset_t *rows = NULL, *shuffled = NULL, *again = NULL, *batched = NULL;
    mdist_tensor_t arrays[2];
    const uint64_t shape[] = {self->places, CONTEXT};
    TRY(mdist_tensor_describe(self->contexts, MDIST_UINT8, shape, 2, &arrays[0], &self->error));
    TRY(mdist_tensor_describe(self->next, MDIST_UINT8, shape, 1, &arrays[1], &self->error));
    mdist_status_t status = mdist_dataset_from_tensors(arrays, 2, NULL, NULL, &rows, NULL, &self->error);
    if (status == MDIST_OK) status = mdist_dataset_shuffle(rows, self->places, 1, &shuffled, NULL, &self->error);
    if (status == MDIST_OK) status = mdist_dataset_repeat(shuffled, MDIST_FOREVER, &again, NULL, &self->error);
    const mdist_dataset_options_t whole = {.struct_size = sizeof whole, .flags = MDIST_DATASET_DROP_REMAINDER};
    if (status == MDIST_OK) status = mdist_dataset_batch(again, BATCH, &batched, &whole, &self->error);
    const mdist_input_options_t options = {.struct_size = sizeof options, .fetch_to_device = 1};
    if (status == MDIST_OK)
        status = mdist_distribute_dataset(self->strategy, batched, &self->batches, &options, &self->error);
    mdist_dataset_destroy(rows);
    mdist_dataset_destroy(shuffled);
    mdist_dataset_destroy(again);
    mdist_dataset_destroy(batched);
    return status;
}

static mdist_status_t create_variables(Job *self, mdist_tensor_t like[PARTS]) {
    for (int part = 0; part < PARTS; ++part) {
        const uint64_t shape[] = {model_parts[part].rows, model_parts[part].columns};
        char name[64];
        float *const initial = malloc(part_elements(part) * sizeof(float));
        if (!initial) return MDIST_ERR_OUT_OF_MEMORY;
        model_initialise(part, initial);
        mdist_status_t status = mdist_tensor_describe(initial, MDIST_FLOAT32, shape, 2, &like[part], &self->error);
        if (status == MDIST_OK)
            status = mdist_variable_create(self->strategy, model_parts[part].name, &like[part], &self->parameters[part],
                                           NULL, &self->error);
        free(initial);
        like[part].data = NULL; // means zeros
        snprintf(name, sizeof name, "%s/momentum", model_parts[part].name);
        if (status == MDIST_OK)
            status =
                mdist_variable_create(self->strategy, name, &like[part], &self->momentum[part], NULL, &self->error);
        TRY(status);
    }
    return MDIST_OK;
}

// Stores the addresses of a replica's arrays, which never move.
static mdist_status_t connect(Job *self, uint32_t local) {
    Model *const model = &self->models[local];
    char device[64];
    TRY(mdist_strategy_device(self->strategy, local, device, sizeof device, NULL, &self->error));
    const int gpu = strncmp(device, "gpu:", 4) == 0 ? atoi(device + 4) : -1;
    if (model_create(gpu, BATCH, model) != 0) return gpu >= 0 ? MDIST_ERR_UNSUPPORTED : MDIST_ERR_OUT_OF_MEMORY;
    for (int part = 0; part < PARTS; ++part) {
        mdist_tensor_t parameters, momentum, gradients;
        TRY(mdist_variable_tensor(self->parameters[part], local, &parameters, &self->error));
        TRY(mdist_variable_tensor(self->momentum[part], local, &momentum, &self->error));
        TRY(mdist_gradients_tensor(self->gradients, local, (size_t)part, &gradients, &self->error));
        model->parameters[part] = parameters.data;
        model->momentum[part] = momentum.data;
        model->gradients[part] = gradients.data;
    }
    return MDIST_OK;
}

static mdist_status_t prepare(Job *self) {
    mdist_config_t *config = NULL;
    mdist_status_t status = mdist_config_create(&config, &self->error);
    if (status == MDIST_OK) status = mdist_config_load_environment(config, &self->error);
    if (status == MDIST_OK && self->devices) status = mdist_config_set(config, "devices", self->devices, &self->error);
    if (status == MDIST_OK) status = mdist_strategy_create(config, &self->strategy, &self->error);
    mdist_config_destroy(config);
    TRY(status);

    mdist_tensor_t like[PARTS];
    TRY(create_variables(self, like));
    const mdist_gradients_options_t options = {
        .struct_size = sizeof options, .flags = MDIST_GRADIENTS_NO_NORM, .bucket_bytes = 65536};
    TRY(mdist_gradients_create(self->strategy, like, PARTS, &self->gradients, &options, &self->error));
    self->replicas = mdist_strategy_local_replica_count(self->strategy);
    if (!(self->models = calloc(self->replicas, sizeof *self->models))) return MDIST_ERR_OUT_OF_MEMORY;
    for (uint32_t local = 0; local < self->replicas; ++local) TRY(connect(self, local));
    return create_input(self);
}

static mdist_status_t train(Job *self) {
    const int prints = mdist_strategy_is_chief(self->strategy);
    mdist_iterator_t *iterator = NULL;
    mdist_status_t status = mdist_iterator_create(self->batches, &iterator, &self->error);
    for (long step = 0; step < self->steps && status == MDIST_OK; ++step) {
        mdist_value_t *batch[2] = {NULL, NULL};
        status = mdist_iterator_next(iterator, batch, 2, &self->error);
        if (status == MDIST_OK)
            status = mdist_run(self->strategy, train_step, self,
                               &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = batch, .argument_count = 2},
                               &self->error);
        mdist_value_destroy(batch[0]);
        mdist_value_destroy(batch[1]);
        if (prints && status == MDIST_OK && (step % 100 == 0 || step + 1 == self->steps))
            printf("step %ld: loss %.2f\n", step, self->totals[TOTAL_LOSS] / self->totals[TOTAL_ROWS]);
    }
    mdist_iterator_destroy(iterator);
    return status;
}

static void clean_up(Job *self) {
    mdist_dataset_destroy(self->batches);
    for (uint32_t i = 0; self->models && i < self->replicas; ++i) model_destroy(&self->models[i]);
    free(self->models);
    mdist_gradients_destroy(self->gradients);
    for (int part = 0; part < PARTS; ++part) {
        mdist_variable_destroy(self->parameters[part]);
        mdist_variable_destroy(self->momentum[part]);
    }
    mdist_strategy_destroy(self->strategy);
    mdist_error_free(self->error);
    free(self->contexts);
    free(self->next);
}

static void tell(const Job *self, mdist_status_t status) {
    const char *words = "no memory";
    if (status == MDIST_ERR_UNSUPPORTED)
        words = "this program was built without CUDA, or its GPU cannot be used; take 'cpu*2' for DEVICES";
    if (self->error) words = mdist_error_message(self->error);
    fprintf(stderr, "language_model: %s: %s\n", mdist_status_name(status), words);
}

int main(int argument_count, char **arguments) {
    Job job = {.devices = argument_count > 1 ? arguments[1] : NULL,
               .steps = argument_count > 2 ? strtol(arguments[2], NULL, 10) : 300};
    int code = 1;
    if (read_text(&job, argument_count > 3 ? arguments[3] : NULL) != 0) {
        fprintf(stderr, "language_model: %s cannot be read, or is too short\n", arguments[3]);
    } else {
        mdist_status_t status = prepare(&job);
        if (status == MDIST_OK) status = train(&job);
        code = status != MDIST_OK;
        if (code != 0) tell(&job, status);
    }
    clean_up(&job);
    return code;
}
