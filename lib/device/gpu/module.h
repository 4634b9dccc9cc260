/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU module's interface: everything the library asks of CUDA and NCCL, as two tables of C functions.
 *
 * libmdist-cuda.so fills them with CUDA's runtime, its own kernels and NCCL; tests load a fake instead, whose devices
 * are the CPU. So the library itself knows no type of CUDA, and this header needs no toolkit. Conventions:
 *
 * - a result is 0, or the number of the error; `kind` and `text` say what such a number means
 * - `device` is a physical GPU, counted as CUDA does; the caller's current device is as before when a function returns
 * - what is put on a stream has happened when the stream comes to it, not when the function returns
 * - any thread; functions of one communicator: one thread at a time
 * - nothing blocks for long but where it says so, nothing throws, prints, or ends the process
 */
#ifndef MDIST_DEVICE_GPU_MODULE_H
#define MDIST_DEVICE_GPU_MODULE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes with every change of this header; a module of another number is refused. */
#define MDIST_GPU_MODULE_ABI 1
/* The one symbol that a module exports: a mdist_gpu_module_fn. */
#define MDIST_GPU_MODULE_SYMBOL "mdist_gpu_module"

typedef struct mdist_gpu_stream mdist_gpu_stream; /* a cudaStream_t */
typedef struct mdist_gpu_event mdist_gpu_event;   /* a cudaEvent_t */
typedef struct mdist_gpu_comm mdist_gpu_comm;     /* an ncclComm_t */

enum mdist_gpu_error_kind {
    MDIST_GPU_OK = 0,
    MDIST_GPU_NOT_READY,     /* of queries: still under way; of NCCL: in progress */
    MDIST_GPU_INVALID,       /* a bad argument; nothing has happened */
    MDIST_GPU_OUT_OF_MEMORY, /* nothing has happened */
    MDIST_GPU_NO_DEVICE,     /* no driver, no card, or one that does not work */
    MDIST_GPU_FATAL,         /* the process can use its GPUs no more (an illegal address, an ECC error) */
    MDIST_GPU_FAILED         /* anything else */
};

enum mdist_gpu_memory_kind {
    MDIST_GPU_MEMORY_HOST = 0, /* pageable, or unknown to CUDA */
    MDIST_GPU_MEMORY_PINNED,   /* of the host, page-locked */
    MDIST_GPU_MEMORY_DEVICE,
    MDIST_GPU_MEMORY_MANAGED
};

typedef struct mdist_gpu_info {
    char name[256];
    char bus_id[32]; /* "0000:3B:00.0" */
    uint64_t memory_bytes;
    int32_t compute_major, compute_minor;
    int32_t multiprocessors;
    int32_t driver_version, runtime_version; /* as CUDA counts: 13000 */
} mdist_gpu_info;

/*
 * Element by element along the library's canonical tree (lib/reduce/reduce.h, which has the dtypes and ops: numbers of
 * the public enums): the same bits as on the CPU for every dtype and op. A destination may be one of the sources.
 */
typedef struct mdist_gpu_reduction {
    int32_t dtype;
    int32_t op;
    uint64_t divisor;           /* MEAN: the number of replicas of the whole job */
    uint32_t source_count;      /* 1 or more */
    uint32_t destination_count; /* 0 or more */
    const void *const *sources; /* arrays of the host, read before the function returns, of addresses on the GPU, */
    void *const *destinations;  /* or on another one that it can reach */
    uint64_t elements;
} mdist_gpu_reduction;

/* One stretch of memory that is copied, among many. */
typedef struct mdist_gpu_stretch {
    void *to;
    const void *from;
    uint64_t bytes;
} mdist_gpu_stretch;

