// SPDX-License-Identifier: Apache-2.0
// Distributing: from what each worker brings along to a dataset whose elements all of them take together.
#pragma once

#include "comm/call.h"
#include "data/dataset.h"
#include "strategy/strategy.h"
#include "util/function_ref.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mdist {

/// What a worker brings along.
struct Contribution {
    std::vector<std::shared_ptr<const Dataset>> parts; // one for all of its replicas in turn, or one for each
    bool common_knowledge = false;                     // as in Plan
    bool whole_steps = false;                          // MDIST_INPUT_WHOLE_STEPS
    bool on_devices = false;                           // brought to the replicas' GPUs, if they have any
    uint64_t ahead = 0;                                // sub-batches of each replica, made on a thread; 0: none
    std::string source;                                // as in Plan
    std::string place;                                 // likewise
    std::string alike;                                 // lines that must be the same on all workers
    std::string text;                                  // for people
};

/// Deals out what `bring` gives, on this thread and without the turn. All workers call it together: what fails on one
/// of them fails alike on all, also where they disagree (MISMATCH). `kind` is the public function's.
std::shared_ptr<Dataset> distribute(const std::shared_ptr<Strategy> &strategy, CallKind kind,
                                    FunctionRef<Contribution(const Span &)> bring);

} // namespace mdist
