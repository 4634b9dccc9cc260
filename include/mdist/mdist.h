/* SPDX-License-Identifier: Apache-2.0 */
/**
 * libmdist: mirrored training for every language. This header brings in all the others.
 *
 *   config      what kind of strategy, which devices         strategy    replicas, steps, merges
 *   tensor      a typed piece of memory                      collective  what replicas do together
 *   value       what goes into a run and comes out           variable    state with one copy per replica
 *   dataset     elements, and how they are made              input       elements dealt out to replicas
 *   gradients   reduced while the step computes              loss        divided by what all replicas have
 *   loop        steps over an iterator, and their outputs    serve       one program leads all workers' replicas
 *   checkpoint  variables and iterators in files             preemption  saving when one worker is told to go
 *   cluster     who else is in the job                       context     which strategy a thread works for
 *   gpu         which there are, and their streams           status, log what went wrong, and what goes on
 *
 * and for other languages than C:
 *
 *   step      a run on your own threads, without callbacks     work        collectives started, tested, waited for
 *   memory    memory that no garbage collector moves           dlpack      tensors to and from other libraries
 *
 * and for launchers:
 *
 *   store     where the workers of a job meet
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
#include <mdist/gpu.h>
#include <mdist/gradients.h>
#include <mdist/input.h>
#include <mdist/log.h>
#include <mdist/loop.h>
#include <mdist/loss.h>
#include <mdist/memory.h>
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
