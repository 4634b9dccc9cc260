/* SPDX-License-Identifier: Apache-2.0 */
/**
 * GPUs: which GPUs there are, and how a step works on them.
 *
 * Example, in a step, with a variable `weights`:
 *
 *     mdist_tensor_t copy;
 *     void *stream = NULL;
 *     mdist_replica_stream(replica, &stream, NULL); // a cudaStream_t; NULL for a replica on the CPU
 *     mdist_variable_tensor(weights, mdist_replica_local_index(replica), &copy, NULL);
 *     compute(copy.data, stream);                   // yours: puts a kernel on the stream
 *     const mdist_buffer_t buffer = {copy.data, mdist_tensor_elements(&copy), copy.dtype, 0};
 *     mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL); // behind that kernel; nothing waits
 *
 * In a step
 *
 * - A replica on `gpu:i` has a stream. Everything that its step asks of the library goes onto this stream, in order:
 *   reductions, copies, assignments.
 * - Put your kernels and cuBLAS calls on that stream, or give the library yours (mdist_replica_use_stream). Then
 *   nothing needs to be waited for within a step.
 * - Functions return when their work is on the stream, not when it is done.
 * - The library waits for the streams when a step leaves replica context: at its end, and for the function of a merge.
 *   So the results of mdist_run are complete, and a kernel that fails fails the run.
 * - With the key `gpu.blocking` every function waits for its own work instead. That shows which function fails.
 *
 * Outside of steps
 *
 * - The streams are idle, and functions are done when they return.
 * - A function of yours that the library calls there (a merge, an update, a fetch) has no stream of the library. Work
 *   that it gives to a GPU must be done when it returns.
 * - Results of reductions, gathers and reads without a destination lie in memory of the host, whatever the devices.
 *
 * Buffers and tensors of a step's collectives lie on the host or on the replica's GPU, the same on all replicas. The
 * library finds out which from their addresses. No header of CUDA is needed: streams are pointers.
 */
#ifndef MDIST_GPU_H
#define MDIST_GPU_H

#include <mdist/tensor.h>
#include <mdist/strategy.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Counts the GPUs that this process can use, and describes them in words. If there are none, the text says why: the
 * library has no module for them, there is no driver, or there is no card. Having none is no error.
 *
 * The first call loads the module and asks CUDA. Do not make it before a fork() whose child uses GPUs: CUDA does not
 * survive a fork.
 * @param text    may be NULL; receives one line for each GPU and one about NCCL (the call loads NCCL for this), or the
 *                reason why there are no GPUs. The text is cut off at @p capacity bytes and always ends in NUL
 * @param needed  may be NULL; receives the size of the full text in bytes, NUL included
 * @thread any   @blocks until CUDA has answered, once   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_gpu_count(uint32_t *count, char *text, size_t capacity, size_t *needed,
                                         mdist_error_t **error);

