/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests ask of the fake beside the GPU module's interface: a table, by the symbol FAKE_GPU_SYMBOL. Any thread.
 */
#ifndef FAKE_GPU_H
#define FAKE_GPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FAKE_GPU_SYMBOL "fake_gpu"

/* What there is at the moment, of all devices. */
typedef struct fake_gpu_live {
    uint64_t blocks, reservations, pinned; /* memory */
    uint64_t bytes;                        /* of blocks, and committed */
    uint64_t streams, events, comms, graphs;
} fake_gpu_live;

typedef struct fake_gpu_controls {
    void (*live)(fake_gpu_live *live);
    /* How often the fake was used in a way that is not allowed; the first of them as lines of text, if wanted. */
    uint64_t (*problems)(char *text, size_t capacity);
    /* How often a function of the tables was called; "" for all; "job" for what streams did. */
    uint64_t (*calls)(const char *name);
    /* A fault, counted from now on, as the words of MDIST_FAKE_GPU: "copy@3", "job@1:fatal". 0 if it cannot be read. */
    int32_t (*plan)(const char *fault);
    /* No faults any more, sound GPUs, no problems; whoever hangs goes on. What is allocated stays. */
    void (*reset)(void);
    /* Where the fake touches device memory; NULL for an address that is none. For tests that look behind the curtain.
     */
    void *(*behind)(const void *address, size_t bytes);
} fake_gpu_controls;

typedef const fake_gpu_controls *(*fake_gpu_controls_fn)(void);

#ifdef __cplusplus
}
#endif

#endif
