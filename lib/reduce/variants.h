// SPDX-License-Identifier: Apache-2.0
// Which variants of the kernels this build has, and which of them this processor can run. Any thread may ask.
#pragma once

#include "reduce/kernels.h"
#include "reduce/operation.h"

namespace mdist::reduce {

/// Whether this build has the variant and this processor can run it. Always true for the baseline.
bool available(InstructionSet set) noexcept;
/// The kernels of a variant; the baseline's if this build does not have that variant.
const KernelTable &table_of(InstructionSet set) noexcept;

} // namespace mdist::reduce
