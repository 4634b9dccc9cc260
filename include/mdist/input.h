/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Input of a strategy: a dataset dealt out to its workers and their replicas, as TensorFlow does.
 *
 * mdist_distribute_dataset takes a dataset of global batches: each step of all replicas of the job consumes one of
 * them. Two decisions are made, the same on all workers, and mdist_dataset_explain tells them:
 *
 * Who reads what (the policy). FILE: each worker reads files of its own, every workers-th one. DATA: all workers read
 * everything, and each keeps its part of every batch. OFF: every worker reads everything and cuts batches of its own,
 * so rows come once for each worker. HINT: each mdist_dataset_shard(source, MDIST_SHARD_HINT, ...) becomes this
 * worker's. AUTO: FILE if every branch reads records from files that are not below an mdist_dataset_unbatch, else DATA.
 * Fewer files than workers are an error, and not a reason for DATA.
 *
 * How many rows each replica gets. Under FILE, OFF and HINT, where the batch size is known: N replicas get
 * batch_size / N and, where that is not whole, some get one more, others in each step; cut from the stream of rows,
 * whatever the borders of batches. Else each batch of n rows is cut into N of ceil(n / N) rows, later ones of fewer or
 * none. The size is known from mdist_dataset_batch through all that leaves batches as they are (shuffle, repeat, shard,
 * take, skip, filter, cache, prefetch, name, zip and concatenate of equal ones), not through a map: map before
 * mdist_dataset_batch. Under DATA slice j of a batch is worker j mod workers', there for each replica in turn; with
 * data.order `replica` in the configuration it is replica j's, so that rows are the same in every layout.
 *
 * A replica for which there are no rows left still takes part, with tensors of no rows, as long as any worker has
 * some; then the iterators of all workers end in the same step. (Where all shapes are known beforehand and workers need
 * not ask each other, as for scalars on one worker, a step is whole or the end.) Where batches are not shared by all,
 * each element begins with a word among the workers, in which they also hear that one of them has failed. Under DATA
 * all know from the data, nobody asks, and so nobody hears of another's failure: who fails then calls
 * mdist_strategy_abort, or ends.
 */
#ifndef MDIST_INPUT_H
#define MDIST_INPUT_H

#include <mdist/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Who reads what. (TensorFlow: AutoShardPolicy, with its numbers.) */
typedef enum mdist_shard_policy {
    MDIST_SHARD_OFF           = -1,
    MDIST_SHARD_AUTO          = 0, /* in options: what the configuration says, key data.auto_shard_policy */
    MDIST_SHARD_FILE          = 1,
    MDIST_SHARD_DATA          = 2,
    MDIST_SHARD_BY_HINT       = 3,
    MDIST_SHARD_PIN_INT32     = -0x7fffffff - 1
} mdist_shard_policy_t;

/** As the number of shards in mdist_dataset_shard: as many as there are workers, and this worker's index, under policy
 *  HINT. Iterated otherwise it is MDIST_ERR_FAILED_PRECONDITION, reason `shard_hint`. (TensorFlow: SHARD_HINT.) */
#define MDIST_SHARD_HINT 0x7fffffffffffffff

/** What becomes of rows that are not shared out evenly. */
typedef enum mdist_uneven {
    MDIST_UNEVEN_DEFAULT   = 0, /* as said above, which is TensorFlow's way */
    MDIST_UNEVEN_SPREAD    = 1, /* of each batch, shares differ by one row at most: none idles while others have two */
    MDIST_UNEVEN_DROP      = 2, /* shares are equal, rows left over are left out, and so is a batch too small for all */
    MDIST_UNEVEN_PIN_INT32 = -0x7fffffff - 1
} mdist_uneven_t;

/** For whom the function of mdist_distribute_from_function makes a dataset. */
typedef enum mdist_replication_mode {
    MDIST_REPLICATION_PER_WORKER  = 0, /* once; its elements go to the replicas of this worker in turn */
    MDIST_REPLICATION_PER_REPLICA = 1, /* once for each replica; with one worker only */
    MDIST_REPLICATION_PIN_INT32   = -0x7fffffff - 1
} mdist_replication_mode_t;

/** Flags of mdist_input_options_t. */
#define MDIST_INPUT_NO_SPLIT 1        /* an element for each replica, in turn, instead of a part of each element
                                          (TensorFlow 1.x: distribute_dataset) */
#define MDIST_INPUT_WHOLE_STEPS 2     /* a step in which some replica would get nothing is the end; what the others
                                          would have got is lost (TensorFlow: get_next_as_optional disabled) */
#define MDIST_INPUT_PLACE_ON_DEVICE 4 /* the dataset itself runs where the replica does: PER_REPLICA only, and nothing
                                          is then fetched to it (InputOptions.experimental_place_dataset_on_device) */

