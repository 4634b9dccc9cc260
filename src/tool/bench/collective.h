// SPDX-License-Identifier: Apache-2.0
// Collective: what the bench knows about each collective. This is how to call it, which part of the data a replica
// passes and gets, which results are right, and how to compute bandwidth from time. Stateless; any thread.
//
// The data has `elements` elements, split into one part per replica. All collectives but all_to_all work in place.
#pragma once

#include "handles.h"

#include <cstdint>
#include <vector>

namespace mdist {

struct Collective;

/// One line of the table.
struct Case {
    const Collective *collective;
    uint64_t elements; // a multiple of `replicas`; 0 for a barrier
    mdist_dtype_t dtype;
    mdist_reduce_op_t op;
    uint32_t root;
    uint32_t replicas;

    uint64_t part() const { return elements / replicas; }
    uint64_t bytes() const { return elements * mdist_dtype_size(dtype); }
    /// The element count as nccl-tests defines it: elements of the smaller side.
    uint64_t count() const;
};

/// A case on one replica, with its memory.
struct Operands {
    const Case &what;
    mdist_replica_t *replica;
    uint32_t id;
    char *data;  // of what.bytes()
    char *apart; // as many bytes, for outputs that cannot be in place
};

struct Collective {
    const char *name = "";
    bool reduces = false;
    bool has_root = false;
    bool part_in = false;  // the input is a replica's part of the data
    bool part_out = false; // the output is a replica's part of the data
    bool apart = false;    // the output does not overlap the input
    mdist_status_t (*call)(const Operands &, const mdist_buffer_t &input, const mdist_buffer_t &output,
                           mdist_error_t **error) = nullptr;
    /// The right number at `index` of replica `id`'s output.
    double (*wanted)(const Case &what, uint32_t id, uint64_t index) = nullptr;
    /// Bytes that a link carries per byte of data, at best.
    double (*bus_factor)(double replicas) = nullptr;

    bool has_data() const { return wanted != nullptr; }
};

/// The collectives, in the order of the table.
const std::vector<Collective> &collectives();

/// Prepares a check: fills the replica's input, and overwrites the memory for results.
void fill(const Operands &operands);
/// Counts wrong elements of this replica's output. Exact results must match. A division may be off by half of the last
/// digit.
uint64_t count_wrong(const Operands &operands);
/// Performs one operation.
mdist_status_t call(const Operands &operands, mdist_error_t **error);

} // namespace mdist
