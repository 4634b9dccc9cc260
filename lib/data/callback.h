// SPDX-License-Identifier: Apache-2.0
// Calls the functions that a program gave to a dataset, and prepares the memory that they write into. Any thread.
#pragma once

#include "data/dataset.h"
#include "util/failure.h"
#include "util/function_ref.h"

#include <vector>

namespace mdist {

/// Runs `call`, which calls the caller's `what` function ("map"), and returns its status: MDIST_OK or `also`.
/// Any other status throws CALLBACK, reason "<what>_returned". An exception throws CALLBACK, reason "<what>_threw".
/// If the function ends its thread, the unwinding passes through: nobody may stop it.
int32_t call_function(const char *what, FunctionRef<int32_t()> call, int32_t also = MDIST_OK);

/// Checks the outputs that a caller declared for its function. Throws INVALID_ARGUMENT. MDIST_UNKNOWN_LENGTH as the
/// first dimension means the rows of `rows_of`; it is refused if `rows_of` is null.
std::vector<Spec> checked_outputs(const mdist_tensor_t *outputs, std::size_t count, const Spec *rows_of);
/// Allocates the outputs of one call. `rows` stands in for a first dimension that is kUnknown.
std::vector<Tensor> allocate_outputs(const std::vector<Spec> &spec, uint64_t rows);

void describe_all(const std::vector<Tensor> &tensors, std::vector<mdist_tensor_t> &out);
void describe_all(const Element &element, std::vector<mdist_tensor_t> &out);

} // namespace mdist
