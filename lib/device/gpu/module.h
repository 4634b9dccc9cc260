/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU module's interface: everything that the library uses of CUDA and NCCL, as two tables of C functions.
 *
 * libmdist-cuda.so fills the tables with CUDA's runtime, its own kernels and NCCL. Tests load a fake module instead,
 * whose devices are the CPU. So the library itself knows no type of CUDA, and this header needs no toolkit.
 * Conventions:
 *
 * - A result is 0 or an error number; `kind` and `text` say what the number means.
 * - `device` is a physical GPU, with CUDA's number. No function changes the caller's current device.
 * - Work that is put on a stream happens when the stream comes to it, not when the function returns.
 * - Any thread may call; but only one thread at a time may call the functions of one communicator.
 * - No function blocks for long unless its comment says so. None throws, prints, or ends the process.
 */
#ifndef MDIST_DEVICE_GPU_MODULE_H
#define MDIST_DEVICE_GPU_MODULE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes with every change of this interface. A module with another number is refused. */
#define MDIST_GPU_MODULE_ABI 4
/* The only symbol that a module exports: a mdist_gpu_module_fn. */
#define MDIST_GPU_MODULE_SYMBOL "mdist_gpu_module"

typedef struct mdist_gpu_stream mdist_gpu_stream; /* a cudaStream_t */
typedef struct mdist_gpu_event mdist_gpu_event;   /* a cudaEvent_t */
typedef struct mdist_gpu_comm mdist_gpu_comm;     /* an ncclComm_t */

enum mdist_gpu_error_kind {
    MDIST_GPU_OK = 0,
    MDIST_GPU_NOT_READY,     /* from a query: still under way; from NCCL: in progress */
    MDIST_GPU_INVALID,       /* a bad argument; nothing has happened */
    MDIST_GPU_OUT_OF_MEMORY, /* nothing has happened */
    MDIST_GPU_NO_DEVICE,     /* no driver, no GPU, or one that does not work */
    MDIST_GPU_FATAL,         /* the process cannot use its GPUs any more (an illegal address, an ECC error) */
    MDIST_GPU_FAILED         /* anything else */
};

enum mdist_gpu_memory_kind {
    MDIST_GPU_MEMORY_HOST = 0, /* pageable, or unknown to CUDA */
    MDIST_GPU_MEMORY_PINNED,   /* page-locked host memory */
    MDIST_GPU_MEMORY_DEVICE,
    MDIST_GPU_MEMORY_MANAGED
};

typedef struct mdist_gpu_info {
    char name[256];
    char bus_id[32]; /* "0000:3B:00.0" */
    uint64_t memory_bytes;
    int32_t compute_major, compute_minor;
    int32_t multiprocessors;
    int32_t driver_version, runtime_version; /* CUDA's numbering: 13000 */
} mdist_gpu_info;

/* An op besides the public ones: the first of two sources minus the second. */
#define MDIST_GPU_DIFFERENCE 100

/*
 * One reduction, element by element along the library's canonical tree. See lib/reduce/reduce.h, also for the dtypes
 * and ops, which are numbers of the public enums. The bits are the same as on the CPU for every dtype and op. A
 * destination may be one of the sources.
 */
typedef struct mdist_gpu_reduction {
    int32_t dtype;
    int32_t op;
    uint64_t divisor;           /* MEAN: the number of replicas of the whole job */
    uint32_t source_count;      /* 1 or more */
    uint32_t destination_count; /* 0 or more */
    const void *const *sources; /* host arrays, read before the function returns; their addresses are on the GPU, */
    void *const *destinations;  /* or on another GPU that it can reach */
    uint64_t elements;
} mdist_gpu_reduction;

/* One of many copies. */
typedef struct mdist_gpu_stretch {
    void *to;
    const void *from;
    uint64_t bytes;
} mdist_gpu_stretch;

#define MDIST_GPU_SQUARES_ROOM ((size_t)512 << 10)

/* One sum of squares of floating-point elements. `sum` is on the GPU. */
typedef struct mdist_gpu_squares {
    int32_t dtype;
    const void *from;
    uint64_t elements;
    double *sum;
} mdist_gpu_squares;

