/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Dataset: a description of elements, and iterators that produce them.
 *
 * An element has one or more components, each a tensor (say image and label). A dataset is made by a source and
 * transformed by the functions below, each of which gives a new dataset and leaves its source as it was. Iterating it
 * twice gives the elements twice. mdist_distribute_dataset (input.h) cuts batches over the replicas of a strategy; its
 * iterator gives one per-replica value per component, ready to be the arguments of mdist_run. Or an element is taken as
 * one value: a structure (value.h) whose leaves are the components, at the paths that mdist_dataset_name gives them,
 * else at "0", "1" ...; the only component, if it has no name, is that value itself. (TensorFlow: tf.data.)
 */
#ifndef MDIST_DATASET_H
#define MDIST_DATASET_H

#include <mdist/strategy.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mdist_dataset mdist_dataset_t;
typedef struct mdist_iterator mdist_iterator_t;

/** In a shape given to mdist_dataset_map: as many as the first dimension of the input's first component. */
#define MDIST_ROWS 0x7fffffffffffffff

/** In the shape of a component: a length that is not known beforehand (TensorFlow: None). The number of MDIST_ROWS, so
 *  that a component can describe an output of mdist_dataset_map. */
#define MDIST_UNKNOWN 0x7fffffffffffffff

/**
 * A source whose element i is row i of each array. The arrays (kept, not copied) lie on the host and have one first
 * dimension in common; they must stay valid and unchanged until @p free_user_data runs; with NULL there, as long as the
 * dataset, those made from it, their iterators or their elements live.
 * @thread any   @blocks no   @collective no
 * @calls-back free_user_data, on the thread that drops the last reference   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_from_tensors(const mdist_tensor_t *arrays, size_t component_count,
                                                    void *user_data, mdist_free_fn free_user_data,
                                                    mdist_dataset_t **out, mdist_error_t **error);

/**
 * Keeps elements index, index + shards, index + 2 * shards ... With MDIST_SHARD_HINT shards it stands for what each
 * worker is to keep: see input.h.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_shard(const mdist_dataset_t *source, uint64_t shards, uint64_t index,
                                             mdist_dataset_t **out, mdist_error_t **error);

/**
 * Picks each next element at random from a buffer of @p buffer_size, refilled from the source. A buffer as large as the
 * dataset shuffles it evenly. The order is a function of @p seed and of how often this dataset was iterated: two
 * programs, or two workers, that do the same with one seed see one order.
 * @param reshuffle_each_iteration  non-zero: another order each time, counting the iterators of this dataset and of all
 *                                  made from it in the order of their creation, and epochs of mdist_dataset_repeat
 *                                  within each; a restarted program begins with the first, or goes on where an
 *                                  iterator is restored. 0: the same order every time
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_shuffle(const mdist_dataset_t *source, uint64_t buffer_size, uint64_t seed,
                                               int32_t reshuffle_each_iteration, mdist_dataset_t **out,
                                               mdist_error_t **error);

/**
 * The source @p count times over, or MDIST_FOREVER.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_repeat(const mdist_dataset_t *source, uint64_t count, mdist_dataset_t **out,
                                              mdist_error_t **error);

/**
 * Computes one element from another, into memory that is already there, content undefined: outputs have the dtypes and
 * shapes given to mdist_dataset_map. Returns 0, or any other number to end the iteration with MDIST_ERR_CALLBACK, which
 * mdist_error_native then gives. Runs on the thread that asks for the element or, where mdist_dataset_prefetch,
 * mdist_dataset_map_parallel or fetching to devices (input.h) follows, on threads of the iterator; one call at a time
 * per iterator, but for mdist_dataset_map_parallel. Must not call the iterator it serves.
 */
typedef int32_t (*mdist_map_fn)(const mdist_tensor_t *inputs, size_t input_count, const mdist_tensor_t *outputs,
                                size_t output_count, void *user_data);

