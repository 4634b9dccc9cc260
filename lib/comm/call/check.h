// SPDX-License-Identifier: Apache-2.0
// Checks one replica's call without looking at any other.
#pragma once

#include "comm/call/call.h"

namespace mdist {

/// Throws INVALID_ARGUMENT if a buffer of the program is wrong by itself. `which` is "input " or "output ".
void check_buffer(const mdist_buffer_t &buffer, const char *which, std::size_t i);
/// Throws INVALID_ARGUMENT if a call in a group of `parties` is wrong by itself.
void check_call(const Call &call, uint32_t parties);

/// Throws INVALID_ARGUMENT if a buffer's input and output differ in length.
void check_as_long(const Call &call, std::size_t buffer);
void check_op(int32_t op);
/// Whether the operation is defined for the type, if results need not have that type: a mean of integers may be real.
void check_op_defined(int32_t op, int32_t dtype);
void check_op_takes(int32_t op, int32_t dtype);

} // namespace mdist
