// SPDX-License-Identifier: Apache-2.0
// Compares the example's training on 1 to 4 mirrored replicas with a reference. The reference shares only the starting
// weights. It has one thread, float64, plain loops, no replicas and no BLAS.
#include <cblas.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "input.h"
#include "mnist.h"
#include "random.h"
#include "trainer.h"

enum { STEPS = 50, ROWS = 321, BATCH = 32 }; // ten full batches and one of a single row, which leaves replicas empty
enum { HW = MODEL_INPUTS * MODEL_HIDDEN, HB = MODEL_HIDDEN, OW = MODEL_HIDDEN * MODEL_CLASSES, OB = MODEL_CLASSES };
enum { PARAMETERS = HW + HB + OW + OB, STATE = 2 * PARAMETERS }; // parameters, then momentum, as one array

static const float rate = 0.1f, decay = 0.9f;

// ---- Two sets of images.

static uint64_t random_state;

static unsigned next_random(void) { // xorshift64*
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (unsigned)(random_state * 0x2545f4914f6cdd1du >> 40);
}

// Makes ten patterns with noise, so that there is something to learn.
static MnistSet synthetic_set(void) {
    random_state = test_seed(20240607);
    static uint8_t patterns[MNIST_CLASSES][MNIST_PIXELS];
    for (int i = 0; i < MNIST_CLASSES; ++i)
        for (int k = 0; k < MNIST_PIXELS; ++k) patterns[i][k] = next_random() % 4 == 0 ? 160 : 0;
    MnistSet set = {.images = malloc(ROWS * MNIST_PIXELS), .labels = malloc(ROWS), .count = ROWS};
    assert_non_null(set.images);
    assert_non_null(set.labels);
    for (int row = 0; row < ROWS; ++row) {
        const unsigned label = next_random() % MNIST_CLASSES;
        set.labels[row] = (uint8_t)label;
        for (int k = 0; k < MNIST_PIXELS; ++k)
            set.images[row * MNIST_PIXELS + k] = (uint8_t)(patterns[label][k] + next_random() % 96);
    }
    return set;
}

// Loads the first real images. Count 0: they are not installed.
static MnistSet real_set(void) {
    MnistSet set = {0};
    if (mnist_load(MNIST_FOLDER, "train", &set) == 0) set.count = ROWS;
    return set;
}

// ---- The reference.

typedef struct Reference {
    double state[STATE];
    double gradients[PARAMETERS];
    double hidden[MODEL_HIDDEN], hidden_gradient[MODEL_HIDDEN], output[MODEL_CLASSES];
} Reference;

static void reference_row(Reference *self, const uint8_t *pixels, int label) {
    const double *hw = self->state, *hb = hw + HW, *ow = hb + HB, *ob = ow + OW;
    double *ghw = self->gradients, *ghb = ghw + HW, *gow = ghb + HB, *gob = gow + OW;

    for (int j = 0; j < MODEL_HIDDEN; ++j) self->hidden[j] = hb[j];
    for (int i = 0; i < MODEL_INPUTS; ++i)
        for (int j = 0; j < MODEL_HIDDEN; ++j) self->hidden[j] += pixels[i] / 255.0 * hw[i * MODEL_HIDDEN + j];
    for (int j = 0; j < MODEL_HIDDEN; ++j) self->hidden[j] = self->hidden[j] > 0 ? self->hidden[j] : 0;

    double sum = 0;
    for (int k = 0; k < MODEL_CLASSES; ++k) {
        self->output[k] = ob[k];
        for (int j = 0; j < MODEL_HIDDEN; ++j) self->output[k] += self->hidden[j] * ow[j * MODEL_CLASSES + k];
        sum += exp(self->output[k]);
    }
    for (int k = 0; k < MODEL_CLASSES; ++k) self->output[k] = exp(self->output[k]) / sum - (k == label);

    for (int j = 0; j < MODEL_HIDDEN; ++j) {
        double above = 0;
        for (int k = 0; k < MODEL_CLASSES; ++k) {
            gow[j * MODEL_CLASSES + k] += self->hidden[j] * self->output[k];
            above += ow[j * MODEL_CLASSES + k] * self->output[k];
        }
        self->hidden_gradient[j] = self->hidden[j] > 0 ? above : 0;
        ghb[j] += self->hidden_gradient[j];
    }
    for (int k = 0; k < MODEL_CLASSES; ++k) gob[k] += self->output[k];
    for (int i = 0; i < MODEL_INPUTS; ++i)
        for (int j = 0; j < MODEL_HIDDEN; ++j)
            ghw[i * MODEL_HIDDEN + j] += pixels[i] / 255.0 * self->hidden_gradient[j];
}

static void reference_train(Reference *self, const float *initial, const MnistSet *set, size_t batch) {
    for (int i = 0; i < STATE; ++i) self->state[i] = (double)initial[i];
    size_t row = 0;
    for (int step = 0; step < STEPS; ++step) {
        const size_t end = row + batch < set->count ? row + batch : set->count;
        memset(self->gradients, 0, sizeof self->gradients);
        for (size_t i = row; i < end; ++i) reference_row(self, set->images + i * MNIST_PIXELS, set->labels[i]);
        double *parameters = self->state, *momentum = self->state + PARAMETERS;
        for (int i = 0; i < PARAMETERS; ++i) {
            momentum[i] = (double)decay * momentum[i] + self->gradients[i] / (double)(end - row);
            parameters[i] -= (double)rate * momentum[i];
        }
        row = end == set->count ? 0 : end;
    }
}

// ---- The same training by the library.

