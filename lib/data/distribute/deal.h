// SPDX-License-Identifier: Apache-2.0
// Deals sub-batches out to the replicas of a worker, step by step. Decides what happens when some replicas or workers
// have none left.
#pragma once

#include "data/agreement.h"
#include "data/dataset.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mdist {

struct Deal {
    uint64_t replicas = 1; // of this worker
    /// If only some replicas have a sub-batch in a step, true gives the others one of no rows. False ends the dataset.
    bool partial = true;
    /// Makes the agreement of an iteration. Null: this worker knows by itself whether a step takes place.
    std::function<std::shared_ptr<Agreement>()> agreement = nullptr;
    /// The GPU of each replica whose elements lie on a GPU; -1: they lie on the host. Empty: all lie on the host.
    std::vector<int32_t> gpus = {};
    std::string text = {};   // how it was dealt out, for people
    std::string source = {}; // Dataset::description of the result
    std::string place = {};  // Dataset::layout of every position except the first
};

/// Makes elements of `deal.replicas` sub-batches, one for each replica. `parts` is either one dataset, which the
/// replicas take in turn, or one dataset for each replica.
/// With an agreement and `deal.partial`, a step takes place as long as any worker has a sub-batch for it.
/// The rows of every replica of the job are known in three cases: with an agreement, if the elements of `parts` come
/// with them (Element::step_rows), or if there is one worker.
std::shared_ptr<Dataset> make_dealt(std::vector<std::shared_ptr<const Dataset>> parts, Deal deal);

} // namespace mdist
