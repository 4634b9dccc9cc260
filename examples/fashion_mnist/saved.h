// SPDX-License-Identifier: Apache-2.0
// Saved: a training in a folder, epoch by epoch, so that one that was ended goes on as if it had not been.
#pragma once

#include "trainer.h"

typedef struct Saved {
    mdist_checkpoint_t *checkpoint; // NULL: nothing is saved
    uint64_t epochs, steps;         // done by the checkpoint that was found
} Saved;

// Begins with what the folder has, if it has something: the trainer's variables, epochs and steps. folder may be NULL.
mdist_status_t saved_open(const Trainer *trainer, const char *folder, Saved *out, mdist_error_t **error);

// Called by all workers when an epoch is done.
mdist_status_t saved_add(Saved *self, uint64_t epochs, uint64_t steps, mdist_error_t **error);

void saved_close(Saved *self);