static void copy_state(const TrainerReplica *replica, float state[STATE]) {
    for (int set = 0; set < 2; ++set)
        for (int i = 0; i < MODEL_PARTS; ++i) {
            const size_t elements = model_parts[i].elements;
            memcpy(state, set == 0 ? replica->parameters[i] : replica->momentum[i], elements * sizeof(float));
            state += elements;
        }
}

static void take_steps(Trainer *trainer, const mdist_dataset_t *input, int steps) {
    mdist_iterator_t *iterator = NULL;
    while (steps > 0) {
        mdist_value_t *batch[2];
        assert_int_equal(mdist_iterator_create(input, &iterator, NULL), MDIST_OK);
        mdist_status_t status;
        while (steps > 0 && (status = mdist_iterator_next(iterator, batch, 2, NULL)) != MDIST_END) {
            assert_int_equal(status, MDIST_OK);
            assert_int_equal(trainer_train(trainer, batch, NULL, NULL), MDIST_OK);
            mdist_value_destroy(batch[0]);
            mdist_value_destroy(batch[1]);
            --steps;
        }
        mdist_iterator_destroy(iterator);
    }
}

// Trains with this number of replicas. Gives replica 0's final state and, unless `initial` is NULL, its first. All
// other replicas must end with the same bits.
static void train(const MnistSet *set, unsigned replicas, uint64_t batch, uint64_t shuffle_seed, float *initial,
                  float *final) {
    mdist_config_t *config = NULL;
    mdist_strategy_t *strategy = NULL;
    mdist_dataset_t *input = NULL;
    Trainer trainer;
    char devices[16];
    snprintf(devices, sizeof devices, "cpu*%u", replicas);
    assert_int_equal(mdist_config_create(&config, NULL), MDIST_OK);
    assert_int_equal(mdist_config_set(config, "devices", devices, NULL), MDIST_OK);
    assert_int_equal(mdist_strategy_create(config, &strategy, NULL), MDIST_OK);
    assert_int_equal(mdist_strategy_local_replica_count(strategy), replicas);
    assert_int_equal(trainer_create(strategy, batch, &trainer, NULL), MDIST_OK);
    assert_int_equal(input_create(strategy, set, batch, shuffle_seed, &input, NULL), MDIST_OK);
    trainer.rate = rate;
    trainer.decay = decay;

    if (initial) copy_state(&trainer.replicas[0], initial);
    take_steps(&trainer, input, STEPS);
    copy_state(&trainer.replicas[0], final);
    float *other = malloc(STATE * sizeof(float));
    assert_non_null(other);
    for (unsigned i = 1; i < replicas; ++i) {
        copy_state(&trainer.replicas[i], other);
        assert_memory_equal(other, final, STATE * sizeof(float));
    }
    free(other);

    mdist_dataset_destroy(input);
    trainer_destroy(&trainer);
    mdist_strategy_destroy(strategy);
    mdist_config_destroy(config);
}

// ---- The tests.

static void compare_with_reference(const MnistSet *set, size_t batch) {
    float *initial = malloc(STATE * sizeof(float)), *final = malloc(STATE * sizeof(float));
    Reference *reference = malloc(sizeof *reference);
    assert_true(initial && final && reference);
    for (unsigned replicas = 1; replicas <= 4; replicas *= 2) {
        train(set, replicas, batch, 0, replicas == 1 ? initial : NULL, final);
        if (replicas == 1) reference_train(reference, initial, set, batch);
        double largest = 0, moved = 0;
        for (int i = 0; i < PARAMETERS; ++i) {
            largest = fmax(largest, fabs((double) final[i] - reference->state[i]));
            moved = fmax(moved, fabs(reference->state[i] - (double)initial[i]));
            assert_true(isfinite(final[i]));
        }
        print_message("# batch %zu, %u replicas: at most %.2e from the reference, which moved by %.2f\n", batch,
                      replicas, largest, moved);
        assert_true(moved > 0.01);
        assert_true(largest < 1e-4);
    }
    free(initial);
    free(final);
    free(reference);
}

static void weights_after_50_steps_agree_with_a_plain_reference_on_synthetic_images(void **state) {
    (void)state;
    MnistSet set = synthetic_set();
    compare_with_reference(&set, BATCH);
    if (is_long()) {
        compare_with_reference(&set, 7);
        compare_with_reference(&set, ROWS);
    }
    mnist_free(&set);
}

static void weights_after_50_steps_agree_with_a_plain_reference_on_real_images(void **state) {
    (void)state;
    MnistSet set = real_set();
    if (set.count == 0) skip();
    compare_with_reference(&set, BATCH);
    mnist_free(&set);
}

static void two_runs_with_equally_many_replicas_end_in_identical_bits(void **state) {
    (void)state;
    MnistSet set = synthetic_set();
    float *first = malloc(STATE * sizeof(float)), *second = malloc(STATE * sizeof(float));
    assert_true(first && second);
    for (unsigned replicas = 1; replicas <= 5; ++replicas) {
        train(&set, replicas, BATCH, 17, NULL, first);
        train(&set, replicas, BATCH, 17, NULL, second);
        assert_memory_equal(first, second, STATE * sizeof(float));
    }
    free(first);
    free(second);
    mnist_free(&set);
}

int main(void) {
    openblas_set_num_threads(1); // as the example does
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_after_50_steps_agree_with_a_plain_reference_on_synthetic_images),
        cmocka_unit_test(weights_after_50_steps_agree_with_a_plain_reference_on_real_images),
        cmocka_unit_test(two_runs_with_equally_many_replicas_end_in_identical_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
