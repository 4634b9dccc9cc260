// SPDX-License-Identifier: Apache-2.0
// ElasticDataset: a distributed dataset of an elastic job. Its elements belong to replica ids, so a worker whose span
// has changed gets other sub-batches of the same global batches. It deals the dataset out anew for each generation. An
// iterator is then opened anew, at its position (strategy/elastic).
//
// Workers need not agree on elements: each sees the whole source (policy DATA). Any thread.
#pragma once

#include "strategy/input/distribute.h"

#include <functional>
#include <memory>
#include <mutex>

namespace mdist {

/// Makes what this worker contributes with a layout.
using ElasticContribution = std::function<Contribution(const InputLayout &)>;

/// Told of each iterator.
using NoteIterator = std::function<void(const std::shared_ptr<Iterator> &)>;

/// Distributes what `make` returns, now and in later generations. All workers call it. `kind` names the public
/// function.
std::shared_ptr<Dataset> distribute_elastic(const std::shared_ptr<Job> &job, CallKind kind, ElasticContribution make,
                                            NoteIterator note);

} // namespace mdist
