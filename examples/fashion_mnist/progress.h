// SPDX-License-Identifier: Apache-2.0
// Progress: what an epoch looks like from outside. On a terminal a bar that redraws itself some ten times a second;
// anywhere else, and when the epoch is over, one line. Used from one thread.
#pragma once

#include <stdint.h>
#include <stdio.h>

typedef struct Progress {
    FILE *stream;
    int terminal;        // whether stream is one
    int epoch, epochs;   // from 1
    uint64_t total_rows; // of this epoch
    uint64_t rows;       // seen so far
    double loss_sum, correct;
    double start, drawn; // seconds
} Progress;

// `stream` NULL: says nothing, for workers that leave that to the chief.
void progress_start(Progress *self, FILE *stream, int epoch, int epochs, uint64_t total_rows);

// Adds what one step saw: sums over its rows.
void progress_add(Progress *self, uint64_t rows, double loss_sum, double correct);

// Ends the epoch with its line: loss, accuracy, images per second, seconds.
void progress_finish(Progress *self);
