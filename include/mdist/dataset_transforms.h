/* SPDX-License-Identifier: Apache-2.0 */
/**
 * More transforms of datasets: choosing elements, joining datasets, cutting new batches, computing on several threads.
 *
 * Example:
 *
 *     mdist_dataset_t *numbers = NULL, *validation = NULL, *rest = NULL, *training = NULL;
 *     mdist_dataset_range(0, 10, 1, &numbers, NULL, &error);
 *     mdist_dataset_take(numbers, 2, &validation, NULL, &error); // 0 1
 *     mdist_dataset_skip(numbers, 2, &rest, NULL, &error);       // 2 3 4 5 6 7 8 9
 *     mdist_dataset_cache(rest, &training, NULL, &error);        // the same, kept in memory after the first iteration
 *
 * Like the transforms in dataset.h, each makes a new dataset and leaves its sources unchanged. (TensorFlow: the methods
 * of tf.data.Dataset of the same names.)
 */
#ifndef MDIST_DATASET_TRANSFORMS_H
#define MDIST_DATASET_TRANSFORMS_H

#include <mdist/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Decides whether an element stays: sets @p keep, which is 0 at first, to non-zero to keep it. Return values and
 * threads are as in mdist_map_fn.
 */
typedef int32_t (*mdist_filter_fn)(const mdist_tensor_t *inputs, size_t input_count, int32_t *keep, void *user_data);

/**
 * Keeps only the elements that @p filter keeps.
 * @param user_data  kept, together with @p filter, until the dataset, those made from it and their iterators are gone
 * @thread any   @blocks no   @collective no
 * @calls-back never in this call: filter later, as its type says, and free_user_data, on any thread   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_filter(const mdist_dataset_t *source, mdist_filter_fn filter, void *user_data,
                                              mdist_free_fn free_user_data, mdist_dataset_t **out,
                                              const mdist_dataset_options_t *options, mdist_error_t **error);

/**
 * Keeps the first @p count elements, or all if there are fewer.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_take(const mdist_dataset_t *source, uint64_t count, mdist_dataset_t **out,
                                            const mdist_dataset_options_t *options, mdist_error_t **error);

/**
 * Leaves out the first @p count elements.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_skip(const mdist_dataset_t *source, uint64_t count, mdist_dataset_t **out,
                                            const mdist_dataset_options_t *options, mdist_error_t **error);

/**
 * Gives the elements of @p first, then those of @p second.
 *
 * Their components must agree in number, dtype and rank; otherwise it fails with MDIST_ERR_MISMATCH.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_concatenate(const mdist_dataset_t *first, const mdist_dataset_t *second,
                                                   mdist_dataset_t **out, const mdist_dataset_options_t *options,
                                                   mdist_error_t **error);

/**
 * Joins datasets side by side: element i has the components of element i of each of @p sources, in this order. It ends
 * with the shortest source.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_zip(const mdist_dataset_t *const *sources, size_t source_count,
                                           mdist_dataset_t **out, const mdist_dataset_options_t *options,
                                           mdist_error_t **error);

/**
 * Keeps elements in memory, so that later iterations need not compute them again.
 *
 * The first iteration or epoch that reaches its end fills the cache. Later ones get the elements from memory, in the
 * same order, as long as the dataset or anything made from it lives. An iteration that does not reach its end caches
 * nothing.
 *
 * Shuffles below the cache give their first order in every iteration, also before the cache is full. When it becomes
 * full may depend on threads: mdist_dataset_prefetch above reads ahead.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_cache(const mdist_dataset_t *source, mdist_dataset_t **out,
                                             const mdist_dataset_options_t *options, mdist_error_t **error);

/**
 * Joins elements into batches as mdist_dataset_batch does, but pads elements of different shapes to the same shape.
 * Padding goes to the end of every dimension.
 * @param paddings  NULL: pads each dimension with zeros, up to the longest of the batch. Otherwise one tensor for each
 *                  component, of its dtype and rank. Its shape gives the size to which each dimension is padded;
 *                  MDIST_UNKNOWN_LENGTH means the longest of the batch. Its data points to one element of the dtype,
 *                  the padding value (copied), or is NULL for zero. An element that is larger than this size fails
 *                  the iteration with MDIST_ERR_MISMATCH
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_padded_batch(const mdist_dataset_t *source, uint64_t batch_size,
                                                    const mdist_tensor_t *paddings, size_t padding_count,
                                                    mdist_dataset_t **out, const mdist_dataset_options_t *options,
                                                    mdist_error_t **error);

/**
 * Makes each row of each element an element of its own.
 *
 * All components must have a first dimension of the same size; otherwise it fails with MDIST_ERR_MISMATCH.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_unbatch(const mdist_dataset_t *source, mdist_dataset_t **out,
                                               const mdist_dataset_options_t *options, mdist_error_t **error);

/**
 * Cuts the rows of all elements, taken as one sequence, into new batches of the sizes @p batch_sizes, again and again
 * in this order.
 *
 * A size of 0 gives a batch of no rows, without waiting for more rows. The last batch may be shorter. With
 * MDIST_DATASET_DROP_REMAINDER, a shorter last batch is left out. All components must have a first dimension of the
 * same size; otherwise it fails with MDIST_ERR_MISMATCH.
 * @param batch_sizes  copied; at least one of them is not 0
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_rebatch(const mdist_dataset_t *source, const uint64_t *batch_sizes,
                                               size_t size_count, mdist_dataset_t **out,
                                               const mdist_dataset_options_t *options, mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
