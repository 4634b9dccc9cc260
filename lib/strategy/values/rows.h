// SPDX-License-Identifier: Apache-2.0
// Rows: some rows of a larger tensor, with their indices. A sum of rows is the list of all rows: rows with the same
// index are added only when they are written to the tensor.
#pragma once

#include "comm/call/call.h"
#include "strategy/job/party.h"
#include "strategy/values/value.h"

namespace mdist {

struct Rows {
    Tensor indices; // int64 [k]
    Tensor values;  // [k, ...]

    uint64_t count() const { return indices.elements(); }
    /// An index of `indices`, which are on the host.
    int64_t index(uint64_t i) const;

    /// Throws INVALID_ARGUMENT unless indices and values fit together.
    void check() const;
    /// "float32 [*, 4]"
    std::string text() const;
};

/// Makes a value of rows of larger tensors; `indices` says which rows. Throws INVALID_ARGUMENT unless the two fit
/// together.
ValuePointer value_of_rows(const Value &indices, const Value &values);
/// Returns the rows of a local replica from a value that has rows.
Rows rows_for(const Value &value, uint32_t local);

/// Throws unless `op` is a sum or mean and `dtype` supports it.
void check_rows_op(int32_t op, int32_t dtype);

/// Gathers the rows of all replicas, in replica order. Every replica calls it with the same kind and `subject`.
/// `subject` describes what else must be the same.
Rows gather_rows(Party &party, const Seat &seat, CallKind kind, const std::string &subject, const Rows &own,
                 uint64_t timeout_ns);

/// Divides the rows by the number of replicas, for a mean. If the rows lie on `device`, this follows the work given to
/// it.
void divide_rows(Device &device, const Rows &rows, uint32_t replicas);

} // namespace mdist
