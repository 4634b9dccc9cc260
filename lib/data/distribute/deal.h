// SPDX-License-Identifier: Apache-2.0
// Elements for replicas: sub-batches taken in turns, and what becomes of replicas and workers for whom there are none.
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
    /// A step of which only some replicas have a sub-batch: the others get one of no rows; else that is the end.
    bool partial = true;
    /// Makes what an iteration agrees by; none: this worker knows alone when a step takes place.
    std::function<std::shared_ptr<Agreement>()> agreement = nullptr;
    /// Of each replica its GPU, where what it gets lies there; -1: on the host. None: on the host.
    std::vector<int32_t> gpus = {};
    std::string text = {};   // how it was dealt out, for people
    std::string source = {}; // Dataset::description of the result
    std::string place = {};  // what positions but the first depend on, as in Dataset::layout
};

/// Elements of `deal.replicas` sub-batches, one for each replica: consecutive ones of `parts`; or, if there is one of
/// them for each replica, the next of each. With an agreement, a step takes place while any worker has something for
/// it; and everybody's rows are known, as they are where parts come with them (Element::step_rows), or of one worker.
std::shared_ptr<Dataset> make_dealt(std::vector<std::shared_ptr<const Dataset>> parts, Deal deal);

/// What Deal::text said; "" for a dataset that was not dealt out.
std::string text_of_deal(const Dataset &dataset);

} // namespace mdist
