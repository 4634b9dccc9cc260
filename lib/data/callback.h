// SPDX-License-Identifier: Apache-2.0
// Calling a function that the caller gave to a dataset, and what it is to write into. Any thread.
#pragma once

#include "data/dataset.h"
#include "util/failure.h"
#include "util/function_ref.h"

#include <vector>

namespace mdist {

/// Runs `call` of the caller's `what` function ("map") and returns what it returns. Whatever it throws leaves as a
/// Failure CALLBACK, reason "<what>_threw", but for the unwinding of a thread that ends in it, which nobody may stop.
int32_t call_function(const char *what, FunctionRef<int32_t()> call);
/// The CALLBACK of a function that returned `result`, reason "<what>_returned".
Failure function_returned(const char *what, int32_t result);

/// What a caller said that its function writes, checked: INVALID_ARGUMENT. `rows_of` is what MDIST_ROWS as the first
/// dimension counts, or null where it may not stand there.
std::vector<Spec> checked_outputs(const mdist_tensor_t *outputs, std::size_t count, const Spec *rows_of);
/// Memory for one call, with `rows` where the first dimension is kUnknown.
std::vector<Tensor> allocate_outputs(const std::vector<Spec> &spec, uint64_t rows);

void describe_all(const std::vector<Tensor> &tensors, std::vector<mdist_tensor_t> &out);
void describe_all(const Element &element, std::vector<mdist_tensor_t> &out);

} // namespace mdist
