/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Gradients: reduces gradients in buckets while the step still computes; clips, checks and accumulates them.
 *
 * The library holds all gradients of a model, one piece of memory per replica. One round has three parts:
 * - The step writes its gradients there (mdist_gradients_tensor).
 * - As soon as one is complete, the step says so (mdist_gradients_ready). Any order works, and it may differ from
 *   replica to replica.
 * - At the end the step waits (mdist_gradients_wait), or tests until it is done (mdist_gradients_test). It then finds
 *   the reduced gradients where it wrote its own, with the same bits on every replica.
 *
 * Example, in a step, with the `gradients` of a model of three layers:
 *
 *     double norm = 0;
 *     int32_t finite = 0;
 *     for (size_t layer = 3; layer-- > 0;) {
 *         compute_gradient(layer); // yours; it writes to the memory that mdist_gradients_tensor describes
 *         mdist_gradients_ready(replica, gradients, layer, NULL);
 *     }
 *     mdist_gradients_wait(replica, gradients, &norm, &finite, NULL);
 *     if (finite) change_variables(); // yours
 *
 * Buckets
 * - Neighbouring gradients share a bucket. The library reduces each bucket with one all-reduce (see work.h).
 * - A bucket starts when all its gradients are ready and the buckets before it have started. They start by number,
 *   last first, the same on all replicas.
 * - So number gradients in the order of the forward pass. Then the all-reduces overlap best with the backward pass.
 * - Among a replica's other collectives, a bucket counts as called at the mdist_gradients_ready that completed it. That
 *   may be anywhere, so call other collectives before the first ready of a round or after its end.
 *
 * Accumulation
 * - mdist_gradients_accumulate marks a round: its gradients are not reduced but added to the next round.
 * - Such rounds may lie in one step or in several. Their number has no limit.
 * - Until it reduces, each replica decides for itself what is ready and how many rounds it adds up. Then all replicas
 *   must agree, or get MDIST_ERR_MISMATCH.
 * - A step that ends within a round fails its run: MDIST_ERR_FAILED_PRECONDITION, reason `work_under_way`.
 * - A failed run discards what was added up before.
 *
 * Gradients in your own memory
 * - If a framework already has arrays for the gradients, lend them: mdist_gradients_create_lent. They are reduced where
 *   they lie. Everything else is as above, with the same bits. The memory stays yours.
 * - Describe one flat array as one gradient, or as one for each parameter. The second lets reductions begin before the
 *   backward pass ends.
 * - Gradients below 16 KiB that lie end to end, in the order of their numbers, travel together without a copy. Others
 *   of that size are packed into memory of the library, and copied back.
 * - If the framework moves its arrays, lend them again (mdist_gradients_lend), or say in each round where each lies
 *   (mdist_gradients_ready_at).
 *
 *     const mdist_tensor_t flat = {array, MDIST_FLOAT32, 1, MDIST_DEVICE_CPU, 0, {elements}}; // of one local replica
 *     mdist_gradients_create_lent(strategy, &flat, 1, &gradients, NULL, NULL);
 *     // then in each step, when the array has the gradients:
 *     mdist_gradients_ready(replica, gradients, 0, NULL);
 *     mdist_gradients_wait(replica, gradients, NULL, NULL, NULL); // now it has the sums over all replicas
 *
 * The norm is the square root of the sum of all squares, in double, over all reduced gradients. The order of the sum
 * depends only on the number and shapes of the gradients. So the norm has the same bits on all replicas, in every
 * layout, with any bucket size. A NaN or infinity anywhere makes it NaN or infinite, and then nothing is clipped.
 */
#ifndef MDIST_GRADIENTS_H
#define MDIST_GRADIENTS_H

#include <mdist/collective.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mdist_gradients mdist_gradients_t;

typedef enum mdist_gradients_flags {
    MDIST_GRADIENTS_ZERO_MISSING    = 1, /* gradients that are not ready at the end count as zeros, not as an error */
    MDIST_GRADIENTS_ZERO_NONFINITE  = 2, /* if the norm is not finite, all gradients become zeros */
    MDIST_GRADIENTS_NO_NORM         = 4, /* computes no norm; saves each replica from reading its share once more */
    MDIST_GRADIENTS_FLAGS_PIN_INT32 = -0x7fffffff - 1
} mdist_gradients_flags_t;

