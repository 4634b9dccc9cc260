/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Dataset: a description of elements, and iterators that produce them.
 *
 * Example, with a tensor `numbers` of six numbers:
 *
 *     mdist_dataset_t *rows = NULL, *batches = NULL;
 *     mdist_iterator_t *iterator = NULL;
 *     mdist_value_t *batch = NULL;
 *     mdist_dataset_from_tensors(&numbers, 1, NULL, NULL, &rows, NULL, &error);
 *     mdist_dataset_batch(rows, 4, &batches, NULL, &error); // four rows, then two
 *     mdist_iterator_create(batches, &iterator, &error);
 *     while (mdist_iterator_next(iterator, &batch, 1, &error) == MDIST_OK) mdist_value_destroy(batch);
 *
 * A dataset describes a sequence of elements. An element has one or more components, and each component is a tensor,
 * for example an image and its label. A source makes a dataset. Each transform below makes a new dataset and leaves its
 * source unchanged. A dataset can be iterated more than once: each iterator starts at the beginning.
 *
 * mdist_distribute_dataset (input.h) splits batches among the replicas of a strategy. Its iterator gives one
 * per-replica value for each component. Pass these values to mdist_run as arguments.
 *
 * An element can also be taken as one value. That value is a structure (value.h), and its leaves are the components.
 * Each leaf lies at the path that mdist_dataset_with_paths gave it, or else at "0", "1" ... If the element has a single
 * component without a name, the value is that component itself. (TensorFlow: tf.data.)
 */
#ifndef MDIST_DATASET_H
#define MDIST_DATASET_H

#include <mdist/strategy.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mdist_dataset mdist_dataset_t;
typedef struct mdist_iterator mdist_iterator_t;

/**
 * In a shape: a length that is not known beforehand (TensorFlow: None). In an output of mdist_dataset_map it may be the
 * first dimension, which then is that of the input's first component.
 */
#define MDIST_UNKNOWN_LENGTH 0x7fffffffffffff02

/** Of mdist_dataset_batch, mdist_dataset_padded_batch and mdist_dataset_rebatch: leaves out a shorter last batch. */
#define MDIST_DATASET_DROP_REMAINDER 1
/** Of mdist_dataset_shuffle: every iteration and epoch has the same order. */
#define MDIST_DATASET_SAME_ORDER 2
/** Of mdist_dataset_map: with `parallel_calls`, elements come as soon as they are done, not in the source's order. */
#define MDIST_DATASET_UNORDERED 4
/** Of mdist_dataset_from_generator: the function may run on any thread, including threads of the library. */
#define MDIST_DATASET_ANY_THREAD 8

/**
 * Options of a source or a transform of datasets. NULL, or all zero except struct_size: the defaults.
 *
 * Each flag, and `parallel_calls`, belongs to the functions that it names. Others refuse it with
 * MDIST_ERR_INVALID_ARGUMENT.
 */
typedef struct mdist_dataset_options {
    uint32_t struct_size;    /* sizeof(mdist_dataset_options_t) as you were compiled */
    uint32_t flags;          /* MDIST_DATASET_DROP_REMAINDER ..., joined by | */
    uint32_t parallel_calls; /* of mdist_dataset_map: how many calls run at a time, on threads of each iterator; as many
                                finished elements may wait. Up to 1024; 0: one call, on the thread that asks for the
                                element. (TensorFlow: num_parallel_calls) */
    uint32_t reserved;       /* must be 0 */
} mdist_dataset_options_t;

