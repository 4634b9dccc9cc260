// SPDX-License-Identifier: Apache-2.0
#include "saved.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const uint32_t kept = 3; // checkpoints in the folder

static mdist_status_t restore(Saved *self, mdist_error_t **error) {
    mdist_error_t *found = NULL;
    char steps[32] = "";
    mdist_status_t status = mdist_checkpoint_restore(self->checkpoint, MDIST_LATEST, &self->epochs, NULL, &found);
    if (status == MDIST_ERR_NOT_FOUND) { // the first time
        mdist_error_free(found);
        return MDIST_OK;
    }
    if (status != MDIST_OK) {
        *error = found;
        return status;
    }
    status = mdist_checkpoint_text(self->checkpoint, "steps", steps, sizeof steps, NULL, error);
    self->steps = strtoull(steps, NULL, 10);
    return status;
}

mdist_status_t saved_open(const Trainer *trainer, const char *folder, Saved *out, mdist_error_t **error) {
    *out = (Saved){0};
    if (!folder) return MDIST_OK;
    mdist_status_t status = mdist_checkpoint_create(trainer->strategy, folder, kept, &out->checkpoint, error);
    for (int i = 0; i < MODEL_PARTS && status == MDIST_OK; ++i) {
        status = mdist_checkpoint_add(out->checkpoint, NULL, trainer->parameters[i], error);
        if (status == MDIST_OK) status = mdist_checkpoint_add(out->checkpoint, NULL, trainer->momentum[i], error);
    }
    return status == MDIST_OK ? restore(out, error) : status;
}

mdist_status_t saved_add(Saved *self, uint64_t epochs, uint64_t steps, mdist_error_t **error) {
    char text[32];
    if (!self->checkpoint) return MDIST_OK;
    snprintf(text, sizeof text, "%" PRIu64, steps);
    const mdist_status_t status = mdist_checkpoint_set_text(self->checkpoint, "steps", text, error);
    return status == MDIST_OK ? mdist_checkpoint_save(self->checkpoint, epochs, NULL, error) : status;
}

void saved_close(Saved *self) {
    mdist_checkpoint_destroy(self->checkpoint);
    self->checkpoint = NULL;
}
