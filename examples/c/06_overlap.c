// SPDX-License-Identifier: Apache-2.0
/*
 * Computing while a collective is under way.
 *
 * Gradients are computed layer by layer, from the last layer to the first. When a layer's gradients are ready, their
 * sum over all replicas is started, and the next layer is computed meanwhile. The library does no work in the
 * background: the sum moves on inside mdist_work_test, so call that now and then between pieces of work.
 */
#include "check.h"

enum { REPLICAS = 2, LAYERS = 3, WEIGHTS = 4096, PIECE = 512 };

static float gradients[REPLICAS][LAYERS][WEIGHTS]; // of this worker

// Stands in for the backward pass: computes a replica's gradients of one layer, piece by piece.
static int compute_layer(float *layer, float value, mdist_work_t *under_way) {
    for (int start = 0; start < WEIGHTS; start += PIECE) {
        for (int i = start; i < start + PIECE; ++i) layer[i] = value;
        int32_t done;
        if (under_way && mdist_work_test(under_way, &done, NULL) != MDIST_OK) return 1;
    }
    return 0;
}

// Waits for the sum and frees it. Here a replica has at most one operation under way.
static int finish(mdist_work_t *work) {
    int32_t done = 1;
    const mdist_status_t status = work ? mdist_work_wait(work, MDIST_FOREVER, &done, NULL) : MDIST_OK;
    mdist_work_destroy(work);
    return status != MDIST_OK;
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    const uint32_t id = mdist_replica_id(replica);
    mdist_work_t *work = NULL; // the sum of the previous layer
    for (int layer = LAYERS - 1; layer >= 0; --layer) {
        float *const mine = gradients[mdist_replica_local_index(replica)][layer];
        const int failed = compute_layer(mine, (float)((layer + 1) * (id + 1)), work);
        if (finish(work) != 0 || failed) return 1;

        // The layer's memory belongs to the operation until it is done.
        const mdist_buffer_t buffer = {.data = mine, .elements = WEIGHTS, .dtype = MDIST_FLOAT32};
        work = NULL;
        const mdist_collective_description_t sum = {.struct_size = sizeof sum,
                                                    .kind = MDIST_COLLECTIVE_ALL_REDUCE,
                                                    .op = MDIST_SUM,
                                                    .inputs = &buffer,
                                                    .outputs = &buffer,
                                                    .buffer_count = 1};
        if (mdist_collective_start(replica, &sum, &work, NULL, NULL) != MDIST_OK) return 1;
    }
    return finish(work);
}

int main(void) {
    mdist_strategy_t *strategy = strategy_on("cpu*2");
    must(mdist_run(strategy, step, NULL, NULL, &problem));
    for (int layer = 0; layer < LAYERS; ++layer)
        printf("layer %d: %g to %g\n", layer, (double)gradients[0][layer][0],
               (double)gradients[REPLICAS - 1][layer][WEIGHTS - 1]);
    mdist_strategy_destroy(strategy);
    return 0;
}
