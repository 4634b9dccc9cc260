// SPDX-License-Identifier: Apache-2.0
/*
 * A complete mirrored training: a small network learns to tell ten kinds of clothes apart.
 *
 * One step, with two replicas and a batch of 128:
 *
 *   1. The dataset gives a batch, split in two: 64 images for each replica.                            input.c
 *   2. mdist_run calls the step once per replica, both at the same time.                               trainer.c
 *   3. Each computes gradients on its own images with its own copy of the weights.                     model.c
 *   4. One mdist_all_reduce adds up both replicas' gradients. It also adds up loss, correct answers    trainer.c
 *      and rows, so both can divide by the true size of the batch.
 *   5. Each updates its own copy. Equal weights and equal gradients give equal weights, so the         model.c
 *      copies stay the same to the last bit. The program compares them only at the end.
 *
 * Nothing here depends on the number of replicas, or on which process or host they are. With N replicas the batch is
 * split in N parts, and the sums are the same up to rounding. With the same N in another layout, even the rounding is
 * the same, so the digest at the end is the same. Try it:
 *
 *   fashion_mnist --replicas 4 --epochs 3
 *   fashion_mnist --devices gpu --epochs 3
 *   MDIST_DATA_ORDER=replica mdist launch -n 2 -- fashion_mnist --replicas 2 --epochs 3
 *
 * The images may also come from any number of TFRecord files. The digest stays the same:
 *
 *   mdist records --images DATA/train-images-idx3-ubyte.gz --labels DATA/train-labels-idx1-ubyte.gz --out /tmp/train \
 *       --shards 4                                                                            and t10k to /tmp/t10k
 *   fashion_mnist --records /tmp
 *
 * With --elastic the training goes on when workers are killed, and ends with the same digest all the same (elastic.c):
 *
 *   MDIST_ELASTIC_REPLICAS=8 mdist launch -n 2:4 -- fashion_mnist --elastic --epochs 3
 *
 * With --checkpoint FOLDER it saves a checkpoint after each epoch, and begins after the last one that it finds there.
 * Kill it whenever you like, and start it again: the digest is that of a training without interruption.
 */
#include <inttypes.h>
#include <mdist/mdist.h>
#include <stdio.h>
#include <string.h>

#include "elastic.h"
#include "input.h"
#include "mnist.h"
#include "options.h"
#include "progress.h"
#include "saved.h"
#include "trainer.h"

static const float first_rate = 0.1f;      // learning rate; it falls linearly to 0
static const uint64_t shuffle_seed = 1234; // any number but 0

typedef struct Job {
    Options options;
    MnistSet training_set, test_set; // empty with --records
    uint64_t images;                 // in the training set
    mdist_config_t *config;
    mdist_strategy_t *strategy;
    Trainer trainer;
    Saved saved;
    mdist_dataset_t *training, *test;
    uint64_t steps; // taken so far
    FILE *out;      // the chief's; NULL on other workers
    mdist_error_t *error;
} Job;

// The devices come from the environment, --config, and --devices or --replicas; a later one overrides an earlier one.
// If none names any, there are two replicas.
static mdist_status_t configure(Job *self) {
    char devices[32] = "";
    mdist_status_t status = mdist_config_create(&self->config, &self->error);
    if (status == MDIST_OK) status = mdist_config_load_environment(self->config, &self->error);
    if (status == MDIST_OK && self->options.config)
        status = mdist_config_load(self->config, self->options.config, &self->error);
    if (status == MDIST_OK)
        status = mdist_config_get(self->config, "devices", devices, sizeof devices, NULL, &self->error);
    if (status != MDIST_OK || self->options.elastic) return status;

    if (self->options.devices) return mdist_config_set(self->config, "devices", self->options.devices, &self->error);
    uint64_t replicas = self->options.replicas;
    if (replicas == 0) {
        if (strcmp(devices, "auto") != 0) return MDIST_OK;
        replicas = 2;
    }
    snprintf(devices, sizeof devices, "cpu*%" PRIu64, replicas);
    return mdist_config_set(self->config, "devices", devices, &self->error);
}

