// SPDX-License-Identifier: Apache-2.0
// A training that Slurm may end at any time:
//
//   training FOLDER
//
// Each step adds the numbers of all replicas, id + 1, to a variable; every EVERY steps are saved in FOLDER. SIGTERM to
// any worker makes all save the same step and end. Without a checkpoint in FOLDER the training goes on until then;
// after one it takes MORE steps.
#include <mdist/mdist.h>

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { EVERY = 20, MORE = 50 };

typedef struct Training {
    mdist_strategy_t *strategy;
    mdist_variable_t *sum;
    mdist_checkpoint_t *checkpoint;
    uint64_t steps, saved;
    mdist_error_t *error;
} Training;

static mdist_strategy_t *told; // by signals

static void on_signal(int number) {
    (void)number;
    mdist_membership_leave(told, 0);
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    Training *const self = user_data;
    mdist_tensor_t sum;
    double number = (double)mdist_replica_id(replica) + 1;
    const mdist_buffer_t buffer = {.data = &number, .elements = 1, .dtype = MDIST_FLOAT64};
    if (mdist_variable_tensor(self->sum, mdist_replica_local_index(replica), &sum, NULL) != MDIST_OK) return 1;
    if (mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL) != MDIST_OK) return 1;
    *(double *)sum.data += number;
    return 0;
}

static void say(const Training *self, const char *what) {
    mdist_tensor_t sum;
    if (!mdist_strategy_is_chief(self->strategy) || mdist_variable_tensor(self->sum, 0, &sum, NULL) != MDIST_OK) return;
    printf("%s %" PRIu64 " steps, sum %.0f\n", what, self->steps, *(const double *)sum.data);
    fflush(stdout);
}

static mdist_status_t begin(Training *self, const char *folder) {
    double zero = 0;
    const mdist_tensor_t like = {.data = &zero, .dtype = MDIST_FLOAT64};
    mdist_status_t status = mdist_strategy_create(NULL, &self->strategy, &self->error);
    if (status != MDIST_OK) return status;
    told = self->strategy;
    signal(SIGTERM, on_signal);
    status = mdist_variable_create(self->strategy, "sum", &like, &self->sum, NULL, &self->error);
    if (status == MDIST_OK)
        status = mdist_checkpoint_create(self->strategy, folder, 2, &self->checkpoint, &self->error);
    if (status == MDIST_OK) status = mdist_checkpoint_add(self->checkpoint, NULL, self->sum, &self->error);
    if (status != MDIST_OK) return status;
    status = mdist_checkpoint_restore(self->checkpoint, MDIST_LATEST, &self->saved, NULL, &self->error);
    if (status == MDIST_ERR_NOT_FOUND) { // the first time
        mdist_error_free(self->error);
        self->error = NULL;
        return MDIST_OK;
    }
    self->steps = self->saved;
    if (status == MDIST_OK) say(self, "restored:");
    return status;
}

static mdist_status_t save(Training *self) {
    const mdist_status_t status = mdist_checkpoint_save(self->checkpoint, self->steps, NULL, &self->error);
    if (status == MDIST_OK) say(self, "saved:");
    return status;
}

static mdist_status_t train(Training *self) {
    int32_t verdict = MDIST_VERDICT_GO_ON;
    while (self->saved == 0 || self->steps < self->saved + MORE) {
        mdist_status_t status = mdist_run(self->strategy, step, self, NULL, &self->error);
        if (status == MDIST_OK) status = mdist_membership_check(self->strategy, &verdict, NULL, NULL, &self->error);
        if (status != MDIST_OK) return status;
        ++self->steps;
        if (verdict == MDIST_VERDICT_END || self->steps % EVERY == 0) status = save(self);
        if (status != MDIST_OK || verdict == MDIST_VERDICT_END) return status;
    }
    say(self, "done:");
    return MDIST_OK;
}

int main(int argument_count, char **arguments) {
    static Training training;
    if (argument_count != 2) return 2;
    mdist_status_t status = begin(&training, arguments[1]);
    if (status == MDIST_OK) status = train(&training);
    if (status != MDIST_OK) fprintf(stderr, "%s: %s\n", mdist_status_name(status), mdist_error_message(training.error));
    mdist_error_free(training.error);
    signal(SIGTERM, SIG_IGN); // Slurm sends it more than once
    mdist_checkpoint_destroy(training.checkpoint);
    mdist_variable_destroy(training.sum);
    mdist_strategy_destroy(training.strategy);
    return status != MDIST_OK;
}
