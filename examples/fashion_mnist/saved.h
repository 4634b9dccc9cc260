// SPDX-License-Identifier: Apache-2.0
// Saved: saves a training in a folder after each epoch, so that an interrupted training can continue with the same
// bits.
#pragma once

#include "trainer.h"

typedef struct Saved {
    mdist_checkpoint_t *checkpoint; // NULL: nothing is saved
    uint64_t epochs, steps;         // those that the checkpoint has done
} Saved;

// Restores the trainer's variables, epochs and steps from the folder, if it has a checkpoint. folder may be NULL.
mdist_status_t saved_open(const Trainer *trainer, const char *folder, Saved *out, mdist_error_t **error);

// All workers call this after each epoch.
mdist_status_t saved_add(Saved *self, uint64_t epochs, uint64_t steps, mdist_error_t **error);

void saved_close(Saved *self);
