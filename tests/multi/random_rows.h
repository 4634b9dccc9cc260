// SPDX-License-Identifier: Apache-2.0
// Makes random pipelines that drop nothing. A seed gives the same pipeline on all workers.
#pragma once

#include "../data/data.h"

enum { FILES = 7 };

/// A pipeline of numbers, each of which comes several times. Zeros are padding.
typedef struct Pipeline {
    mdist_dataset_t *dataset;
    uint64_t numbers, times; // the numbers are 1 ... `numbers`; each comes `times` times
    int rank, ragged;        // the elements' rank, and whether they may differ in shape
    int mapped;              // each number is multiplied by ten
    int reshuffles;          // two iterators see different orders
    Text said;               // its transforms, as text
} Pipeline;

void begin_random(uint64_t seed);
/// Draws a number from 0 to bound - 1.
uint64_t draw(uint64_t bound);

/// Adds a transform to the text of a pipeline. Returns 1.
int say(Pipeline *self, const char *what, uint64_t first, uint64_t second);

/// Makes a pipeline of numbers, or of the first of FILES files in the folder that TEST_FOLDER names. The files hold 8
/// bytes for each number, counting from 1 through all files.
Pipeline a_pipeline(int from_files);
uint64_t numbers_in_file(uint64_t file);
void file_name(char *path, size_t capacity, uint64_t file);

/// Makes elements of rank 1 or more, so that rows can be cut.
void end_with_rows(Pipeline *self);
