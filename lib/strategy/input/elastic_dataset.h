// SPDX-License-Identifier: Apache-2.0
// ElasticDataset: a distributed dataset of an elastic job. Its elements belong to replica ids, so a worker whose span
// has changed gets other sub-batches of the same global batches. It deals the dataset out anew for each generation. An
// iterator is then opened anew, at its position (strategy/elastic).
//
// Workers need not agree on elements if each sees the whole source (policy DATA). With a dataset for each replica, made
// by a function of the program, they tell each other for each element what they have. Any thread.
#pragma once

#include "strategy/input/distribute.h"
#include "util/function_ref.h"

#include <functional>
#include <memory>

namespace mdist {

/// Makes what this worker contributes with a layout.
using ElasticContribution = std::function<Contribution(const InputLayout &)>;

/// Told of each iterator.
using NoteIterator = std::function<void(const std::shared_ptr<Iterator> &)>;

/// Distributes what the function that `prepare` returns makes, now and in later generations. `prepare` runs on this
/// thread, without the turn; if it fails on one worker, it fails on all. All workers call this. `kind` names the public
/// function. `number` is the number of the dataset, the same on all workers.
std::shared_ptr<Dataset> distribute_elastic(const std::shared_ptr<Job> &job, CallKind kind, uint64_t number,
                                            FunctionRef<ElasticContribution()> prepare, NoteIterator note);

} // namespace mdist