static mdist_status_t create_input(Job *self) {
    const char *const records = self->options.records;
    const uint64_t batch = self->options.batch;
    uint64_t tests = 0;
    mdist_status_t status;
    self->images = self->training_set.count;
    if (records) {
        status = input_create_from_records(self->strategy, records, "train", batch, shuffle_seed, &self->images,
                                           &self->training, &self->error);
        if (status == MDIST_OK)
            status =
                input_create_from_records(self->strategy, records, "t10k", batch, 0, &tests, &self->test, &self->error);
        return status;
    }
    status = input_create(self->strategy, &self->training_set, batch, shuffle_seed, &self->training, &self->error);
    if (status == MDIST_OK) status = input_create(self->strategy, &self->test_set, batch, 0, &self->test, &self->error);
    return status;
}

static mdist_status_t prepare(Job *self) {
    const uint64_t batch = self->options.batch;
    mdist_status_t status = configure(self);
    if (status == MDIST_OK) status = mdist_strategy_create(self->config, &self->strategy, &self->error);
    if (status == MDIST_OK) status = trainer_create(self->strategy, batch, &self->trainer, &self->error);
    if (status == MDIST_OK) status = create_input(self);
    if (status == MDIST_OK) status = saved_open(&self->trainer, self->options.checkpoint, &self->saved, &self->error);
    return status;
}

static uint64_t steps_per_epoch(const Job *self) {
    return (self->images + self->options.batch - 1) / self->options.batch;
}

static float falling_rate(const Job *self) {
    return first_rate * (1.0f - (float)self->steps / (float)(steps_per_epoch(self) * self->options.epochs));
}

static int stop_here(const Job *self) {
    return self->options.limit_steps != 0 && self->steps >= self->options.limit_steps;
}

static mdist_status_t train_epoch(Job *self, Progress *progress) {
    mdist_iterator_t *iterator = NULL;
    mdist_value_t *batch[2];
    double seen[MODEL_TOTALS];
    mdist_status_t status = mdist_iterator_create(self->training, &iterator, &self->error); // a new order every time
    while (status == MDIST_OK && !stop_here(self)) {
        status = mdist_iterator_next(iterator, batch, 2, &self->error);
        if (status != MDIST_OK) break;
        self->trainer.rate = falling_rate(self);
        status = trainer_train(&self->trainer, batch, seen, &self->error);
        mdist_value_destroy(batch[0]);
        mdist_value_destroy(batch[1]);
        if (status != MDIST_OK) break;
        ++self->steps;
        progress_add(progress, (uint64_t)seen[TOTAL_ROWS], seen[TOTAL_LOSS], seen[TOTAL_CORRECT]);
    }
    mdist_iterator_destroy(iterator);
    return status == MDIST_END ? MDIST_OK : status;
}

// Begins after the saved epochs. Each iterator has an order of its own, so this skips the iterators of those epochs.
static mdist_status_t skip_saved_epochs(Job *self) {
    self->steps = self->saved.steps;
    if (self->out && self->saved.epochs > 0)
        fprintf(self->out, "%" PRIu64 " epochs were found in %s\n", self->saved.epochs, self->options.checkpoint);
    for (uint64_t epoch = 0; epoch < self->saved.epochs; ++epoch) {
        mdist_iterator_t *iterator = NULL;
        const mdist_status_t status = mdist_iterator_create(self->training, &iterator, &self->error);
        if (status != MDIST_OK) return status;
        mdist_iterator_destroy(iterator);
    }
    return MDIST_OK;
}

static mdist_status_t train(Job *self) {
    const int epochs = (int)self->options.epochs;
    mdist_status_t status = skip_saved_epochs(self);
    for (int epoch = (int)self->saved.epochs + 1; epoch <= epochs && status == MDIST_OK && !stop_here(self); ++epoch) {
        Progress progress;
        progress_start(&progress, self->out, epoch, epochs, self->images);
        status = train_epoch(self, &progress);
        progress_finish(&progress);
        if (status == MDIST_OK && !stop_here(self))
            status = saved_add(&self->saved, (uint64_t)epoch, self->steps, &self->error);
    }
    return status;
}

