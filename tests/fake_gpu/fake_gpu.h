/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controls that tests use beside the GPU module's interface: a table behind the symbol FAKE_GPU_SYMBOL. Any thread.
 */
#ifndef FAKE_GPU_H
#define FAKE_GPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FAKE_GPU_SYMBOL "fake_gpu"

/* What exists at the moment, over all devices. */
typedef struct fake_gpu_live {
    uint64_t blocks, reservations, pinned; /* memory */
    uint64_t bytes;                        /* of blocks, and committed */
    uint64_t streams, events, comms, graphs;
} fake_gpu_live;

typedef struct fake_gpu_controls {
    void (*live)(fake_gpu_live *live);
    /* Returns how often a caller did something forbidden. `text` may be NULL; it receives the first cases in lines. */
    uint64_t (*problems)(char *text, size_t capacity);
    /* Returns how often a function of the tables was called; "" counts all, "job" the jobs of streams. */
    uint64_t (*calls)(const char *name);
    /* Plans a fault, counted from now on, in the words of MDIST_FAKE_GPU: "copy@3", "job@1:fatal". Returns 0 if the
     * text cannot be read. */
    int32_t (*plan)(const char *fault);
    /* Forgets faults and problems, makes all GPUs work again, and releases whatever hangs. Allocated memory stays. */
    void (*reset)(void);
    /* Returns where the host can read and write the device memory at `address`; NULL if that is no device memory. */
    void *(*behind)(const void *address, size_t bytes);
} fake_gpu_controls;

typedef const fake_gpu_controls *(*fake_gpu_controls_fn)(void);

#ifdef __cplusplus
}
#endif

#endif
