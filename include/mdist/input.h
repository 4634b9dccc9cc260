/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Input: distributes a dataset over the workers of a job and their replicas, as TensorFlow does.
 *
 * Example, with a dataset `batches`:
 *
 *     mdist_dataset_t *distributed = NULL;
 *     mdist_iterator_t *iterator = NULL;
 *     mdist_value_t *batch = NULL;
 *     mdist_distribute_dataset(strategy, batches, &distributed, NULL, &error);
 *     mdist_iterator_create(distributed, &iterator, &error);
 *     mdist_iterator_next(iterator, &batch, 1, &error);                  // one tensor for each replica: its part
 *     const mdist_run_io_t io = {.struct_size = sizeof io, .arguments = &batch, .argument_count = 1};
 *     mdist_run(strategy, step, NULL, &io, &error); // in the step: mdist_replica_argument
 *
 * mdist_distribute_dataset takes a dataset of global batches. Each step of all replicas of the job consumes one of
 * them. Two decisions are made, the same on all workers. mdist_dataset_explain reports both.
 *
 * 1. Sharding policy: who reads what
 *
 * - FILE: the workers share out the files. With W workers, each reads every W-th file.
 * - DATA: all workers read everything, and each keeps its part of every batch.
 * - OFF: every worker reads everything and cuts batches of its own. Each row comes once for each worker.
 * - MARKED: each mdist_dataset_shard(source, MDIST_ONE_PER_WORKER, ...) becomes the shard of this worker.
 * - AUTO: FILE if every branch of the dataset reads records from files, whatever transforms follow; otherwise DATA. If
 *   there are too few files for all workers, that is an error. AUTO does not switch to DATA.
 *
 * If workers have different numbers of replicas (N in all), FILE and MARKED share out in proportion. Item i goes to the
 * worker that has replica i mod N.
 *
 * 2. How many rows each replica gets (N is the number of replicas in the job)
 *
 * - FILE, OFF and MARKED with a known batch size: batch_size / N rows for each replica. If that is not a whole number,
 *   some replicas get one row more, and each step others. Rows are taken as one stream, across the borders of batches.
 * - All other cases: a batch of n rows is cut into N slices of ceil(n / N) rows. The last slices have fewer rows or
 *   none.
 *
 * The batch size is known from mdist_dataset_batch. It stays known through transforms that leave batches as they are:
 * shuffle, repeat, shard, take, skip, filter, cache, prefetch, name, and zip and concatenate of equal batches. It is
 * not known after a map, so map before mdist_dataset_batch.
 *
 * Under DATA with W workers, slice j of a batch goes to worker j mod W, and there to each replica in turn. Slice j goes
 * to replica j instead if the configuration sets data.order to `replica`, or if workers have different numbers of
 * replicas. With data.order `replica`, each replica gets the same rows in every layout.
 *
 * The end of the data
 *
 * - A replica without rows still takes part, with tensors of no rows, as long as any worker has rows. Then the
 *   iterators of all workers end in the same step.
 * - One case loses rows, as in TensorFlow. A job of one worker takes whole elements (MDIST_INPUT_NO_SPLIT,
 *   mdist_distribute_from_function), and all their shapes are known beforehand, such as scalars and batches with
 *   MDIST_DATASET_DROP_REMAINDER. A last step without an element for every replica is then left out. A batch without
 *   that flag has no known length, so it loses nothing.
 *
 * Failures of a worker
 *
 * - Policies under which workers do not share every batch: the workers exchange a short message before each element. It
 *   also tells them when one of them has failed.
 * - Policy DATA with split batches: each worker knows all it needs from the data, so the workers exchange nothing. The
 *   others learn of a failure only when they wait in a collective. A worker that fails must call mdist_strategy_abort,
 *   or end.
 */
#ifndef MDIST_INPUT_H
#define MDIST_INPUT_H

#include <mdist/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Sharding policy: who reads what. (TensorFlow: AutoShardPolicy, with its numbers; MARKED is its HINT.) */
typedef enum mdist_shard_policy {
    MDIST_SHARD_OFF           = -1,
    MDIST_SHARD_AUTO          = 0, /* in options: the policy of the configuration, key data.auto_shard_policy */
    MDIST_SHARD_FILE          = 1,
    MDIST_SHARD_DATA          = 2,
    MDIST_SHARD_MARKED        = 3,
    MDIST_SHARD_PIN_INT32     = -0x7fffffff - 1
} mdist_shard_policy_t;

