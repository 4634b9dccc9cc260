/* SPDX-License-Identifier: Apache-2.0 */
/**
 * libmdist: synchronous data-parallel training for every language. This header includes all the others.
 *
 *     header      what it is for                               header      what it is for
 *     config      kind of strategy, choice of devices          strategy    replicas, steps, merges
 *     tensor      typed piece of memory                        collective  all-reduce, broadcast, gather ...
 *     value       inputs and outputs of a run                  variable    state with one copy per replica
 *     dataset     elements, and how to make them               input       distributing elements to replicas
 *     gradients   reducing gradients during the step           loss        scaling a loss by the whole batch
 *     loop        many steps over an iterator                  serve       one program drives all workers
 *     checkpoint  saving variables and iterators in files      preemption  saving when a worker is told to stop
 *     cluster     the workers of the job                       context     the current strategy of a thread
 *     gpu         GPUs and their streams                       group       collectives of some of the replicas
 *     log         messages of the library                      status      statuses and errors
 *     message     one replica sends to another
 *     operator    a reduction of your own                      elastic     jobs that lose and gain workers
 *
 * These are mainly for languages other than C, and for event loops:
 *
 *     step        a run on your own threads, no callbacks      work        collectives that you start, test, wait for
 *     memory      memory that no garbage collector moves       dlpack      exchanging tensors with other libraries
 *     call        collectives described once, run often
 *
 * This one is for launchers:
 *
 *     store       where the workers of a job meet
 *
 * Each of these headers has an example near its top, and a test runs them all. To be short, the examples neither check
 * each status nor destroy what they make. Your program must do both. They begin with a `strategy` of two replicas, an
 * empty `config`, a function `step`, and an `error` that is NULL. An example in a step has its `replica`.
 */
#ifndef MDIST_MDIST_H
#define MDIST_MDIST_H

#include <mdist/base.h>
#include <mdist/call.h>
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
#include <mdist/memory.h>
#include <mdist/message.h>
#include <mdist/operator.h>
#include <mdist/preemption.h>
#include <mdist/serve.h>
#include <mdist/status.h>
#include <mdist/step.h>
#include <mdist/store.h>
#include <mdist/strategy.h>
#include <mdist/tensor.h>
#include <mdist/value.h>
#include <mdist/variable.h>
#include <mdist/work.h>

#endif
