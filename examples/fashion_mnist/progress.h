// SPDX-License-Identifier: Apache-2.0
// Progress: shows the progress of an epoch. On a terminal it is a bar, redrawn some ten times a second. Elsewhere, and
// at the end of the epoch, it is one line. Use it from one thread.
#pragma once

#include <stdint.h>
#include <stdio.h>

typedef struct Progress {
    FILE *stream;
    int terminal;        // whether stream is a terminal
    int epoch, epochs;   // from 1
    uint64_t total_rows; // of this epoch
    uint64_t rows;       // seen so far
    double loss_sum, correct;
    double start, drawn; // seconds
} Progress;

// If `stream` is NULL, it prints nothing. That is for all workers but the chief.
void progress_start(Progress *self, FILE *stream, int epoch, int epochs, uint64_t total_rows);

// Adds the totals of one step: sums over its rows.
void progress_add(Progress *self, uint64_t rows, double loss_sum, double correct);

// Prints the epoch's line: loss, accuracy, images per second, seconds.
void progress_finish(Progress *self);
