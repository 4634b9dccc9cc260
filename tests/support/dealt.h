// SPDX-License-Identifier: Apache-2.0
// Writes the elements of a distributed dataset of int64 rows as text: "[0,1] [2] | [3] []" for two steps of two local
// replicas. A scalar element is "7"; rows of uint8 are words, "[A0,A1]".
#pragma once

#include "dataset_options.h"
#include "mdist_test.h"

#include <inttypes.h>

/// Makes a dataset of the numbers 0 ... count - 1, in batches; batch 0: not batched. NULL if that failed.
MDIST_TEST_HELPER mdist_dataset_t *numbers_in_batches(int64_t count, uint64_t batch, int drop_remainder) {
    mdist_dataset_t *numbers = NULL, *batches = NULL;
    if (mdist_dataset_range(0, count, 1, &numbers, NULL, NULL) != MDIST_OK || batch == 0) return numbers;
    mdist_dataset_batch(numbers, batch, &batches, drop_remainder ? &whole_batches : NULL, NULL);
    mdist_dataset_destroy(numbers);
    return batches;
}

typedef struct Dealt {
    char text[1024];
    char rows[1024];       // number of rows of all replicas of the job: "2 1 | 1 0"
    mdist_status_t status; // the first that was not MDIST_OK
    char why[512];
    size_t length, rows_length;
} Dealt;

MDIST_TEST_HELPER void dealt_put(Dealt *self, const char *words) {
    const int written = snprintf(self->text + self->length, sizeof self->text - self->length, "%s", words);
    if ((size_t)written < sizeof self->text - self->length) self->length += (size_t)written;
}

MDIST_TEST_HELPER void dealt_put_tensor(Dealt *self, const mdist_tensor_t *tensor) {
    char number[32];
    if (tensor->rank != 0) dealt_put(self, "[");
    const uint64_t count = tensor->rank == 0 ? 1 : tensor->shape[0];
    for (uint64_t i = 0; i < count; ++i) {
        if (i != 0) dealt_put(self, ",");
        if (tensor->dtype == MDIST_UINT8) {
            const int length = (int)tensor->shape[1];
            snprintf(number, sizeof number, "%.*s", length, (const char *)tensor->data + i * (uint64_t)length);
        } else {
            snprintf(number, sizeof number, "%" PRId64, ((const int64_t *)tensor->data)[i]);
        }
        dealt_put(self, number);
    }
    if (tensor->rank != 0) dealt_put(self, "]");
}

/// Writes one more step; false if there is none.
MDIST_TEST_HELPER int dealt_step(Dealt *self, mdist_iterator_t *iterator, uint32_t locals, uint32_t replicas) {
    mdist_value_t *value = NULL;
    mdist_error_t *error = NULL;
    self->status = mdist_iterator_next(iterator, &value, 1, &error);
    if (error != NULL) snprintf(self->why, sizeof self->why, "%s", mdist_error_message(error));
    mdist_error_free(error);
    if (self->status != MDIST_OK) return 0;
    if (self->length != 0) dealt_put(self, " | ");
    for (uint32_t i = 0; i < locals; ++i) {
        mdist_tensor_t tensor;
        if (i != 0) dealt_put(self, " ");
        if (mdist_value_tensor(value, i, &tensor, NULL) == MDIST_OK) dealt_put_tensor(self, &tensor);
    }
    mdist_value_destroy(value);
    uint64_t rows[16] = {0};
    if (mdist_iterator_row_counts(iterator, rows, replicas, NULL) != MDIST_OK) rows[0] = 999;
    for (uint32_t i = 0; i < replicas; ++i)
        self->rows_length +=
            (size_t)snprintf(self->rows + self->rows_length, sizeof self->rows - self->rows_length, "%s%" PRIu64,
                             i != 0                   ? " "
                             : self->rows_length != 0 ? " | "
                                                      : "",
                             rows[i]);
    return 1;
}

/// Writes a whole iteration.
MDIST_TEST_HELPER Dealt dealt_by(const mdist_strategy_t *strategy, const mdist_dataset_t *distributed) {
    Dealt self = {.status = MDIST_OK};
    mdist_iterator_t *iterator = NULL;
    mdist_error_t *error = NULL;
    self.status = mdist_iterator_create(distributed, &iterator, &error);
    if (error != NULL) snprintf(self.why, sizeof self.why, "%s", mdist_error_message(error));
    mdist_error_free(error);
    const uint32_t locals = mdist_strategy_local_replica_count(strategy);
    while (self.status == MDIST_OK && dealt_step(&self, iterator, locals, mdist_strategy_replica_count(strategy)))
        continue;
    mdist_iterator_destroy(iterator);
    return self;
}
