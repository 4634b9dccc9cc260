// SPDX-License-Identifier: Apache-2.0
// Which variants of the kernels this build has, and which of them this processor can run. Any thread may ask.
#pragma once

#include "reduce/kernels.h"
#include "reduce/reduce.h"

namespace mdist::reduce {

InstructionSet best_instruction_set() noexcept;
/// The baseline's for a variant that this build does not have.
const KernelTable &table_of(InstructionSet set) noexcept;

} // namespace mdist::reduce