/**
 * Makes a dataset whose element i is row i of each array.
 *
 * - The arrays are kept, not copied. They lie on the host and all have the same first dimension.
 * - They must stay valid and unchanged until @p free_user_data runs.
 * - If @p free_user_data is NULL, they must stay valid as long as any of these lives: the dataset, datasets made from
 *   it, their iterators, their elements.
 * @thread any   @blocks no   @collective no
 * @calls-back free_user_data, on the thread that drops the last reference   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_from_tensors(const mdist_tensor_t *arrays, size_t component_count,
                                                    void *user_data, mdist_free_fn free_user_data,
                                                    mdist_dataset_t **out, const mdist_dataset_options_t *options,
                                                    mdist_error_t **error);

/**
 * Keeps elements @p index, @p index + @p shards, @p index + 2 * @p shards ...
 *
 * With MDIST_ONE_PER_WORKER as @p shards, it marks the place where each worker is to keep its own share: see input.h.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_shard(const mdist_dataset_t *source, uint64_t shards, uint64_t index,
                                             mdist_dataset_t **out, const mdist_dataset_options_t *options,
                                             mdist_error_t **error);

/**
 * Shuffles the elements through a buffer: picks each next element at random from @p buffer_size elements, and refills
 * the buffer from the source.
 *
 * A buffer as large as the dataset shuffles it uniformly. The order depends only on @p seed and on how often this
 * dataset has been iterated. Two programs, or two workers, that do the same with the same seed get the same order.
 *
 * The order is a different one for each iterator of this dataset and of all datasets made from it, in the order of
 * their creation, and for each epoch of mdist_dataset_repeat within an iterator. A restarted program begins with the
 * first order again, unless it restores an iterator: then it continues from there. With MDIST_DATASET_SAME_ORDER the
 * order is the same every time. (TensorFlow: reshuffle_each_iteration)
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_shuffle(const mdist_dataset_t *source, uint64_t buffer_size, uint64_t seed,
                                               mdist_dataset_t **out, const mdist_dataset_options_t *options,
                                               mdist_error_t **error);

/**
 * Repeats the source @p count times, or without end if @p count is MDIST_FOREVER.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_repeat(const mdist_dataset_t *source, uint64_t count, mdist_dataset_t **out,
                                              const mdist_dataset_options_t *options, mdist_error_t **error);

/**
 * Computes one element from another. It writes to @p outputs, which have the dtypes and shapes given to
 * mdist_dataset_map. Their memory is allocated already, and its content is undefined.
 *
 * Returns 0 on success. Any other number ends the iteration with MDIST_ERR_CALLBACK, and mdist_error_native gives that
 * number.
 *
 * The function runs on the thread that asks for the element. It runs on threads of the iterator with `parallel_calls`
 * (mdist_dataset_options_t), and if mdist_dataset_prefetch or fetching to devices (input.h) follows. Each iterator
 * makes one call at a time, except with `parallel_calls`. The function must not call the iterator that it serves.
 */
typedef int32_t (*mdist_map_fn)(const mdist_tensor_t *inputs, size_t input_count, const mdist_tensor_t *outputs,
                                size_t output_count, void *user_data);

/**
 * Applies @p map to every element.
 * @param outputs    dtype and shape of each output component; data is not read; the first dimension may be
 *                   MDIST_UNKNOWN_LENGTH
 * @param user_data  kept, together with @p map, until the dataset, those made from it and their iterators are gone
 * @thread any   @blocks no   @collective no
 * @calls-back never in this call: map later, as its type says, and free_user_data, on any thread   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_map(const mdist_dataset_t *source, mdist_map_fn map, void *user_data,
                                           mdist_free_fn free_user_data, const mdist_tensor_t *outputs,
                                           size_t output_count, mdist_dataset_t **out,
                                           const mdist_dataset_options_t *options, mdist_error_t **error);

/**
 * Joins @p batch_size consecutive elements along a new first dimension.
 *
 * The last batch may be shorter. With MDIST_DATASET_DROP_REMAINDER, a shorter last batch is left out. Elements
 * of one batch must have equal shapes; otherwise the iteration fails with MDIST_ERR_MISMATCH.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_batch(const mdist_dataset_t *source, uint64_t batch_size, mdist_dataset_t **out,
                                             const mdist_dataset_options_t *options, mdist_error_t **error);

/**
 * Prepares elements ahead on a thread of each iterator, up to @p elements of them.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_prefetch(const mdist_dataset_t *source, uint64_t elements, mdist_dataset_t **out,
                                                const mdist_dataset_options_t *options, mdist_error_t **error);

/**
 * Gives each component a path. The elements stay the same.
 *
 * A path consists of names and positions, as in value.h. It says where a component lies when an element is taken as one
 * value. Transforms keep the paths, except those that make components of their own (map). (TensorFlow: elements that
 * are dictionaries.)
 * @param count  must be mdist_dataset_component_count
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_with_paths(const mdist_dataset_t *source, const char *const *paths, size_t count,
                                                  mdist_dataset_t **out, const mdist_dataset_options_t *options,
                                                  mdist_error_t **error);

/**
 * Returns the number of components of an element. Returns 0 for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API size_t mdist_dataset_component_count(const mdist_dataset_t *dataset);

/**
 * Describes a component as far as it is known before there is an element (TensorFlow: element_spec). For a distributed
 * dataset it describes what each replica gets.
 * @param out   receives dtype and shape, with MDIST_UNKNOWN_LENGTH for lengths that are not known; data is NULL
 * @param path  receives the component's path in an element taken as one value, borrowed from the handle; may be NULL
 * @param kind  receives MDIST_VALUE_PLAIN, or MDIST_VALUE_PER_REPLICA if the dataset is distributed; may be NULL
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_component(const mdist_dataset_t *dataset, size_t component, mdist_tensor_t *out,
                                                 const char **path, int32_t *kind, mdist_error_t **error);

/**
 * Frees a dataset. Datasets made from it, and iterators, live on. NULL is fine.
 * @thread any   @blocks no   @collective no   @calls-back free functions given to its sources   @since 0.1
 */
