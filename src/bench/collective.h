// SPDX-License-Identifier: Apache-2.0
// Collective: what the bench has to know of each of them: how it is called, which part of the data a replica brings and
// gets, which numbers are to come out, and how time becomes bandwidth. Stateless; any thread.
//
// Data is `elements` long, cut into a part per replica. All but all_to_all work in place.
#pragma once

#include "handles.h"

#include <cstdint>
#include <vector>

namespace mdist {

struct Collective;

/// A line of the table.
struct Case {
    const Collective *collective;
    uint64_t elements; // a multiple of `replicas`; 0 for a barrier
    mdist_dtype_t dtype;
    mdist_reduce_op_t op;
    uint32_t root;
    uint32_t replicas;

    uint64_t part() const { return elements / replicas; }
    uint64_t bytes() const { return elements * mdist_dtype_size(dtype); }
    /// As nccl-tests counts them: elements of the smaller side.
    uint64_t count() const;
};

/// A case on one replica, and its memory.
struct Operands {
    const Case &what;
    mdist_replica_t *replica;
    uint32_t id;
    char *data;  // of what.bytes()
    char *apart; // as much, for outputs that can't be in place
};

struct Collective {
    const char *name = "";
    bool reduces = false;
    bool has_root = false;
    bool part_in = false;  // the input is a replica's part of the data
    bool part_out = false; // the output is
    bool apart = false;    // the output lies apart from the input
    mdist_status_t (*call)(const Operands &, const mdist_buffer_t &input, const mdist_buffer_t &output,
                           mdist_error_t **error) = nullptr;
    /// The number that belongs at `index` of replica `id`'s output.
    double (*wanted)(const Case &what, uint32_t id, uint64_t index) = nullptr;
    /// Bytes that a link carries for a byte of the data, at best.
    double (*bus_factor)(double replicas) = nullptr;

    bool has_data() const { return wanted != nullptr; }
};

/// In the order of the table.
const std::vector<Collective> &collectives();

/// The inputs of a check: fills what the replica brings, and overwrites what the results will be.
void fill(const Operands &operands);
/// Of this replica's output. What is exact must be; a division may be off by half of the last digit.
uint64_t count_wrong(const Operands &operands);
/// One operation.
mdist_status_t call(const Operands &operands, mdist_error_t **error);

} // namespace mdist