/** Options, the same on all workers. NULL, or all fields but struct_size zero: SUM, buckets of 4 MiB, no clipping. */
typedef struct mdist_gradients_options {
    uint32_t struct_size; /* sizeof(mdist_gradients_options_t) as you were compiled */
    uint32_t flags;       /* of mdist_gradients_flags_t */
    int32_t op;           /* over replicas and rounds: MDIST_SUM (use it with mdist_average_loss) or MDIST_MEAN;
                             0: SUM */
    int32_t reserved;     /* must be 0 */
    uint64_t bucket_bytes; /* a bucket takes gradients until it has this many bytes; 0: 4 MiB. The library takes more
                              if there would be over 256 buckets. */
    double clip_norm;      /* clips by global norm: multiplies all gradients alike so that the norm is at most this;
                              0 disables clipping */
} mdist_gradients_options_t;

/**
 * Allocates memory for the gradients of a model on each local replica, filled with zeros.
 *
 * Workers on one host share it as they share mdist_alloc's memory. It keeps the strategy.
 * @param like   shape and floating-point type of each gradient; data is not read. If it is a variable's memory
 *               (mdist_variable_tensor), messages name the gradient after the variable.
 * @param count  at least 1
 * @thread any   @blocks no   @collective no, but the same on all workers   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_gradients_create(mdist_strategy_t *strategy, const mdist_tensor_t *like, size_t count,
                                                mdist_gradients_t **out, const mdist_gradients_options_t *options,
                                                mdist_error_t **error);

/**
 * Makes gradients that lie in the program's memory.
 *
 * The library uses the memory of a replica only within its rounds: from the first mdist_gradients_ready to the end of
 * the round, or of a step that fails. It does not write before the gradient is ready. It keeps the strategy.
 * @param tensors  gradient g of local replica r at [r * count + g]: where it lies, on the replica's device. Shapes and
 *                 floating-point types are the same on all replicas. With data NULL it is lent later. If arrays
 *                 overlap, the call is MDIST_ERR_INVALID_ARGUMENT.
 * @param count    gradients of one replica, at least 1
 * @thread any   @blocks no   @collective no, but the same on all workers   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_gradients_create_lent(mdist_strategy_t *strategy, const mdist_tensor_t *tensors,
                                                     size_t count, mdist_gradients_t **out,
                                                     const mdist_gradients_options_t *options, mdist_error_t **error);

/**
 * Says where all gradients of a local replica lie from its next round on.
 *
 * The library forgets the earlier addresses. Within a round of that replica, the call is MDIST_ERR_FAILED_PRECONDITION,
 * reason `round_has_begun`.
 * @param gradients  of mdist_gradients_create_lent
 * @param tensors    as many as it has gradients, of the same shapes and types; data NULL: not lent for now
 * @thread any, one at a time per replica   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_gradients_lend(mdist_gradients_t *gradients, uint32_t local_replica,
                                              const mdist_tensor_t *tensors, size_t count, mdist_error_t **error);

/**
 * Describes a gradient of a local replica, in memory of its device.
 *
 * The address stays the same until mdist_gradients_destroy, or mdist_regroup in an elastic job. You may write the
 * gradient until it is ready, and again after the end of the round, which does not clear it.
 *
 * If the program lends the memory, the address is where the gradient lay in the last round, or where you have lent it
 * since. It is NULL if there is none. A missing gradient without an address (MDIST_GRADIENTS_ZERO_MISSING) gets memory
 * of the library for its sum.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_gradients_tensor(const mdist_gradients_t *gradients, uint32_t local_replica,
                                                size_t index, mdist_tensor_t *out, mdist_error_t **error);

/**
 * Marks the round that begins now: it adds to the next round instead of being reduced.
 *
 * Its gradients are kept, together with those of earlier such rounds. A round without this call reduces the sum of them
 * all. Call it before the first gradient of the round is ready. Each gradient is added in its own type.
 * @thread replica   @blocks no   @collective no, but the same on all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_gradients_accumulate(mdist_replica_t *replica, mdist_gradients_t *gradients,
                                                    mdist_error_t **error);

/**
 * Says that this replica's gradient is complete; from now until the end of the round it belongs to the library.
 *
 * A second call in one round is MDIST_ERR_FAILED_PRECONDITION, reason `ready_twice`, and fails the round: the step must
 * return. The call also moves on the operations under way, as mdist_work_test does.
 * @thread replica   @blocks no, but it takes part in the computing   @collective all replicas, in any order
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_gradients_ready(mdist_replica_t *replica, mdist_gradients_t *gradients, size_t index,
                                               mdist_error_t **error);

/**
 * Says that this replica's gradient is complete, and where it lies in this round.
 *
 * Use it with frameworks that may have moved the gradient, such as PyTorch after `zero_grad(set_to_none=True)`.
 * - Lent gradients: the library uses this address for this round. The next round begins with the addresses of
 *   mdist_gradients_create_lent or mdist_gradients_lend. A program that passes all addresses here creates the gradients
 *   with data NULL. Then the library never uses an old address.
 * - Other gradients: any address but that of mdist_gradients_tensor is MDIST_ERR_INVALID_ARGUMENT. The message names
 *   the gradient.
 * - A gradient that is ready without an address is MDIST_ERR_FAILED_PRECONDITION, reason `not_lent`.
 * @param data  memory of the replica's device, of the gradient's shape and type
 * @thread replica   @blocks no, but it takes part in the computing   @collective all replicas, in any order
 * @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_gradients_ready_at(mdist_replica_t *replica, mdist_gradients_t *gradients, size_t index,
                                                  void *data, mdist_error_t **error);

/**
 * Ends the round: when it returns, all gradients are reduced and clipped.
 *
 * A gradient that is not ready is MDIST_ERR_FAILED_PRECONDITION, reason `gradients_missing`, and the message names it.
 * (MDIST_GRADIENTS_ZERO_MISSING changes that.) A round that adds to the next returns at once, with norm 0 and finite 1.
 * @param norm    receives the norm before clipping, the same on all replicas; 0 with MDIST_GRADIENTS_NO_NORM. May be
 *                NULL.
 * @param finite  receives 0 if an element is NaN or infinite, or so large that the norm is, else 1. If 0, skip this
 *                step's update; all replicas get the same number. 1 with MDIST_GRADIENTS_NO_NORM. May be NULL.
 * @thread replica   @blocks until every replica has called it, within the run's timeout   @collective all replicas
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_gradients_wait(mdist_replica_t *replica, mdist_gradients_t *gradients, double *norm,
                                              int32_t *finite, mdist_error_t **error);

/**
 * Ends the round as mdist_gradients_wait does, but without waiting for other replicas: call it until it says done.
 *
 * - The first call is what the wait is: it fails, or zeros gradients, if some are not ready. Each call may do a part of
 *   the computing. With a norm, a replica on a GPU waits until its GPU has reduced.
 * - The round ends when every replica goes on calling this, or waits. It fails as a wait would, also when the timeout
 *   has passed.
 * - Until done, everything else of this replica that communicates is MDIST_ERR_FAILED_PRECONDITION, reason
 *   `round_ends`: collectives, merges, messages and other gradients. mdist_gradients_wait may end what this began.
 * - A call after done begins the next round.
 * @param done    receives 1 if the round has ended. If 0, @p norm and @p finite are not touched
 * @param norm    as of mdist_gradients_wait, and so is @p finite
 * @thread replica   @blocks no, but for GPUs as said   @collective all replicas   @calls-back never   @since 0.3
 */
MDIST_API mdist_status_t mdist_gradients_test(mdist_replica_t *replica, mdist_gradients_t *gradients, int32_t *done,
                                              double *norm, int32_t *finite, mdist_error_t **error);

/**
 * Frees gradients. NULL is ignored.
 *
 * If a step is within a round of them, the memory stays until that step ends.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_gradients_destroy(mdist_gradients_t *gradients);

#ifdef __cplusplus
}
#endif

#endif
