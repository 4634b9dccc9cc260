// SPDX-License-Identifier: Apache-2.0
// Collectives as structs, to start or to prepare them.
#pragma once

#include "api/collective_call.h"

namespace mdist {

/// How the program knows the arrays of a description.
inline constexpr ArrayNames kDescriptionNames = {"the description's inputs", "the description's outputs",
                                                 "the description's input_parts", "the description's output_parts"};

/// Returns the call that is described. Throws for an unknown kind, and for a field that the kind has no use for.
Call described_call(const mdist_collective_description_t *description);

} // namespace mdist
