/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Loss: a replica's part of the loss over the whole batch.
 *
 * Replicas sum up their gradients, so each must have divided its loss by what all of them have together. Dividing by
 * its own number of examples and taking the mean over replicas is wrong as soon as a batch does not come out even: an
 * example on a replica with few of them counts for more than one on a replica with many. These functions divide by the
 * true numbers, so that a sum over replicas (MDIST_SUM, of losses or gradients) is the mean over all examples.
 */
#ifndef MDIST_LOSS_H
#define MDIST_LOSS_H

#include <mdist/strategy.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The sum of this replica's @p per_example, each times its weight if there are weights, divided by the number of
 * examples of all replicas. The gradient of an element is its weight divided by @p global_batch. Summed up in double.
 * (TensorFlow: compute_average_loss, whose default is the number of this replica times that of replicas.)
 * @param per_example   [k, ...], k examples, none is fine; a floating-point type
 * @param weights       NULL, or of the same type and shape, or [k]
 * @param global_batch  the examples of all replicas: if 0, they are counted and written here; else that is taken, and
 *                      nobody is asked. On all replicas or on none.
 * @param loss          0 if no replica has an example, so that a step without data changes nothing
 * @thread replica   @blocks as mdist_all_reduce where the examples are counted   @collective all replicas then
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_average_loss(mdist_replica_t *replica, const mdist_tensor_t *per_example,
                                            const mdist_tensor_t *weights, uint64_t *global_batch, double *loss,
                                            const mdist_call_options_t *options, mdist_error_t **error);

/**
 * The sum of the elements of @p terms divided by the number of replicas, for what depends on the variables alone and is
 * the same on each replica: their losses add up to it. (TensorFlow: scale_regularization_loss.)
 * @param terms  a floating-point type, any shape
 * @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_scale_regularization(mdist_replica_t *replica, const mdist_tensor_t *terms,
                                                    double *loss, mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