MDIST_API void mdist_dataset_destroy(mdist_dataset_t *dataset);

/**
 * Starts an iteration of a dataset.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_iterator_create(const mdist_dataset_t *dataset, mdist_iterator_t **out,
                                               mdist_error_t **error);

/**
 * Gives the next element, as one value for each component. The values are plain; those from a distributed dataset are
 * per-replica.
 *
 * - After the last element it returns MDIST_END, on every further call too.
 * - The values are yours to destroy. They stay valid when the iterator moves on or is destroyed.
 * - After an error the iterator returns the same error until it is restored (mdist_iterator_restore). Otherwise create
 *   a new iterator.
 * - In a step of mdist_run the call fails with MDIST_ERR_WRONG_CONTEXT: pass elements as arguments instead.
 *
 * If the workers take the elements of a distributed dataset together (input.h says when), this is a call of all
 * workers:
 * - Its place among the other calls that all workers make together must be the same on all workers.
 * - While another thread works with the strategy, it fails with MDIST_ERR_FAILED_PRECONDITION, reason `busy`.
 *
 * @param count  must be mdist_dataset_component_count
 * @thread one at a time per iterator   @blocks until the element is there
 * @collective all workers for a distributed dataset   @calls-back map functions, as mdist_map_fn says   @since 0.1
 */
MDIST_API mdist_status_t mdist_iterator_next(mdist_iterator_t *iterator, mdist_value_t **out, size_t count,
                                             mdist_error_t **error);

/**
 * Gives the next element as one value, as the top of this header describes.
 *
 * Pass that value to a run as its one argument. Steps then read mdist_replica_argument(replica, 0, NULL, "label", ...).
 * Everything else is as in mdist_iterator_next. (TensorFlow: get_next and get_next_as_optional. Where the latter
 * returns an optional without a value at the end, this function returns MDIST_END.)
 * @thread one at a time per iterator   @blocks until the element is there
 * @collective all workers for a distributed dataset   @calls-back map functions, as mdist_map_fn says   @since 0.1
 */
MDIST_API mdist_status_t mdist_iterator_next_value(mdist_iterator_t *iterator, mdist_value_t **out,
                                                   mdist_error_t **error);