/** Options of a distribution. NULL, or all zero but struct_size: the strategy's configuration. */
typedef struct mdist_input_options {
    uint32_t      struct_size; /* sizeof(mdist_input_options_t) as you were compiled */
    uint32_t      flags;
    int32_t       policy;           /* mdist_shard_policy_t */
    int32_t       uneven;           /* mdist_uneven_t */
    int32_t       replication_mode; /* mdist_replication_mode_t */
    int32_t       fetch_to_device;  /* 1: the next element is made while the program works; -1: not, and elements stay
                                       on the host; 0: what the configuration says, key data.prefetch_on_device. But
                                       for -1, each replica's part lies on its GPU, if it has one */
    uint64_t      buffer_size;      /* elements of each replica made ahead then; 0: 1 */
    const double *weights;          /* rows of each replica of the job, by id, in proportion, for devices of unequal
                                       speed: finite, 0 or more, one at least above 0; read in the call; not with
                                       uneven or NO_SPLIT. Where workers do not share batches their size must be known,
                                       and each worker get a row. NULL: alike */
    size_t        weight_count;     /* replicas of the job, or 0 */
} mdist_input_options_t;

/**
 * Deals out @p source, a dataset of global batches, to the replicas of the job, as said at the top of this header. The
 * source must be batched: every component has a first dimension, the same for all. The result can be iterated, but not
 * transformed further; batch, shuffle and the like come before. All workers make its iterators in one order. Shuffles
 * must have the same seed on all workers, which is the program's part. @p source may be destroyed afterwards.
 * (TensorFlow: experimental_distribute_dataset, make_dataset_iterator.) MDIST_ERR_INVALID_ARGUMENT for scalar
 * components (but with MDIST_INPUT_NO_SPLIT), and options that exclude each other. MDIST_ERR_NOT_FOUND if policy FILE
 * finds no files that are read; MDIST_ERR_FAILED_PRECONDITION, reason `too_few_files`, on all workers, if there are
 * fewer files than workers, or `too_few_elements`, if whole elements are. What fails on one worker, be it its own
 * arguments, fails on all with the same words and the rank of that worker, and so does what they do not have alike
 * (MDIST_ERR_MISMATCH: policy taken, rows of a step, flags, uneven, weights, components); the job goes on then.
 * @thread any, outside of steps   @blocks until all workers have called it, with several workers
 * @collective all workers   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_distribute_dataset(mdist_strategy_t *strategy, const mdist_dataset_t *source,
                                                  mdist_dataset_t **out, const mdist_input_options_t *options,
                                                  mdist_error_t **error);

/** For whom a dataset is made. (TensorFlow: InputContext.) */
typedef struct mdist_input_context {
    uint32_t struct_size;       /* sizeof(mdist_input_context_t) as the library was compiled */
    uint32_t pipeline_count;    /* datasets made for the job: its workers, or replicas (TensorFlow:
                                   num_input_pipelines) */
    uint32_t pipeline;          /* which of them this one is (input_pipeline_id) */
    uint32_t replica_count;     /* of the job (num_replicas_in_sync) */
} mdist_input_context_t;

/**
 * The rows of @p global_batch_size for one replica. MDIST_ERR_INVALID_ARGUMENT if they can't be shared out evenly.
 * (TensorFlow: get_per_replica_batch_size.)
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_input_context_batch_size(const mdist_input_context_t *context,
                                                        uint64_t global_batch_size, uint64_t *out,
                                                        mdist_error_t **error);

/**
 * Makes a dataset, whose elements are batches of one replica. @p out receives a handle that is the library's from then
 * on, also if this fails; @p context is valid in the call only. Returns 0, or any other number to fail the distribution
 * with MDIST_ERR_CALLBACK, which mdist_error_native then gives.
 */
typedef int32_t (*mdist_dataset_fn)(const mdist_input_context_t *context, mdist_dataset_t **out, void *user_data);

/**
 * Deals out the dataset that @p function makes: nothing is split or shared, each step takes an element for each replica
 * of this worker in turn. What fails on one worker, or is not alike, fails on all, as in mdist_distribute_dataset.
 * (TensorFlow: distribute_datasets_from_function, make_input_fn_iterator.)
 * @param options  policy, uneven and weights must be 0: they are the function's part
 * @thread any, outside of steps   @blocks until all workers have called it, with several workers
 * @collective all workers
 * @calls-back function, on this thread, in this call   @since 0.1
 */
MDIST_API mdist_status_t mdist_distribute_from_function(mdist_strategy_t *strategy, mdist_dataset_fn function,
                                                        void *user_data, mdist_dataset_t **out,
                                                        const mdist_input_options_t *options, mdist_error_t **error);

/**
 * Tells, in lines for people, how a dataset is made; of a distributed one which policy was taken and why, who reads
 * what, and how many rows each replica gets in a step. text, capacity and needed as in mdist_config_get.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_explain(const mdist_dataset_t *dataset, char *text, size_t capacity,
                                               size_t *needed, mdist_error_t **error);

/**
 * The rows of each replica of the job, by id, in the element that the iterator of a distributed dataset gave last: the
 * denominators of means, where steps are not even; a scalar counts as a row. MDIST_ERR_FAILED_PRECONDITION before the
 * first element, after a restore until the next one, and for a dataset that is not distributed.
 * @param count  replicas of the job
 * @thread one at a time per iterator   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_iterator_rows(mdist_iterator_t *iterator, uint64_t *rows, size_t count,
                                             mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
