// SPDX-License-Identifier: Apache-2.0
// Options of a distribution, as the caller gave them and the configuration completes them.
#pragma once

#include <mdist/input.h>

#include "data/distribute/plan.h"
#include "strategy/strategy.h"

namespace mdist {

struct InputChoices {
    Dealing dealing;
    uint32_t flags = 0;
    bool by_replica = false; // a dataset for each replica
    bool on_devices = true;  // elements lie on their replicas' GPUs
    uint64_t ahead = 0;      // elements of each replica; 0: none

    bool whole_steps() const { return (flags & MDIST_INPUT_WHOLE_STEPS) != 0; }
    /// What all workers must have alike: lines.
    std::string text() const;
};

/// For mdist_distribute_dataset. Throws INVALID_ARGUMENT, UNSUPPORTED.
InputChoices choices_for_dataset(const mdist_input_options_t *options, const Strategy &strategy, const Span &span);
/// For mdist_distribute_from_function.
InputChoices choices_for_function(const mdist_input_options_t *options, const Strategy &strategy, const Span &span);

} // namespace mdist
