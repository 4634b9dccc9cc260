/* SPDX-License-Identifier: Apache-2.0 */
/**
 * GPUs: which there are, and what a step does on them.
 *
 * A replica on `gpu:i` has a stream, on which everything that its step asks of the library is done in order:
 * reductions, copies, assignments. Put your kernels and cuBLAS calls on that stream (or give the library yours) and
 * nothing needs to be waited for within a step. Functions return when their work is on the stream, not when it is
 * done. The library waits for the streams where a step leaves replica context: at its end, and for the function of a
 * merge. So what mdist_run gives back is there, and a kernel that failed fails the run. With the key `gpu.blocking`
 * every function waits for its own work instead, which finds out who is to blame.
 *
 * Outside of steps the streams have come to rest, and functions are done when they return. What the library calls there
 * (a merge, an update, a fetch) has no stream of the library's: what it gives a GPU must be done when it returns. What
 * is reduced, gathered or read without a destination is given in memory of the host, on any devices.
 *
 * Buffers and tensors of a step's collectives lie on the host or on the replica's GPU, alike on all replicas; what they
 * are is found out from their addresses. No header of CUDA is needed: streams are pointers.
 */
#ifndef MDIST_GPU_H
#define MDIST_GPU_H

#include <mdist/tensor.h>
#include <mdist/strategy.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The number of GPUs that this process can use, and in words what they are, or why there are none: no module of the
 * library for them, no driver, no card. Having none is no error. The first call loads the module and asks CUDA: not
 * before a fork() whose child uses GPUs, as CUDA does not survive it.
 * @param text      may be NULL; a line for each GPU and one about NCCL, which is loaded to be asked; or why there are
 *                  no GPUs. Cut off at @p capacity bytes, always terminated
 * @param needed    may be NULL; the bytes that all of the text takes, with its end
 * @thread any   @blocks until CUDA has answered, once   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_gpu_count(uint32_t *count, char *text, size_t capacity, size_t *needed,
                                         mdist_error_t **error);

/**
 * The stream of a replica (a cudaStream_t), for kernels of its step; NULL of a replica on the CPU. It stays the same
 * for the life of the strategy, unless mdist_replica_use_stream says otherwise.
 * @thread the replica's, in its step   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_stream(mdist_replica_t *replica, void **stream, mdist_error_t **error);

/**
 * Has the library work on a stream of yours (a cudaStream_t of the replica's GPU) until the step ends, behind what it
 * has been given so far. NULL: on its own again, behind what is on yours. Destroy it only after the step.
 * @thread the replica's, in its step   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_use_stream(mdist_replica_t *replica, void *stream, mdist_error_t **error);

/**
 * Copies between tensors of one type and shape, wherever they lie; done on return. It stands in no order with what a
 * step has put on a stream: in a step take mdist_replica_copy.
 * @param to  its memory is written; ranges are the same or do not overlap
 * @thread any   @blocks for the copy   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_tensor_copy(const mdist_tensor_t *to, const mdist_tensor_t *from, mdist_error_t **error);

/**
 * The same in a step, behind what the replica's stream has been given. Done on return if one of the two is of the host,
 * else in its turn.
 * @thread the replica's, in its step   @blocks for a copy from or to the host   @collective no   @calls-back never
 * @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_copy(mdist_replica_t *replica, const mdist_tensor_t *to,
                                            const mdist_tensor_t *from, mdist_error_t **error);

/**
 * Work of a step that costs less to start the second time: what @p body puts on the replica's stream, as a CUDA graph.
 * The first call with a key calls @p body, which is recorded, and launches the graph; later ones launch it and do not
 * call @p body. Kernels, copies and collectives keep the addresses and numbers that they were recorded with: change
 * what lies there. Memory that the body gets on the GPU, or gives back, stays with the graph. That goes when it is
 * forgotten, or with the strategy.
 *
 * Recorded are replicas that are alone in their process, on a GPU, if there are no other workers or NCCL leads to them,
 * and not with `gpu.blocking`. Everywhere else, so on the CPU, @p body is called each time. All workers make the same
 * calls with the same keys in the same order.
 *
 * Nothing in the body has happened before the graph is launched. So whatever would wait there is
 * MDIST_ERR_WRONG_CONTEXT, reason `recording`: copies from and to the host, merges, another stream, another graph.
 * Then, and if the body fails, nothing is recorded or done, and the run fails.
 * @param key   any number; one graph for each
 * @param body  puts work on the stream; what it starts, it waits for. Returns 0, or any other number to fail, which
 *              mdist_error_native then gives. NULL: forgets the graph
 * @thread the replica's, in its step   @blocks no, but with other workers until they have come   @collective yes
 * @calls-back body, on this thread   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_graph(mdist_replica_t *replica, uint64_t key, mdist_step_fn body,
                                             void *user_data, mdist_error_t **error);

/**
 * Page-locked memory of the host, filled with zeros, which GPUs copy from and to at full speed; ordinary memory where
 * there are none. Yours until mdist_free.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_alloc_pinned(size_t bytes, void **out, mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