/**
 * Gives the stream of a replica (a cudaStream_t), for kernels of its step. It is NULL for a replica on the CPU.
 *
 * The stream stays the same for the life of the strategy, unless mdist_replica_use_stream sets another.
 * @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_stream(mdist_replica_t *replica, void **stream, mdist_error_t **error);

/**
 * Makes the library work on a stream of yours until the step ends. The stream is a cudaStream_t of the replica's GPU.
 *
 * Work on it begins behind everything that the library's stream has been given so far. NULL returns to the library's
 * own stream, behind what is on yours. Destroy your stream only after the step.
 * @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_use_stream(mdist_replica_t *replica, void *stream, mdist_error_t **error);

/**
 * Copies a tensor to another of the same type and shape, wherever the two lie. The copy is done on return.
 *
 * It is not ordered with work that a step has put on a stream. In a step use mdist_replica_copy.
 * @param to  its memory is written; the two ranges are the same or do not overlap
 * @thread any   @blocks for the copy   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_tensor_copy(const mdist_tensor_t *to, const mdist_tensor_t *from, mdist_error_t **error);

/**
 * Copies a tensor in a step, behind everything that the replica's stream has been given.
 *
 * If one of the two lies on the host, the copy is done on return. Otherwise it is done in its turn on the stream.
 * @thread replica   @blocks for a copy from or to the host   @collective no   @calls-back never
 * @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_copy(mdist_replica_t *replica, const mdist_tensor_t *to,
                                            const mdist_tensor_t *from, mdist_error_t **error);

/**
 * Records a part of a step as a CUDA graph, so that it costs less to start from the second time on.
 *
 * The first call with a key calls @p body, records what it puts on the replica's stream, and launches that as a graph.
 * Later calls with the key launch the graph and do not call @p body.
 *
 * - Kernels, copies and collectives keep the addresses and numbers with which they were recorded. To use other data,
 *   change what lies at these addresses.
 * - Memory of the GPU that the body gets or gives back stays with the graph. It is released when the graph is
 *   forgotten, or with the strategy.
 * - All replicas must make the same calls with the same keys in the same order, and forget the same keys. A collective
 *   that some record and others call as usual is MDIST_ERR_MISMATCH.
 *
 * The part is recorded only if all of these hold. Otherwise, for example on the CPU, every call calls @p body:
 * - The replica is on a GPU. It is the only replica of the job, or NCCL connects all of them: then each has a GPU of
 *   its own.
 * - `gpu.blocking` is not set.
 *
 * Nothing in the body has happened before the graph is launched. Therefore anything that would wait there fails with
 * MDIST_ERR_WRONG_CONTEXT, reason `recording`: copies from and to the host, merges, another stream, another graph. So
 * do barriers, messages, collectives of memory of the host or of a group, and reductions that NCCL does not have. In
 * that case, and if the body fails on some replica, nothing is recorded or done on any, and the run fails.
 * @param key   any number; each replica has one graph for each key
 * @param body  puts work on the stream, and waits for the collectives that it starts. Returns 0, or any other number to
 *              fail, which mdist_error_native then gives. NULL: forgets the graph
 * @thread replica   @blocks until the other replicas have come, if there are any   @collective all replicas
 * @calls-back body, on this thread   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_graph(mdist_replica_t *replica, uint64_t key, mdist_step_fn body,
                                             void *user_data, mdist_error_t **error);

/**
 * Begins a part of a step that is recorded as a CUDA graph; mdist_replica_graph_end ends it. It is mdist_replica_graph
 * without a function to call back, and all that is said there holds here too:
 *
 *     int32_t record = 0;
 *     mdist_replica_graph_begin(replica, 7, &record, NULL);
 *     if (record) put_work_on_the_stream(replica);
 *     mdist_replica_graph_end(replica, NULL); // launches the graph, if the part is recorded
 *
 * A replica has one such part at a time. If its step ends within the part, nothing is recorded or done, and the run
 * fails (`work_under_way`).
 * @param record  receives 1 if the step must put the part's work on the stream: the first time, and each time where
 *                nothing is recorded, for example on the CPU. 0: the graph is there already
 * @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_replica_graph_begin(mdist_replica_t *replica, uint64_t key, int32_t *record,
                                                   mdist_error_t **error);

/**
 * Ends the part that mdist_replica_graph_begin began, and launches its graph. Before that, wait for the collectives
 * that the part has started.
 *
 * If a call in the part was refused (`recording`), this fails in the same way, and nothing is recorded or done.
 * @thread replica   @blocks until the other replicas have come, if there are any   @collective all replicas
 * @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_replica_graph_end(mdist_replica_t *replica, mdist_error_t **error);

/**
 * Allocates page-locked memory of the host, filled with zeros. GPUs copy from and to it at full speed.
 *
 * If there are no GPUs, it is ordinary memory. It is yours until mdist_free.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_alloc_pinned(size_t bytes, void **out, mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