/**
 * Returns the number of components of an element, as mdist_dataset_component_count does. It also works after the
 * dataset was destroyed or the iteration closed. Returns 0 for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API size_t mdist_iterator_component_count(const mdist_iterator_t *iterator);

/**
 * Describes a component, as mdist_dataset_component does. It also works after the dataset was destroyed or the
 * iteration closed.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_iterator_component(const mdist_iterator_t *iterator, size_t component,
                                                  mdist_tensor_t *out, const char **path, int32_t *kind,
                                                  mdist_error_t **error);

/**
 * Saves the position of an iterator, after the last element that it gave, as one line of printable text.
 *
 * @p text, @p capacity and @p needed work as in mdist_config_get. The text says how many elements were taken, which
 * orders the reshuffling shuffles have, and what the dataset is made of. For a distributed dataset one element is a
 * step of all replicas, and every worker saves the same text.
 *
 * The number of workers and replicas that may restore the position depends on who saved it:
 * - A job in which all workers share every batch (policy DATA; mdist_dataset_explain says so): any number of workers
 *   and replicas. With MDIST_UNEVEN_DROP, any number of workers with the same number of replicas in all.
 * - A job of one worker, under any policy: one worker with any number of replicas, if all batches but the last are
 *   full.
 * - All other cases (FILE, OFF, MARKED, whole elements, datasets from functions): the same number of workers, which
 *   take the same number of rows in a step.
 *
 * Errors:
 * - MDIST_ERR_FAILED_PRECONDITION, reason `unordered`: it is not defined which elements were given. This is so after
 *   mdist_dataset_map with MDIST_DATASET_UNORDERED.
 * - After a failure of the iterator: that failure.
 * @thread one at a time per iterator   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_iterator_save(mdist_iterator_t *iterator, char *text, size_t capacity, size_t *needed,
                                             mdist_error_t **error);

/**
 * Moves an iterator to a saved position, perhaps one saved in another process. The saved iterator must be of an equal
 * dataset.
 *
 * This iterator may be fresh, used, failed or at its end. Afterwards it gives the elements that were left at the saved
 * position, in the same order. Later iterators of the dataset reshuffle as they would have done there. If the call
 * fails, the iterator stays as it was.
 *
 * The iterator goes through the earlier elements again, as far as it must:
 * - Rows in memory and numbers are skipped, also if functions map them.
 * - Records of files are read and checked. This includes all epochs of a mdist_dataset_repeat, so it is faster to make
 *   an iterator for each epoch.
 * - Filters and generators are called. So is everything below a filter, cache or shuffle.
 * - Threads of the iterator may still call the same functions at that time, for elements that it had made ahead.
 * - Functions must make the same output of the same element each time. The library does not check this.
 *
 * It never takes longer than taking the elements did. Do not restore a text from an untrusted source: it may claim that
 * 2^63 elements of an endless dataset were taken.
 *
 * Errors:
 * - MDIST_ERR_DATA_LOSS, reason `corrupt`: the text is not a saved position.
 * - MDIST_ERR_MISMATCH, reason `different_dataset`: the dataset was made in another way, or has fewer elements than
 *   were taken. The content of arrays, files and functions is not known and so not compared, and neither are folders of
 *   files.
 * - MDIST_ERR_MISMATCH, reason `different_layout`: the position depends on the number of workers or replicas
 *   (mdist_iterator_save lists the cases), and these are different.
 * @thread one at a time per iterator   @blocks until it is there
 * @collective no; all workers do it with the same text for a distributed dataset
 * @calls-back functions of the dataset as said, on this thread or those of the iterator   @since 0.1
 */
MDIST_API mdist_status_t mdist_iterator_restore(mdist_iterator_t *iterator, const char *text, mdist_error_t **error);

/**
 * Ends the iteration, and returns when no function of yours runs for it any more and none of its memory is in use.
 *
 * Call it before something that these functions refer to goes away, for example at the end of a scope. The iterator
 * must still be destroyed. Asking for more elements fails with MDIST_ERR_FAILED_PRECONDITION, reason `closed`.
 * @thread one at a time per iterator   @blocks until functions of yours under way on its threads return
 * @collective no   @calls-back free functions given to its sources   @since 0.1
 */
MDIST_API mdist_status_t mdist_iterator_close(mdist_iterator_t *iterator, mdist_error_t **error);

/**
 * Frees an iterator. NULL is fine.
 *
 * A function that is under way on a thread of the iterator runs to its end.
 * - If every source and map has a free function, this call never waits, so finalizers may use it. The thread of the
 *   iterator calls the free functions.
 * - If some source or map was given no free function, this call waits for the function under way. Otherwise nobody
 *   could tell when your memory is out of use.
 * @thread any   @blocks no, except as said above   @collective no
 * @calls-back free functions given to its sources   @since 0.1
 */
MDIST_API void mdist_iterator_destroy(mdist_iterator_t *iterator);

/**
 * Waits until no thread of a destroyed iterator can call a function of yours any more, but at most @p timeout_ns.
 *
 * It is for language runtimes that end before their process does. A thread that calls into such a runtime afterwards
 * may crash the process.
 * @param done  receives 1, or 0 if some threads are still at work
 * @thread any   @blocks as said   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_iterators_wait(uint64_t timeout_ns, int32_t *done, mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