/**
 * As the number of shards in mdist_dataset_shard: one shard for each worker. Policy MARKED fills in the number of
 * workers and this worker's index. Any other iteration of such a dataset fails with MDIST_ERR_FAILED_PRECONDITION,
 * reason `shard_placeholder`. (TensorFlow: SHARD_HINT.)
 */
#define MDIST_ONE_PER_WORKER 0x7fffffffffffff04

/** What happens to rows that cannot be shared out evenly. */
typedef enum mdist_uneven {
    MDIST_UNEVEN_DEFAULT   = 0, /* as the top of this header says, which is what TensorFlow does */
    MDIST_UNEVEN_SPREAD    = 1, /* shares of a batch differ by at most one row: none is idle while another has two */
    MDIST_UNEVEN_DROP      = 2, /* all shares are equal; leaves out the remaining rows, and batches too small for all */
    MDIST_UNEVEN_PIN_INT32 = -0x7fffffff - 1
} mdist_uneven_t;

/** For whom the function of mdist_distribute_from_function makes a dataset. */
typedef enum mdist_replication_mode {
    MDIST_REPLICATION_PER_WORKER  = 0, /* one dataset; its elements go to the replicas of this worker in turn */
    MDIST_REPLICATION_PER_REPLICA = 1, /* one dataset for each replica; only in a job of one worker */
    MDIST_REPLICATION_PIN_INT32   = -0x7fffffff - 1
} mdist_replication_mode_t;

/** Flags of mdist_input_options_t. */
#define MDIST_INPUT_NO_SPLIT 1        /* gives whole elements to the replicas in turn, instead of a part of each element
                                          (TensorFlow 1.x: distribute_dataset) */
#define MDIST_INPUT_WHOLE_STEPS 2     /* ends before a step in which some replica would get nothing; loses what the
                                          others would have got (TensorFlow: get_next_as_optional disabled) */
#define MDIST_INPUT_PLACE_ON_DEVICE 4 /* runs the dataset itself where the replica runs. Only with PER_REPLICA, and not
                                          with fetching (InputOptions.experimental_place_dataset_on_device) */

/** Options for distributing a dataset. NULL, or all zero except struct_size: what the strategy's configuration says. */
typedef struct mdist_input_options {
    uint32_t      struct_size; /* sizeof(mdist_input_options_t) as you were compiled */
    uint32_t      flags;
    int32_t       policy;           /* mdist_shard_policy_t */
    int32_t       uneven;           /* mdist_uneven_t */
    int32_t       replication_mode; /* mdist_replication_mode_t */
    int32_t       fetch_to_device;  /* 1: makes the next element while the program works. -1: does not, and elements
                                       stay on the host. 0: what the configuration says, key data.prefetch_on_device.
                                       Except for -1, each replica's part lies on its GPU, if it has one */
    uint64_t      buffer_size;      /* how many elements of each replica are made ahead when fetching; 0: 1 */
    const double *weights;          /* for devices of unequal speed: each replica gets rows in proportion to its weight.
                                       One weight for each replica of the job, by id; read during the call. Weights are
                                       finite and 0 or more, and at least one is above 0. Not with uneven or NO_SPLIT.
                                       If workers do not share batches, the batch size must be known, and every worker
                                       must get a row. NULL: all alike */
    size_t        weight_count;     /* number of replicas of the job, or 0 */
} mdist_input_options_t;