typedef struct mdist_gpu_api {
    uint32_t kind_size; /* sizeof(mdist_gpu_api): a handshake beside the ABI number */

    int (*kind)(int error);         /* mdist_gpu_error_kind */
    const char *(*text)(int error); /* static: "cudaErrorIllegalAddress: an illegal memory access was encountered" */

    /* The number of GPUs; on failure 0 is written. The first call of all: nothing of CUDA has been touched before. */
    int (*device_count)(int32_t *count);
    int (*device_info)(int32_t device, mdist_gpu_info *info);
    int (*memory_info)(int32_t device, uint64_t *free_bytes, uint64_t *total_bytes);
    /* Whether one GPU reads the other's memory in place (and makes it so, the first time). */
    int (*can_reach)(int32_t device, int32_t other, int32_t *can);

    int (*allocate)(int32_t device, size_t bytes, void **memory); /* 256-byte aligned; may wait for the GPU */
    int (*release)(int32_t device, void *memory);                 /* waits until nothing uses it any more */
    /* Address space on a GPU that gets memory as it is needed. Sizes are multiples of `granularity`. */
    int (*reservation_granularity)(int32_t device, size_t *bytes);
    int (*reserve)(int32_t device, size_t bytes, void **base);
    int (*commit)(int32_t device, void *begin, size_t bytes); /* content undefined */
    int (*unreserve)(int32_t device, void *base, size_t bytes, size_t committed);
    int (*allocate_pinned)(size_t bytes, void **memory);
    int (*release_pinned)(void *memory);
    /* What an address is: a mdist_gpu_memory_kind, and for memory of a GPU which one. Device -1, of which only a fake
     * with open memory speaks: of whichever GPU it is given to. */
    int (*memory_kind)(const void *address, int32_t *kind, int32_t *device);

    /* priority: 0, or -1 for one that goes before others. Streams are independent of the legacy default stream. */
    int (*stream_create)(int32_t device, int32_t priority, mdist_gpu_stream **stream);
    int (*stream_destroy)(int32_t device, mdist_gpu_stream *stream);
    int (*stream_query)(int32_t device, mdist_gpu_stream *stream); /* 0 if all is done, or NOT_READY */
    int (*stream_wait)(int32_t device, mdist_gpu_stream *stream, mdist_gpu_event *event);
    /* timed: elapsed() works. An event that was never recorded has happened. */
    int (*event_create)(int32_t device, int32_t timed, mdist_gpu_event **event);
    int (*event_destroy)(int32_t device, mdist_gpu_event *event);
    int (*event_record)(int32_t device, mdist_gpu_event *event, mdist_gpu_stream *stream);
    int (*event_query)(int32_t device, mdist_gpu_event *event);
    int (*event_elapsed)(mdist_gpu_event *from, mdist_gpu_event *to, float *milliseconds);

    /* Between any two memories, of the host too; `device` is the stream's. Pageable memory may be waited for. */
    int (*copy)(int32_t device, void *to, const void *from, size_t bytes, mdist_gpu_stream *stream);
    int (*fill)(int32_t device, void *to, int32_t byte, size_t bytes, mdist_gpu_stream *stream);
    /* Many copies at once, on one GPU (or between ones that reach each other); stretches do not overlap. Few launches.
     */
    int (*copy_many)(int32_t device, const mdist_gpu_stretch *stretches, size_t count, mdist_gpu_stream *stream);

    /* The kernels. Results as in lib/reduce/reduce.h and arithmetic.h. */
    /* Many reductions, in few launches; none depends on another of the call. */
    int (*reduce)(int32_t device, const mdist_gpu_reduction *reductions, size_t count, mdist_gpu_stream *stream);
    /* to[i] += from[i] (assign 2) or to[i] -= from[i] (assign 3): the numbers of mdist_assign_t. */
    int (*assign)(int32_t device, int32_t dtype, int32_t assign, void *to, const void *from, uint64_t elements,
                  mdist_gpu_stream *stream);
    /* to[i] /= divisor; integers are cut off towards zero. */
    int (*divide)(int32_t device, int32_t dtype, void *to, uint64_t divisor, uint64_t elements,
                  mdist_gpu_stream *stream);
    /* to[i] *= factor, floating-point; 16-bit ones in float32, with one rounding each. */
    int (*scale)(int32_t device, int32_t dtype, void *to, double factor, uint64_t elements, mdist_gpu_stream *stream);
    /* The sum of squares of floating-point elements into one double on the GPU: bits depend on `elements` alone. */
    int (*squares)(int32_t device, int32_t dtype, const void *from, uint64_t elements, double *sum,
                   mdist_gpu_stream *stream);
    /* Copies with a cast between floating-point types, times a factor: float32 gradients to bfloat16 and back. Computed in
     * float64 if one of the two is, else in float32, then rounded once; NaNs are canonical. */
    int (*cast)(int32_t device, int32_t to_dtype, void *to, int32_t from_dtype, const void *from, double factor,
                uint64_t elements, mdist_gpu_stream *stream);
    /* Keeps a stream busy for about so long; for tests. */
    int (*spin)(int32_t device, uint64_t microseconds, mdist_gpu_stream *stream);

    /* Work on a stream recorded once and launched many times. */
    int (*capture_begin)(int32_t device, mdist_gpu_stream *stream);
    int (*capture_end)(int32_t device, mdist_gpu_stream *stream, void **graph);
    int (*graph_launch)(int32_t device, void *graph, mdist_gpu_stream *stream);
    int (*graph_destroy)(void *graph);
} mdist_gpu_api;

