// SPDX-License-Identifier: Apache-2.0
// Options of a distribution: the caller's, completed from the configuration.
#pragma once

#include <mdist/input.h>

#include "data/distribute/plan.h"
#include "strategy/input/distribute.h"

namespace mdist {

struct InputChoices {
    Dealing dealing;
    uint32_t flags = 0;
    bool by_replica = false; // a dataset for each replica
    bool on_devices = true;  // elements lie on their replicas' GPUs
    uint64_t ahead = 0;      // elements that each replica prefetches; 0: none

    bool whole_steps() const { return (flags & MDIST_INPUT_WHOLE_STEPS) != 0; }
    /// Lines of text that must be the same on all workers.
    std::string text() const;
};

/// For mdist_distribute_dataset. Throws INVALID_ARGUMENT, UNSUPPORTED.
InputChoices choices_for_dataset(const mdist_input_options_t *options, const Inputs &inputs, const InputLayout &layout);
/// For mdist_distribute_from_function.
InputChoices choices_for_function(const mdist_input_options_t *options, const Inputs &inputs,
                                  const InputLayout &layout);

} // namespace mdist
