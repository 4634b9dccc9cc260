/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Loss: a replica's share of the loss over the global batch.
 *
 * Example, in a step:
 *
 *     float losses[2] = {1, 3}; // of the two examples that this replica has
 *     const mdist_tensor_t per_example = {losses, MDIST_FLOAT32, 1, MDIST_DEVICE_CPU, 0, {2}};
 *     uint64_t global_batch = 0;
 *     double loss = 0;
 *     mdist_average_loss(replica, &per_example, NULL, &global_batch, &loss, NULL, NULL);
 *     assert(global_batch == 4 && loss == 1); // (1 + 3) / 4; the sum over both replicas is the mean loss, 2
 *
 * Replicas sum their gradients, so each must divide its loss by the number of examples of all replicas together.
 * Dividing by the replica's own number and taking the mean over replicas is wrong. If replicas have different numbers
 * of examples, an example on a replica with few of them would count for more. These functions divide by the true
 * numbers. So a sum over replicas (MDIST_SUM, of losses or gradients) is the mean over all examples.
 */
#ifndef MDIST_LOSS_H
#define MDIST_LOSS_H

#include <mdist/strategy.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Computes this replica's share of the mean loss over all examples of all replicas.
 *
 * That is the sum of @p per_example, each times its weight if there are weights, divided by the number of examples of
 * all replicas.
 *
 * The gradient with respect to an element is its weight divided by @p global_batch. The sum is taken in double. Where
 * the examples are counted, call it before the first mdist_gradients_ready of a round, as any other collective.
 * (TensorFlow: compute_average_loss. Its default divides by this replica's examples times the number of replicas.)
 * @param per_example   [k, ...] for k examples, which may be 0; a floating-point type
 * @param weights       NULL, or of the same type and shape, or [k]
 * @param global_batch  the number of examples of all replicas. If 0, the call counts them and writes the number here.
 *                      Else it takes the number and asks no other replica. It is 0 on all replicas or on none.
 *                      So, not to wait here, start a sum of the replicas' k (mdist_collective_start), and pass the sum.
 * @param loss          receives 0 if no replica has an example, so that a step without data changes nothing
 * @thread replica   @blocks as mdist_all_reduce where the examples are counted   @collective all replicas then
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_average_loss(mdist_replica_t *replica, const mdist_tensor_t *per_example,
                                            const mdist_tensor_t *weights, uint64_t *global_batch, double *loss,
                                            const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Sums the elements of @p terms and divides by the number of replicas.
 *
 * Use it for a loss that depends on the variables alone and is the same on every replica. The replicas' results then
 * add up to that loss. (TensorFlow: scale_regularization_loss.)
 * @param terms  a floating-point type, any shape
 * @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_scale_regularization(mdist_replica_t *replica, const mdist_tensor_t *terms, double *loss,
                                                    mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