/**
 * Applies @p map to every element.
 * @param outputs  dtype and shape of each output component; data is not read; the first dimension may be MDIST_ROWS
 * @param user_data  kept, with @p map, until the dataset, those made from it and their iterators are gone
 * @thread any   @blocks no   @collective no
 * @calls-back never in this call: map later, as its type says, and free_user_data, on any thread   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_map(const mdist_dataset_t *source, mdist_map_fn map, void *user_data,
                                           mdist_free_fn free_user_data, const mdist_tensor_t *outputs,
                                           size_t output_count, mdist_dataset_t **out, mdist_error_t **error);

/**
 * Joins @p batch_size consecutive elements along a new first dimension. The last batch may be shorter; with
 * @p drop_remainder non-zero it is left out then. Elements of one batch have equal shapes, else MDIST_ERR_MISMATCH.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_batch(const mdist_dataset_t *source, uint64_t batch_size,
                                             int32_t drop_remainder, mdist_dataset_t **out, mdist_error_t **error);

/**
 * Prepares up to @p elements ahead, on a thread of each iterator.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_prefetch(const mdist_dataset_t *source, uint64_t elements,
                                                mdist_dataset_t **out, mdist_error_t **error);

/**
 * The same elements, with their components at @p paths, names and positions as in value.h: where components lie when
 * an element is taken as one value. Transforms keep names, but for those that make components of their own (map).
 * (TensorFlow: elements that are dictionaries.)
 * @param count  must be mdist_dataset_component_count
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_name(const mdist_dataset_t *source, const char *const *paths, size_t count,
                                            mdist_dataset_t **out, mdist_error_t **error);

/**
 * Components of an element; 0 for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API size_t mdist_dataset_component_count(const mdist_dataset_t *dataset);

/**
 * What is known of a component before there is an element (TensorFlow: element_spec). Of a distributed dataset, what
 * each replica gets.
 * @param out   receives dtype and shape, with MDIST_UNKNOWN for lengths that are not known; data NULL
 * @param path  receives where it lies in an element taken as one value, borrowed from the handle; may be NULL
 * @param kind  receives MDIST_VALUE_PLAIN, or MDIST_VALUE_PER_REPLICA if the dataset is distributed; may be NULL
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_component(const mdist_dataset_t *dataset, size_t component, mdist_tensor_t *out,
                                                 const char **path, int32_t *kind, mdist_error_t **error);

/**
 * Frees a dataset; those made from it, and iterators, live on. NULL is fine.
 * @thread any   @blocks no   @collective no   @calls-back free functions given to its sources   @since 0.1
 */
MDIST_API void mdist_dataset_destroy(mdist_dataset_t *dataset);

/**
 * Starts an iteration.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_iterator_create(const mdist_dataset_t *dataset, mdist_iterator_t **out,
                                               mdist_error_t **error);

/**
 * The next element: one value for each component, plain, or per-replica from a distributed dataset. MDIST_END after the
 * last, again and again. Values are yours to destroy, and stay valid when the iterator moves on or is destroyed. After
 * an error the iterator returns that error until it is restored (mdist_iterator_restore); else make a new one. In a
 * step of mdist_run it is MDIST_ERR_WRONG_CONTEXT: pass elements as arguments.
 * @param count  must be mdist_dataset_component_count
 * @thread one at a time per iterator   @blocks until the element is there
 * @collective all workers for a distributed dataset; where they take elements together (input.h), in one order with
 *             all else that they do together, and MDIST_ERR_FAILED_PRECONDITION, reason `busy`, while another thread
 *             works with the strategy
 * @calls-back map functions, as mdist_map_fn says   @since 0.1
 */
MDIST_API mdist_status_t mdist_iterator_next(mdist_iterator_t *iterator, mdist_value_t **out, size_t count,
                                             mdist_error_t **error);

/**
 * The same element as one value, as said at the top of this header: the one argument of a run, whose steps read
 * mdist_replica_argument_at(replica, 0, "label", ...). (TensorFlow: get_next and get_next_as_optional, which tells the
 * end by an optional without a value as this one by MDIST_END.)
 * @thread one at a time per iterator   @blocks until the element is there
 * @collective all workers for a distributed dataset; where they take elements together (input.h), in one order with
 *             all else that they do together, and MDIST_ERR_FAILED_PRECONDITION, reason `busy`, while another thread
 *             works with the strategy
 * @calls-back map functions, as mdist_map_fn says   @since 0.1
 */
MDIST_API mdist_status_t mdist_iterator_next_value(mdist_iterator_t *iterator, mdist_value_t **out,
                                                   mdist_error_t **error);

