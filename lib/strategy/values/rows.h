// SPDX-License-Identifier: Apache-2.0
// Rows: some rows of a larger tensor, and which ones they are. A sum of rows is all of them together: nobody adds up
// those of one index before they are put in place.
#pragma once

#include "comm/call.h"
#include "strategy/replica.h"

namespace mdist {

struct Rows {
    Tensor indices; // int64 [k]
    Tensor values;  // [k, ...]

    uint64_t count() const { return indices.elements(); }
    /// Of indices on the host.
    int64_t index(uint64_t i) const;

    /// Throws INVALID_ARGUMENT unless the two go together.
    void check() const;
    /// "float32 [*, 4]"
    std::string text() const;
};

/// What a value holds for a local replica; it has rows.
Rows rows_for(const Value &value, uint32_t local);

/// Throws unless a sum or mean of rows is asked for, of a type that has it.
void check_rows_op(int32_t op, int32_t dtype);

/// The rows of all replicas, in replica order. Every replica calls it by the same kind and `subject`, which says what
/// else must agree.
Rows gather_rows(Replica &replica, CallKind kind, const std::string &subject, const Rows &own, uint64_t timeout_ns);

/// Divides the rows, for a mean over that many replicas; behind what `device` was given, if they lie there.
void divide_rows(Device &device, const Rows &rows, uint32_t replicas);

} // namespace mdist