static mdist_status_t evaluate(Job *self, double *accuracy) {
    mdist_iterator_t *iterator = NULL;
    mdist_value_t *batch[2];
    double seen[MODEL_TOTALS], correct = 0, rows = 0;
    mdist_status_t status = mdist_iterator_create(self->test, &iterator, &self->error);
    while (status == MDIST_OK) {
        status = mdist_iterator_next(iterator, batch, 2, &self->error);
        if (status != MDIST_OK) break;
        status = trainer_evaluate(&self->trainer, batch, seen, &self->error);
        mdist_value_destroy(batch[0]);
        mdist_value_destroy(batch[1]);
        correct += seen[TOTAL_CORRECT];
        rows += seen[TOTAL_ROWS];
    }
    mdist_iterator_destroy(iterator);
    *accuracy = correct / rows;
    return status == MDIST_END ? MDIST_OK : status;
}

static int failed(const Job *self, mdist_status_t status) {
    if (status == MDIST_ERR_UNSUPPORTED && !self->error)
        fprintf(
            stderr,
            "fashion_mnist: this program was built without CUDA, or its GPU cannot be used; take --devices 'cpu*2'\n");
    else
        fprintf(stderr, "fashion_mnist: %s: %s\n", mdist_status_name(status), mdist_error_message(self->error));
    return 1;
}

static int report(Job *self, double accuracy) {
    uint64_t digest;
    int same;
    const mdist_status_t status = trainer_digest(&self->trainer, &digest, &same, &self->error);
    if (status != MDIST_OK) return failed(self, status);
    if (!same) {
        fprintf(stderr, "fashion_mnist: not all replicas ended with the same weights\n");
        return 1;
    }
    if (self->out) fprintf(self->out, "weights digest: %016" PRIx64 "\ntest accuracy: %.4f\n", digest, accuracy);
    return 0;
}

static int work_elastically(Job *self) {
    const ElasticPlan plan = {
        .strategy = self->strategy,
        .trainer = &self->trainer,
        .training = self->training,
        .test = self->test,
        .epochs = self->options.epochs,
        .steps_per_epoch = steps_per_epoch(self),
        .limit_steps = self->options.limit_steps,
        .commit = self->options.commit,
        .mirrored = self->options.mirrored,
        .first_rate = first_rate,
    };
    const mdist_status_t status = elastic_train(&plan, &self->error);
    return status == MDIST_OK ? 0 : failed(self, status);
}

static int work(Job *self) {
    const char *const data = self->options.records ? NULL : self->options.data;
    if (data && mnist_load(data, "train", &self->training_set) != 0) return 1;
    if (data && mnist_load(data, "t10k", &self->test_set) != 0) return 1;

    double accuracy = 0;
    mdist_status_t status = prepare(self);
    if (status == MDIST_OK && self->options.elastic) return work_elastically(self);
    if (status == MDIST_OK) {
        self->out = mdist_strategy_is_chief(self->strategy) ? stdout : NULL;
        if (self->out)
            fprintf(self->out, "%" PRIu64 " images, %" PRIu32 " replicas, batches of %" PRIu64 "\n", self->images,
                    mdist_strategy_replica_count(self->strategy), self->options.batch);
        status = train(self);
    }
    if (status == MDIST_OK) status = evaluate(self, &accuracy);
    if (status == MDIST_OK) return report(self, accuracy);
    return failed(self, status);
}

int main(int argument_count, char **arguments) {
    Job job = {0};
    int status = options_parse(argument_count, arguments, &job.options);
    if (status >= 0) return status;
    status = work(&job);

    mdist_error_free(job.error);
    saved_close(&job.saved);
    mdist_dataset_destroy(job.test);
    mdist_dataset_destroy(job.training);
    trainer_destroy(&job.trainer);
    mdist_strategy_destroy(job.strategy);
    mdist_config_destroy(job.config);
    mnist_free(&job.test_set);
    mnist_free(&job.training_set);
    return status;
}
