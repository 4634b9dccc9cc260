/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Gradients: reduced in buckets while the step still computes, clipped, checked, and added up over rounds.
 *
 * All gradients of a model lie in memory of the library, one piece per replica, where the step writes them
 * (mdist_gradients_tensor). As soon as one is complete the step says so (mdist_gradients_ready), in whatever order they
 * come, which may differ from replica to replica. At the end it waits (mdist_gradients_wait), and then finds the
 * reduced gradients where it wrote its own, the same bits on every replica. That is one round:
 *
 *     for each layer, last first: compute its gradient, mdist_gradients_ready
 *     mdist_gradients_wait(replica, gradients, &norm, &finite, NULL)
 *     if (finite) change the variables
 *
 * Neighbours share a bucket. A bucket is an all-reduce that is started (see work.h) when all in it are ready and those
 * before it have been started; they go by number, last first, on all replicas alike. So number gradients in the order
 * of the forward pass, and they overlap with the backward pass as well as they can. Beside a replica's other
 * collectives a bucket counts as one that was called where mdist_gradients_ready completed it; as that may be anywhere,
 * let others come before the first of a round or after its wait.
 *
 * mdist_gradients_accumulate makes a round one that adds to the next instead of being reduced. Rounds that are added up
 * may lie in one step or in several, and be as many as you like. What a replica has made ready, and how many rounds it
 * has added up, is its own business until it reduces; then all must agree, or get MDIST_ERR_MISMATCH. A step that ends
 * within a round fails its run: MDIST_ERR_FAILED_PRECONDITION, reason `work_under_way`. A run that fails takes with it
 * what was added up before.
 *
 * The norm is the square root of the sum of all squares, in double, over all gradients once they are reduced, in an
 * order that depends on their number and shapes alone: the same bits on all replicas, in every layout, with any size of
 * buckets. A NaN or infinity anywhere makes it NaN or infinite, and nothing is clipped then.
 */
#ifndef MDIST_GRADIENTS_H
#define MDIST_GRADIENTS_H

#include <mdist/collective.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mdist_gradients mdist_gradients_t;

typedef enum mdist_gradients_flags {
    MDIST_GRADIENTS_ZERO_MISSING    = 1, /* those that are not ready by the wait count as zeros, instead of an error */
    MDIST_GRADIENTS_ZERO_NONFINITE  = 2, /* all become zeros where the norm is not finite, instead of staying so */
    MDIST_GRADIENTS_NO_NORM         = 4, /* saves reading them once more, each replica its share of it */
    MDIST_GRADIENTS_FLAGS_PIN_INT32 = -0x7fffffff - 1
} mdist_gradients_flags_t;

/** Options, the same on all workers. NULL, or all zero but struct_size: SUM, buckets of 4 MiB, not clipped. */
typedef struct mdist_gradients_options {
    uint32_t struct_size; /* sizeof(mdist_gradients_options_t) as you were compiled */
    uint32_t flags;       /* of mdist_gradients_flags_t */
    int32_t op;           /* MDIST_SUM, which goes with mdist_average_loss, or MDIST_MEAN, over replicas and rounds;
                             0: SUM */
    int32_t reserved;     /* must be 0 */
    uint64_t bucket_bytes; /* a bucket takes gradients until it has so many; 0: 4 MiB. More where there would be more
                              than 256 buckets. */
    double clip_norm;      /* a larger norm is brought down to it, all gradients multiplied alike; 0: none is so */
} mdist_gradients_options_t;

/**
 * Room for the gradients of a model on each local replica: zeros, and shared between workers as mdist_alloc's memory
 * is. It keeps the strategy.
 * @param like   shape and floating-point type of each; data is not read. If it is a variable's memory
 *               (mdist_variable_tensor), messages name the gradient after the variable.
 * @param count  at least 1
 * @thread any   @blocks no   @collective no, but the same on all workers   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_gradients_create(mdist_strategy_t *strategy, const mdist_tensor_t *like, size_t count,
                                                mdist_gradients_t **out, const mdist_gradients_options_t *options,
                                                mdist_error_t **error);

/**
 * Where a gradient lies on a local replica, in memory of its device: until mdist_gradients_destroy, always there. Yours
 * to write until it is ready, and again after the wait, which does not clear it.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_gradients_tensor(const mdist_gradients_t *gradients, uint32_t local_replica,
                                                size_t index, mdist_tensor_t *out, mdist_error_t **error);

/**
 * The round that begins is one that adds to the next: its gradients are kept, with those of the rounds before, until a
 * round without this call reduces the sum of them all. Before the first is ready. Each is added in its own type.
 * @thread replica   @blocks no   @collective no, but the same on all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_gradients_accumulate(mdist_replica_t *replica, mdist_gradients_t *gradients,
                                                    mdist_error_t **error);

/**
 * This replica's gradient is complete: from now until the wait it belongs to the library. Twice in a round is
 * MDIST_ERR_FAILED_PRECONDITION, reason `ready_twice`. Moves on what is under way, as mdist_work_test does.
 * @thread replica   @blocks no, but it takes part in the computing   @collective all replicas, in any order
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_gradients_ready(mdist_replica_t *replica, mdist_gradients_t *gradients, size_t index,
                                               mdist_error_t **error);

/**
 * Ends the round: when it returns, all gradients are reduced and clipped. A gradient that is not ready is
 * MDIST_ERR_FAILED_PRECONDITION, reason `gradients_missing`, and the message names it (but see
 * MDIST_GRADIENTS_ZERO_MISSING). A round that adds to the next returns at once, with norm 0 and finite 1.
 * @param norm    receives what it was before clipping, the same on all replicas; 0 with MDIST_GRADIENTS_NO_NORM. May be
 *                NULL.
 * @param finite  receives 1, or 0 where some element is NaN or infinite, or so large that the norm is: then leave this
 *                step out; all replicas know it alike. 1 with MDIST_GRADIENTS_NO_NORM. May be NULL.
 * @thread replica   @blocks until every replica has called it, within the run's timeout   @collective all replicas
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_gradients_wait(mdist_replica_t *replica, mdist_gradients_t *gradients, double *norm,
                                              int32_t *finite, mdist_error_t **error);

/**
 * Frees it. Where a step is within a round of it, the memory stays until that step ends. NULL is fine.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_gradients_destroy(mdist_gradients_t *gradients);

#ifdef __cplusplus
}
#endif

#endif