#define MDIST_GPU_ID_BYTES 128

/* NCCL, loaded when it is first asked for. Its numbers are its own: `kind` and `text` here are for them. */
typedef struct mdist_nccl_api {
    uint32_t kind_size; /* sizeof(mdist_nccl_api) */
    int32_t version;    /* as NCCL counts: 22809 */

    int (*kind)(int error);
    const char *(*text)(int error);
    /* What NCCL says of the last failure in this thread's calls; "" if nothing. Static until the next. */
    const char *(*last_error)(mdist_gpu_comm *comm);

    /* Opens a socket and starts a thread: once per job, by one worker, when all are known. */
    int (*unique_id)(unsigned char id[MDIST_GPU_ID_BYTES]);
    /* None of these waits: NOT_READY until async_error says otherwise. */
    int (*init)(mdist_gpu_comm **comm, int32_t device, int32_t ranks, int32_t rank,
                const unsigned char id[MDIST_GPU_ID_BYTES]);
    int (*async_error)(mdist_gpu_comm *comm, int *error);
    int (*finalize)(mdist_gpu_comm *comm);
    int (*destroy)(mdist_gpu_comm *comm); /* after finalize is over */
    int (*abort)(mdist_gpu_comm *comm);   /* instead of both; may wait for kernels to notice */

    /* Several calls of one thread as one operation; of several communicators or of one. */
    int (*group_start)(void);
    int (*group_end)(void);

    /* dtype and op: numbers of the public enums, but no MEAN. Counts in elements. */
    int (*all_reduce)(mdist_gpu_comm *comm, const void *from, void *to, uint64_t elements, int32_t dtype, int32_t op,
                      mdist_gpu_stream *stream);
    int (*reduce)(mdist_gpu_comm *comm, const void *from, void *to, uint64_t elements, int32_t dtype, int32_t op,
                  int32_t root, mdist_gpu_stream *stream);
    int (*broadcast)(mdist_gpu_comm *comm, const void *from, void *to, uint64_t elements, int32_t dtype, int32_t root,
                     mdist_gpu_stream *stream);
    int (*all_gather)(mdist_gpu_comm *comm, const void *from, void *to, uint64_t elements_each, int32_t dtype,
                      mdist_gpu_stream *stream);
    int (*reduce_scatter)(mdist_gpu_comm *comm, const void *from, void *to, uint64_t elements_each, int32_t dtype,
                          int32_t op, mdist_gpu_stream *stream);
    int (*send)(mdist_gpu_comm *comm, const void *from, uint64_t elements, int32_t dtype, int32_t peer,
                mdist_gpu_stream *stream);
    int (*receive)(mdist_gpu_comm *comm, void *to, uint64_t elements, int32_t dtype, int32_t peer,
                   mdist_gpu_stream *stream);
} mdist_nccl_api;

typedef struct mdist_gpu_module {
    uint32_t abi;                /* MDIST_GPU_MODULE_ABI */
    uint32_t size;               /* sizeof(mdist_gpu_module) */
    const char *library_version; /* of the library it was built with: "0.1.0" */
    const char *name;            /* "CUDA 13.0", "fake" */
    const mdist_gpu_api *gpu;
    /* The table of NCCL, or NULL and why not (static text): not found, too old. Loads it the first time. */
    const mdist_nccl_api *(*nccl)(const char **reason);
} mdist_gpu_module;

/* Touches nothing of CUDA: it only says where the functions are. */
typedef const mdist_gpu_module *(*mdist_gpu_module_fn)(void);

#ifdef __cplusplus
}
#endif

#endif
