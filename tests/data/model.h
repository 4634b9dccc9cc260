// SPDX-License-Identifier: Apache-2.0
// A model of datasets: lists of elements, and functions that apply a transform to a list. It shares no code with the
// library. A list holds all its elements in memory. Elements have up to four components of int64, of rank 3 at most.
// Memory lasts until model_free(). Main thread only.
#pragma once

#include "data.h"

enum { MODEL_COMPONENTS = 4, MODEL_RANK = 4 };

typedef struct Array {
    uint64_t dims[MODEL_RANK];
    const int64_t *values;
} Array;

typedef struct Elements {
    int components;
    int ranks[MODEL_COMPONENTS];
    size_t count;
    Array (*at)[MODEL_COMPONENTS];
} Elements;

void *model_room(size_t bytes); // zeroed
void model_free(void);

uint64_t model_values(const Array *array, int rank);
char *model_text(const Elements *list); // in the form of elements_of(); the caller frees it

Elements model_range(int64_t start, int64_t count, int64_t step);
Elements model_take(const Elements *from, uint64_t count);
Elements model_skip(const Elements *from, uint64_t count);
Elements model_shard(const Elements *from, uint64_t shards, uint64_t index);
Elements model_repeat(const Elements *from, uint64_t count);
Elements model_concatenate(const Elements *first, const Elements *second);
Elements model_zip(const Elements *first, const Elements *second);
Elements model_evens(const Elements *from);
/// Maps each element to one scalar: three times the sum of component 0, plus one.
Elements model_sums(const Elements *from);
/// Batches elements and pads them to the longest. Elements of equal shapes need no padding, so this also models batch.
Elements model_batch(const Elements *from, uint64_t size, int drop_remainder);
int model_can_batch(const Elements *from, uint64_t size);
Elements model_unbatch(const Elements *from);
int model_can_unbatch(const Elements *from);
Elements model_rebatch(const Elements *from, const uint64_t *sizes, size_t count, int drop_remainder);
/// Shuffles in the order that a seed gives, without reshuffling.
Elements model_shuffle(const Elements *from, uint64_t buffer, uint64_t seed);
