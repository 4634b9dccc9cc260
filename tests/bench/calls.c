// SPDX-License-Identifier: Apache-2.0
// What it costs to describe buffers in each call, and where gradients lie. Prints the best of some blocks.
//
//   calls prepared     all-reduces of 1, 8 and 64 buffers of 4 floats: plain, and prepared (prepared.h)
//   calls gradients    a round of gradients in memory of the library; lent end to end; lent with gaps
//
// Replicas are those of MDIST_DEVICES, in one worker or, under `mdist launch`, in several.
#include <mdist/mdist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCKS = 15, MOST = 64, MOST_REPLICAS = 8, MOST_ARRAYS = 16384 };

typedef struct Bench {
    mdist_strategy_t *strategy;
    size_t buffers, arrays, bytes;
    int prepared;
    mdist_prepared_t *calls[MOST_REPLICAS];
    mdist_gradients_t *gradients;
    double best; // nanoseconds, of replica 0
} Bench;

static float numbers[MOST_REPLICAS][MOST][4];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static void must(mdist_status_t status, mdist_error_t *error) {
    if (status == MDIST_OK) return;
    fprintf(stderr, "%s: %s\n", mdist_status_name(status), mdist_error_message(error));
    exit(1);
}
#define MUST(call)                    \
    do {                              \
        mdist_error_t *error = NULL;  \
        mdist_status_t status = call; \
        must(status, error);          \
    } while (0)

static void describe(uint32_t local, size_t count, mdist_buffer_t *buffers) {
    for (size_t b = 0; b < count; ++b) buffers[b] = (mdist_buffer_t){numbers[local][b], 4, MDIST_FLOAT32, 0};
}

static int32_t call_step(mdist_replica_t *replica, void *user_data) {
    Bench *const self = user_data;
    const uint32_t local = mdist_replica_local_index(replica);
    enum { CALLS = 2000 };
    for (int block = 0; block < BLOCKS; ++block) {
        memset(numbers[local], 0, sizeof numbers[local]);
        if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 1;
        const double begin = now();
        for (int i = 0; i < CALLS; ++i) {
            mdist_status_t status;
            if (self->prepared) {
                status = mdist_prepared_run(replica, self->calls[local], NULL);
            } else {
                mdist_buffer_t buffers[MOST];
                describe(local, self->buffers, buffers);
                status = mdist_all_reduce(replica, MDIST_SUM, buffers, buffers, self->buffers, NULL, NULL);
            }
            if (status != MDIST_OK) return 1;
        }
        const double each = (now() - begin) / CALLS;
        if (local == 0 && (self->best == 0 || each < self->best)) self->best = each;
    }
    return 0;
}

static void compare_calls(Bench *self) {
    static const size_t counts[] = {1, 8, 64};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
        double best[2];
        self->buffers = counts[c];
        for (uint32_t r = 0; r < mdist_strategy_local_replica_count(self->strategy); ++r) {
            mdist_buffer_t buffers[MOST];
            describe(r, self->buffers, buffers);
            const mdist_collective_description_t it = {
                sizeof it, MDIST_COLLECTIVE_ALL_REDUCE, MDIST_SUM, 0, buffers, buffers, self->buffers, NULL, NULL};
            MUST(mdist_prepared_create(self->strategy, r, &it, &self->calls[r], NULL, &error));
        }
        for (self->prepared = 0; self->prepared < 2; ++self->prepared) {
            self->best = 0;
            MUST(mdist_run(self->strategy, call_step, self, NULL, &error));
            best[self->prepared] = self->best;
        }
        for (uint32_t r = 0; r < mdist_strategy_local_replica_count(self->strategy); ++r)
            mdist_prepared_destroy(self->calls[r]);
        if (mdist_strategy_is_chief(self->strategy))
            printf("%2zu buffers: plain %.0f ns, prepared %.0f ns\n", counts[c], best[0], best[1]);
    }
}

static int32_t gradient_step(mdist_replica_t *replica, void *user_data) {
    Bench *const self = user_data;
    for (int block = 0; block < BLOCKS; ++block) {
        if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 1;
        const double begin = now();
        for (size_t g = self->arrays; g-- > 0;)
            if (mdist_gradients_ready(replica, self->gradients, g, NULL) != MDIST_OK) return 1;
        if (mdist_gradients_wait(replica, self->gradients, NULL, NULL, NULL) != MDIST_OK) return 1;
        const double each = now() - begin;
        if (mdist_replica_local_index(replica) == 0 && (self->best == 0 || each < self->best)) self->best = each;
    }
    return 0;
}

static double time_round(Bench *self, int gap) {
    static mdist_tensor_t tensors[MOST_REPLICAS * MOST_ARRAYS];
    const uint32_t replicas = mdist_strategy_local_replica_count(self->strategy);
    const mdist_gradients_options_t options = {.struct_size = sizeof options, .flags = MDIST_GRADIENTS_NO_NORM};
    const size_t stride = self->bytes + (size_t)(gap > 0 ? gap : 0);
    char *memory[MOST_REPLICAS];
    for (uint32_t r = 0; r < replicas; ++r) {
        memory[r] = aligned_alloc(64, (stride * self->arrays + 63) / 64 * 64);
        memset(memory[r], 0, stride * self->arrays);
        for (size_t g = 0; g < self->arrays; ++g)
            tensors[r * self->arrays + g] = (mdist_tensor_t){
                memory[r] + g * stride, MDIST_FLOAT32, 1, MDIST_DEVICE_CPU, 0, {self->bytes / sizeof(float)}};
    }
    if (gap < 0)
        MUST(mdist_gradients_create(self->strategy, tensors, self->arrays, &self->gradients, &options, &error));
    else
        MUST(mdist_gradients_create_lent(self->strategy, tensors, self->arrays, &self->gradients, &options, &error));
    self->best = 0;
    MUST(mdist_run(self->strategy, gradient_step, self, NULL, &error));
    mdist_gradients_destroy(self->gradients);
    for (uint32_t r = 0; r < replicas; ++r) free(memory[r]);
    return self->best / 1e6;
}

static void compare_gradients(Bench *self) {
    static const size_t sizes[] = {256, 4096, 16384, 65536, 262144, 4194304};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        self->bytes = sizes[s];
        self->arrays = ((size_t)16 << 20) / sizes[s];
        if (self->arrays > MOST_ARRAYS) self->arrays = MOST_ARRAYS;
        const double library = time_round(self, -1), flat = time_round(self, 0), apart = time_round(self, 64);
        if (mdist_strategy_is_chief(self->strategy))
            printf("%zu arrays of %zu bytes: library %.3f ms, flat %.3f ms, apart %.3f ms\n", self->arrays, sizes[s],
                   library, flat, apart);
    }
}

int main(int argument_count, char **arguments) {
    Bench self = {0};
    MUST(mdist_strategy_create(NULL, &self.strategy, &error));
    if (argument_count > 1 && strcmp(arguments[1], "gradients") == 0)
        compare_gradients(&self);
    else
        compare_calls(&self);
    mdist_strategy_destroy(self.strategy);
    return 0;
}