/**
 * Components of an element, as mdist_dataset_component_count, also when the dataset is destroyed or the iteration
 * closed; 0 for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API size_t mdist_iterator_component_count(const mdist_iterator_t *iterator);

/**
 * What is known of a component, as mdist_dataset_component says, likewise at any time.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_iterator_component(const mdist_iterator_t *iterator, size_t component,
                                                  mdist_tensor_t *out, const char **path, int32_t *kind,
                                                  mdist_error_t **error);

/**
 * Where the iteration stands, behind the last element that was given, as a line of printable text; text, capacity and
 * needed as in mdist_config_get. It holds how many elements were taken, the orders of shuffles that reshuffle, and what
 * the dataset is made of. An element of a distributed dataset is a step of all replicas, and every worker saves the
 * same text. Where all workers share every batch (policy DATA; mdist_dataset_explain tells) any number of workers and
 * replicas goes on from there, with MDIST_UNEVEN_DROP any with as many replicas in all; so does one worker under any
 * policy, with any number of replicas, if its batches are whole. Elsewhere (FILE, OFF, HINT, whole elements, datasets
 * from functions) it takes as many workers, which take as many rows in a step. MDIST_ERR_FAILED_PRECONDITION, reason
 * `unordered`, where nobody can say which elements were given: after mdist_dataset_map_parallel without `ordered`, and
 * after a cache that holds what another iterator has shuffled. After a failure it is that failure.
 * @thread one at a time per iterator   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_iterator_save(mdist_iterator_t *iterator, char *text, size_t capacity, size_t *needed,
                                             mdist_error_t **error);

/**
 * Moves an iterator, fresh or used, failed or at its end, to where another one of an equal dataset was saved, perhaps
 * in another process: it gives the elements that were left there, in the same order. Later iterators of the dataset
 * reshuffle as they would have there. If this fails the iterator is as before.
 *
 * Elements that were given before are gone through once more, as far as they must: rows in memory and numbers are
 * skipped, whatever they are mapped to; records of files are read and checked, those of all epochs of a
 * mdist_dataset_repeat, so rather make an iterator for each epoch; filters and generators are called, and so is what is
 * below a filter, cache or shuffle, perhaps while threads of the iterator still call them for elements that it had made
 * ahead. Functions are trusted to make of one element the same each time.
 *
 * MDIST_ERR_DATA_LOSS, reason `corrupt`, for what is no such text; MDIST_ERR_MISMATCH, reason `different_dataset`, for
 * a dataset made otherwise, or with fewer elements than were taken; `different_layout`, where positions depend
 * on workers and replicas (mdist_iterator_save says where) and these are others. What arrays, files and functions hold
 * is not known and so not compared; nor are folders of files. It never takes longer than taking the elements did; do
 * not restore what strangers wrote, who may say that 2^63 elements of a dataset without end were taken.
 * @thread one at a time per iterator   @blocks until it is there
 * @collective no; all workers do it with the same text for a distributed dataset
 * @calls-back functions of the dataset as said, on this thread or those of the iterator   @since 0.1
 */
MDIST_API mdist_status_t mdist_iterator_restore(mdist_iterator_t *iterator, const char *text, mdist_error_t **error);

/**
 * Ends the iteration and returns when no map function runs for it any more and none of its memory is in use: before
 * what they refer to goes, say at the end of a scope. The iterator is still to be destroyed; more elements are
 * MDIST_ERR_FAILED_PRECONDITION, reason `closed`.
 * @thread one at a time per iterator   @blocks until functions of yours under way on its threads return
 * @collective no   @calls-back free functions given to its sources   @since 0.1
 */
MDIST_API mdist_status_t mdist_iterator_close(mdist_iterator_t *iterator, mdist_error_t **error);

/**
 * Frees an iterator. NULL is fine. A function under way on a thread of the iterator runs to its end. Where some source
 * or map was given no free function, this waits for it, for nobody else could say when your memory is out of use. Where
 * all have one it never waits, as finalizers need it, and that thread calls the free functions.
 * @thread any   @blocks no, but for what is said above   @collective no
 * @calls-back free functions given to its sources   @since 0.1
 */
MDIST_API void mdist_iterator_destroy(mdist_iterator_t *iterator);

/**
 * Waits until no thread of an iterator that was destroyed can call a function of yours any more, or for
 * @p timeout_ns. For runtimes that end before their process does: a thread that calls into one
 * afterwards may take the process with it.
 * @param done  receives 1, or 0 if some are still at work
 * @thread any   @blocks as said   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_iterators_settle(uint64_t timeout_ns, int32_t *done, mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