/**
 * Distributes @p source, a dataset of global batches, over the replicas of the job. The top of this header says how.
 *
 * - The source must be batched: every component has a first dimension, the same for all.
 * - The result can be iterated, but not transformed further. Batch, shuffle or map the source instead.
 * - All workers must make the iterators of their distributed datasets in the same order.
 * - Shuffles must have the same seed on all workers. The program must see to that.
 * - @p source may be destroyed afterwards.
 *
 * Errors:
 * - MDIST_ERR_INVALID_ARGUMENT: a component is a scalar (allowed with MDIST_INPUT_NO_SPLIT), or options exclude each
 *   other.
 * - MDIST_ERR_NOT_FOUND: policy FILE finds no files that are read.
 * - MDIST_ERR_FAILED_PRECONDITION, reason `too_few_files`, on all workers: too few files to give every worker one, or
 *   none at all, where files are shared out.
 * - MDIST_ERR_FAILED_PRECONDITION, reason `too_few_elements`, on all workers: too few elements to give every worker
 *   one, where whole elements are shared out, or those below a shard of MDIST_ONE_PER_WORKER. Without any element it is
 *   OK.
 * - If files or elements can't be counted beforehand, as with a generator or a filter, mdist_iterator_next gives these
 *   two errors for the first element.
 * - MDIST_ERR_MISMATCH: workers differ in policy taken, rows of a step, flags, uneven, weights or components.
 *
 * A failure on one worker fails the call on all workers, even if only that worker's arguments are wrong. All get the
 * same message and the rank of that worker. The job goes on afterwards. (TensorFlow: experimental_distribute_dataset,
 * make_dataset_iterator.)
 * @thread any, outside of steps   @blocks until all workers have called it, with several workers
 * @collective all workers   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_distribute_dataset(mdist_strategy_t *strategy, const mdist_dataset_t *source,
                                                  mdist_dataset_t **out, const mdist_input_options_t *options,
                                                  mdist_error_t **error);

/** Says for whom a dataset is made. (TensorFlow: InputContext.) */
typedef struct mdist_input_context {
    uint32_t struct_size;       /* sizeof(mdist_input_context_t) as the library was compiled */
    uint32_t pipeline_count;    /* number of datasets made for the job: one for each worker, or for each replica
                                   (TensorFlow: num_input_pipelines). In an elastic job one for each replica */
    uint32_t pipeline;          /* which of them this one is (input_pipeline_id) */
    uint32_t replica_count;     /* number of replicas of the job (num_replicas_in_sync) */
} mdist_input_context_t;

/**
 * Computes how many rows of @p global_batch_size one replica gets.
 *
 * It fails with MDIST_ERR_INVALID_ARGUMENT if the rows cannot be shared out evenly. (TensorFlow:
 * get_per_replica_batch_size.)
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_input_context_batch_size(const mdist_input_context_t *context,
                                                        uint64_t global_batch_size, uint64_t *out,
                                                        mdist_error_t **error);

/**
 * Makes a dataset. Its elements are batches of one replica.
 *
 * @p out receives a handle, which the library owns from then on, even if the function fails. @p context is valid during
 * the call only. Returns 0 on success. Any other number fails the distribution with MDIST_ERR_CALLBACK, and
 * mdist_error_native gives that number.
 */
typedef int32_t (*mdist_dataset_fn)(const mdist_input_context_t *context, mdist_dataset_t **out, void *user_data);

/**
 * Distributes the dataset that @p function makes. Nothing is split or shared: in each step, every replica of this
 * worker in turn takes one element.
 *
 * In an elastic job each replica has a dataset of its own, whatever worker it is on. This call makes the datasets of
 * all replicas of the job, on every worker: it calls @p function for each replica id, which is the context's pipeline.
 * What it makes must depend on nothing but the context. If workers describe their datasets differently, the call fails
 * with MDIST_ERR_MISMATCH. The function is not called again when workers are lost or come.
 *
 * If the call fails on one worker, or the workers differ, it fails on all of them, as in mdist_distribute_dataset.
 * (TensorFlow: distribute_datasets_from_function, make_input_fn_iterator.)
 * @param options  policy, uneven and weights must be 0: the function decides these
 * @thread any, outside of steps   @blocks until all workers have called it, with several workers
 * @collective all workers
 * @calls-back function, on this thread, in this call   @since 0.1
 */
MDIST_API mdist_status_t mdist_distribute_from_function(mdist_strategy_t *strategy, mdist_dataset_fn function,
                                                        void *user_data, mdist_dataset_t **out,
                                                        const mdist_input_options_t *options, mdist_error_t **error);

/**
 * Describes, in lines for people, how a dataset is made.
 *
 * For a distributed dataset it says which policy was taken and why, and who reads what. It also says how many rows each
 * replica gets in a step. @p text, @p capacity and @p needed work as in mdist_config_get.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_explain(const mdist_dataset_t *dataset, char *text, size_t capacity,
                                               size_t *needed, mdist_error_t **error);

/**
 * Gives the number of rows that each replica of the job, by id, got in the last element of a distributed dataset.
 *
 * These are the denominators of means if steps are not even. A scalar counts as one row. It fails with
 * MDIST_ERR_FAILED_PRECONDITION before the first element, after a restore until the next element, and for a dataset
 * that is not distributed.
 * @param count  number of replicas of the job
 * @thread one at a time per iterator   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_iterator_row_counts(mdist_iterator_t *iterator, uint64_t *rows, size_t count,
                                                   mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
