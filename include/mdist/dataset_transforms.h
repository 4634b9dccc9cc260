/* SPDX-License-Identifier: Apache-2.0 */
/**
 * More datasets from datasets: choosing elements, joining datasets, cutting anew, computing on several threads.
 *
 * Like those of dataset.h, each gives a new dataset and leaves its sources as they were. (TensorFlow: the methods of
 * tf.data.Dataset of the same names.)
 */
#ifndef MDIST_DATASET_TRANSFORMS_H
#define MDIST_DATASET_TRANSFORMS_H

#include <mdist/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Whether an element stays: sets @p keep, which is 0 at first, to non-zero. Returns and runs as mdist_map_fn does.
 */
typedef int32_t (*mdist_filter_fn)(const mdist_tensor_t *inputs, size_t input_count, int32_t *keep, void *user_data);

/**
 * The elements that @p filter keeps.
 * @param user_data  kept, with @p filter, until the dataset, those made from it and their iterators are gone
 * @thread any   @blocks no   @collective no
 * @calls-back never in this call: filter later, as its type says, and free_user_data, on any thread   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_filter(const mdist_dataset_t *source, mdist_filter_fn filter, void *user_data,
                                              mdist_free_fn free_user_data, mdist_dataset_t **out,
                                              mdist_error_t **error);

/**
 * The first @p count elements, or all if there are fewer.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_take(const mdist_dataset_t *source, uint64_t count, mdist_dataset_t **out,
                                            mdist_error_t **error);

/**
 * All but the first @p count elements.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_skip(const mdist_dataset_t *source, uint64_t count, mdist_dataset_t **out,
                                            mdist_error_t **error);

/**
 * The elements of @p first, then those of @p second. Their components must agree in number, dtype and rank, else
 * MDIST_ERR_MISMATCH.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_concatenate(const mdist_dataset_t *first, const mdist_dataset_t *second,
                                                   mdist_dataset_t **out, mdist_error_t **error);

/**
 * Element i has the components of element i of each of @p sources, in this order. Ends with the shortest.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_zip(const mdist_dataset_t *const *sources, size_t source_count,
                                           mdist_dataset_t **out, mdist_error_t **error);

/**
 * Keeps the elements of the first iteration, or epoch, that comes to its end; later ones get them from memory, in the
 * same order, for as long as the dataset and what is made from it live. What an iteration kept that did not come to its
 * end is forgotten.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_cache(const mdist_dataset_t *source, mdist_dataset_t **out,
                                             mdist_error_t **error);

/**
 * As mdist_dataset_batch, but elements may differ in their dimensions: each is filled up at the end of every dimension.
 * @param paddings  NULL: each dimension up to the longest of the batch, by zeros. Else for every component a tensor of
 *                  its dtype and rank: shape says up to which size each dimension of an element is filled, MDIST_ROWS
 *                  up to the longest of the batch; data points to one element of the dtype, which fills (copied), or is
 *                  NULL for zero. An element that is larger is MDIST_ERR_MISMATCH when it comes
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_padded_batch(const mdist_dataset_t *source, uint64_t batch_size,
                                                    int32_t drop_remainder, const mdist_tensor_t *paddings,
                                                    size_t padding_count, mdist_dataset_t **out,
                                                    mdist_error_t **error);

/**
 * The rows of each element, as elements. All components need a first dimension, the same for all, else
 * MDIST_ERR_MISMATCH.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_unbatch(const mdist_dataset_t *source, mdist_dataset_t **out,
                                               mdist_error_t **error);

/**
 * Cuts the rows of all elements, as one sequence, into batches of @p batch_sizes in turn, again and again. A size of 0
 * gives a batch of no rows, without looking for more of them. The last batch may be shorter; with @p drop_remainder
 * non-zero it is left out then. All components need a first dimension, the same for all, else MDIST_ERR_MISMATCH.
 * @param batch_sizes  copied; at least one of them is not 0
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_rebatch(const mdist_dataset_t *source, const uint64_t *batch_sizes,
                                               size_t size_count, int32_t drop_remainder, mdist_dataset_t **out,
                                               mdist_error_t **error);

/**
 * As mdist_dataset_map, but on threads of each iterator: up to @p parallel_calls of @p map run at a time, and up to as
 * many elements wait to be taken.
 * @param ordered  non-zero: elements come in the order of the source; 0: as they are done
 * @thread any   @blocks no   @collective no
 * @calls-back never in this call: map later, several at a time, on threads of the library; free_user_data, on any
 * @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_map_parallel(const mdist_dataset_t *source, mdist_map_fn map, void *user_data,
                                                    mdist_free_fn free_user_data, const mdist_tensor_t *outputs,
                                                    size_t output_count, uint32_t parallel_calls, int32_t ordered,
                                                    mdist_dataset_t **out, mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