typedef struct mdist_gpu_api {
    uint32_t kind_size; /* sizeof(mdist_gpu_api): checked in addition to the ABI number */

    int (*kind)(int error);         /* mdist_gpu_error_kind */
    const char *(*text)(int error); /* static: "cudaErrorIllegalAddress: an illegal memory access was encountered" */

    /* Writes the number of GPUs, or 0 on failure. This is the first call of all: CUDA has not been used before. */
    int (*device_count)(int32_t *count);
    int (*device_info)(int32_t device, mdist_gpu_info *info);
    int (*memory_info)(int32_t device, uint64_t *free_bytes, uint64_t *total_bytes);
    /* Whether `device` can access the memory of `other` in place. The first call enables it. */
    int (*can_reach)(int32_t device, int32_t other, int32_t *can);

    int (*allocate)(int32_t device, size_t bytes, void **memory); /* 256-byte aligned; may wait for the GPU */
    int (*release)(int32_t device, void *memory);                 /* waits until nothing uses it any more */
    /* Address space on a GPU, which gets memory as needed. Sizes must be multiples of the granularity. */
    int (*reservation_granularity)(int32_t device, size_t *bytes);
    int (*reserve)(int32_t device, size_t bytes, void **base);
    int (*commit)(int32_t device, void *begin, size_t bytes); /* content undefined */
    int (*unreserve)(int32_t device, void *base, size_t bytes, size_t committed);
    int (*allocate_pinned)(size_t bytes, void **memory);
    int (*release_pinned)(void *memory);
    /* Writes the kind of an address (a mdist_gpu_memory_kind), and for GPU memory its device. Device -1 means whichever
     * GPU the address is passed to; only a fake whose memory is open writes that. */
    int (*memory_kind)(const void *address, int32_t *kind, int32_t *device);

    /* priority: 0, or -1 to go before others. Streams are independent of the legacy default stream. */
    int (*stream_create)(int32_t device, int32_t priority, mdist_gpu_stream **stream);
    int (*stream_destroy)(int32_t device, mdist_gpu_stream *stream);
    int (*stream_query)(int32_t device, mdist_gpu_stream *stream); /* 0 if all is done, or NOT_READY */
    int (*stream_wait)(int32_t device, mdist_gpu_stream *stream, mdist_gpu_event *event);
    /* timed: event_elapsed() works. An event that was never recorded counts as happened. */
    int (*event_create)(int32_t device, int32_t timed, mdist_gpu_event **event);
    int (*event_destroy)(int32_t device, mdist_gpu_event *event);
    int (*event_record)(int32_t device, mdist_gpu_event *event, mdist_gpu_stream *stream);
    int (*event_query)(int32_t device, mdist_gpu_event *event);
    int (*event_elapsed)(mdist_gpu_event *from, mdist_gpu_event *to, float *milliseconds);

    /* Copies between any two memories, host memory too. `device` is the stream's. May wait for pageable memory. */
    int (*copy)(int32_t device, void *to, const void *from, size_t bytes, mdist_gpu_stream *stream);
    int (*fill)(int32_t device, void *to, int32_t byte, size_t bytes, mdist_gpu_stream *stream);
    /* Makes many copies in few launches, on one GPU, or between GPUs that reach each other. Stretches must not overlap.
     */
    int (*copy_many)(int32_t device, const mdist_gpu_stretch *stretches, size_t count, mdist_gpu_stream *stream);

    /* The kernels. Results are as in lib/reduce/reduce.h and arithmetic.h. */
    /* Does many reductions in few launches. None may depend on another one of the same call. */
    int (*reduce)(int32_t device, const mdist_gpu_reduction *reductions, size_t count, mdist_gpu_stream *stream);
    /* to[i] /= divisor; integers are truncated towards zero. */
    int (*divide)(int32_t device, int32_t dtype, void *to, uint64_t divisor, uint64_t elements,
                  mdist_gpu_stream *stream);
    /* Writes many sums of squares in few launches. The order of each depends only on its `elements`, so the same values
     * always give the same bits. `room`: MDIST_GPU_SQUARES_ROOM bytes on the GPU, for what the launches tell each
     * other; the stream's later work may use them for anything. */
    int (*squares)(int32_t device, const mdist_gpu_squares *items, size_t count, void *room, mdist_gpu_stream *stream);
    /* Copies with a cast between floating-point types, times a factor: float32 gradients to bfloat16 and back. Computes
     * in float64 if one of the types is float64, otherwise in float32; then rounds once. NaNs are canonical. An array
     * that is cast to its own type may be written in place. */
    int (*cast)(int32_t device, int32_t to_dtype, void *to, int32_t from_dtype, const void *from, double factor,
                uint64_t elements, mdist_gpu_stream *stream);
    /* Keeps a stream busy for about that long. For tests. */
    int (*spin)(int32_t device, uint64_t microseconds, mdist_gpu_stream *stream);

    /* Work on a stream that is recorded once and launched many times. */
    int (*capture_begin)(int32_t device, mdist_gpu_stream *stream);
    int (*capture_end)(int32_t device, mdist_gpu_stream *stream, void **graph);
    int (*graph_launch)(int32_t device, void *graph, mdist_gpu_stream *stream);
    int (*graph_destroy)(void *graph);
} mdist_gpu_api;

#define MDIST_GPU_ID_BYTES 128

/* NCCL, loaded when it is first asked for. It has error numbers of its own; use `kind` and `text` of this table. */
typedef struct mdist_nccl_api {
    uint32_t kind_size; /* sizeof(mdist_nccl_api) */
    int32_t version;    /* NCCL's numbering: 22809 */

    int (*kind)(int error);
    const char *(*text)(int error);
    /* NCCL's text about the last failure in this thread's calls; "" if none. Valid until the next one. */
    const char *(*last_error)(mdist_gpu_comm *comm);

    /* Opens a socket and starts a thread. One worker calls it, once per job, when all workers are known. */
    int (*unique_id)(unsigned char id[MDIST_GPU_ID_BYTES]);
    /* None of these waits: the state is NOT_READY until async_error says otherwise. */
    int (*init)(mdist_gpu_comm **comm, int32_t device, int32_t ranks, int32_t rank,
                const unsigned char id[MDIST_GPU_ID_BYTES]);
    int (*async_error)(mdist_gpu_comm *comm, int *error);
    int (*finalize)(mdist_gpu_comm *comm);
    int (*destroy)(mdist_gpu_comm *comm); /* only after finalize is over */
    int (*abort)(mdist_gpu_comm *comm);   /* instead of both; may wait for kernels to notice */

    /* Makes one operation of several calls of one thread, for one or several communicators. */
    int (*group_start)(void);
    int (*group_end)(void);

    /* dtype and op are numbers of the public enums, without MEAN. Counts are in elements. */
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
    const char *library_version; /* of the library it was built with: "0.3.0" */
    const char *name;            /* "CUDA 13.0", "fake" */
    const mdist_gpu_api *gpu;
    /* NCCL's table, loaded at the first call. NULL if there is none; `reason` (static text) says why: not found, too
     * old. */
    const mdist_nccl_api *(*nccl)(const char **reason);
} mdist_gpu_module;

/* Uses nothing of CUDA: it only says where the functions are. */
typedef const mdist_gpu_module *(*mdist_gpu_module_fn)(void);

#ifdef __cplusplus
}
#endif

#endif
