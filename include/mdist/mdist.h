/* SPDX-License-Identifier: Apache-2.0 */
/**
 * libmdist: synchronous data-parallel training for every language. This header includes all the others.
 *
 * # What a trainer needs
 *
 * Each function stands in the header that its line names. `{a, b}` stands for two functions.
 *
 * A job: `config.h`, `strategy.h`, `status.h`, `base.h`
 *
 *     mdist_strategy_create(NULL, &strategy, &error); // NULL: the environment says which devices and workers
 *     if (mdist_run(strategy, step, NULL, NULL, &error) != MDIST_OK) puts(mdist_error_message(error));
 *     mdist_error_free(error);
 *     mdist_strategy_destroy(strategy);
 *
 * - mdist_config_{create, set, load, load_environment, destroy}
 * - mdist_strategy_{create, destroy, abort, replica_count, local_replica_count, worker_count, rank, is_chief}
 * - mdist_run, with arguments and results in mdist_run_io_t
 * - mdist_error_{message, reason, free}, mdist_status_name, mdist_version, mdist_has
 *
 * Each replica, in a step: `strategy.h`, `tensor.h`
 *
 *     const uint32_t id = mdist_replica_id(replica), count = mdist_replica_count(replica);
 *     mdist_replica_argument(replica, 0, NULL, &mine, NULL); // its tensor of the run's first argument
 *     mdist_replica_set_result(replica, 0, NULL, &mine, NULL);
 *
 * - mdist_replica_{id, local_index, count, argument, set_result}
 * - mdist_tensor_{describe, elements}
 *
 * Values, which go into runs and come out: `value.h`, `collective.h`
 *
 *     mdist_value_per_replica(strategy, tensors, 2, &value, &error); // a tensor for each local replica
 *     mdist_strategy_reduce(strategy, MDIST_MEAN, value, &mean, NULL, &error);
 *     mdist_value_tensor(mean, 0, &tensor, &error);
 *
 * - mdist_value_{create, per_replica, tensor, count, destroy}
 * - mdist_strategy_{reduce, gather}
 *
 * Collectives, in a step: `collective.h`, `work.h`
 *
 *     float x[3] = {1, 2, 3};
 *     const mdist_buffer_t buffer = {x, 3, MDIST_FLOAT32, 0};
 *     mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL);
 *
 * - mdist_{all_reduce, broadcast, all_gather, reduce_scatter, barrier}
 * - mdist_collective_start, mdist_work_{test, wait, destroy}
 *
 * Variables, gradients and losses: `variable.h`, `gradients.h`, `loss.h`
 *
 *     mdist_variable_create(strategy, "w", &initial, &variable, NULL, &error); // one copy for each replica
 *     mdist_gradients_create(strategy, &initial, 1, &gradients, NULL, &error);
 *     mdist_run(strategy, step, NULL, NULL, &error); // in it: mdist_gradients_ready(), then mdist_gradients_wait()
 *
 * - mdist_variable_{create, tensor, assign, read, destroy}, mdist_replica_assign
 * - mdist_gradients_{create, tensor, ready, wait, destroy}
 * - mdist_average_loss
 *
 * Input: `dataset.h`, `input.h`
 *
 *     mdist_dataset_from_tensors(&numbers, 1, NULL, NULL, &rows, NULL, &error);
 *     mdist_dataset_batch(rows, 2, &batches, NULL, &error);
 *     mdist_distribute_dataset(strategy, batches, &dealt, NULL, &error); // each replica gets its part of a batch
 *     mdist_iterator_create(dealt, &iterator, &error);
 *     while (mdist_iterator_next(iterator, &element, 1, &error) == MDIST_OK) {
 *         const mdist_run_io_t io = {.struct_size = sizeof io, .arguments = &element, .argument_count = 1};
 *         mdist_run(strategy, step, NULL, &io, &error); // the step reads its part by mdist_replica_argument()
 *         mdist_value_destroy(element);
 *     }
 *
 * - mdist_dataset_{from_tensors, shuffle, repeat, batch, prefetch, destroy}
 * - mdist_distribute_dataset, mdist_iterator_{create, next, destroy}
 *
 * Checkpoints: `checkpoint.h`
 *
 *     mdist_checkpoint_create(strategy, "saved", 3, &checkpoint, &error); // keeps the last three
 *     mdist_checkpoint_add(checkpoint, NULL, weights, &error);
 *     mdist_checkpoint_save(checkpoint, 10, NULL, &error);
 *     mdist_checkpoint_restore(checkpoint, MDIST_LATEST, NULL, NULL, &error);
 *
 * - mdist_checkpoint_{create, add, add_iterator, save, restore, destroy}
 *
 * # What else there is
 *
 * Input of other kinds: `dataset_sources.h` (files, generators), `dataset_transforms.h`, `dataset.h` (map)
 *
 * As in TensorFlow: merges, map (`strategy.h`), updates and variables by name (`variable.h`), reductions to devices and
 * fetch (`collective.h`), structures and sparse rows (`value.h`), `loop.h`, `serve.h` (one program drives all workers),
 * `context.h` (the current strategy of a thread)
 *
 * Jobs that lose workers: `elastic.h`, `membership.h`
 *
 * For frameworks and other languages: `threads.h` (runs on your own threads, no callbacks), `work.h` (event loops),
 * `prepared.h` (collectives described once), `group.h` (collectives of some replicas), `message.h`, `operator.h` (your
 * own reductions), `gradients.h` (lent memory), `memory.h`, `dlpack.h`, `gpu.h`, `log.h`
 *
 * For launchers: `cluster.h`, `store.h`
 *
 * Each of these headers has an example near its top, and a test runs them all. To be short, the examples neither check
 * each status nor destroy what they make. Your program must do both. They begin with a `strategy` of two replicas, an
 * empty `config`, a function `step`, and an `error` that is NULL. An example in a step has its `replica`.
 */
#ifndef MDIST_MDIST_H
#define MDIST_MDIST_H

#include <mdist/base.h>
#include <mdist/checkpoint.h>
#include <mdist/cluster.h>
#include <mdist/collective.h>
#include <mdist/config.h>
#include <mdist/context.h>
#include <mdist/dataset.h>
#include <mdist/dataset_sources.h>
#include <mdist/dataset_transforms.h>
#include <mdist/dlpack.h>
#include <mdist/elastic.h>
#include <mdist/gpu.h>
#include <mdist/gradients.h>
#include <mdist/group.h>
#include <mdist/input.h>
#include <mdist/log.h>
#include <mdist/loop.h>
#include <mdist/loss.h>
#include <mdist/membership.h>
#include <mdist/memory.h>
#include <mdist/message.h>
#include <mdist/operator.h>
#include <mdist/prepared.h>
#include <mdist/serve.h>
#include <mdist/status.h>
#include <mdist/store.h>
#include <mdist/strategy.h>
#include <mdist/tensor.h>
#include <mdist/threads.h>
#include <mdist/value.h>
#include <mdist/variable.h>
#include <mdist/work.h>

#endif
