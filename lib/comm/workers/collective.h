// SPDX-License-Identifier: Apache-2.0
// Collective: what one worker is asked to do in a collective of all replicas of the job.
#pragma once

#include "comm/call/reduce_row.h"
#include "comm/plan/lengths.h"
#include "comm/workers/workers.h"

#include <vector>

namespace mdist::workers {

/// Borrows everything it points at.
struct Collective {
    Workers &workers;
    const Call *const *calls; // calls[i] belongs to local replica i; the same on all workers, and checked
    uint64_t timeout_ns;

    const Call &call() const { return *calls[0]; }
    Span span() const { return workers.spans()[workers.self()]; }
    // A replica is named by its position in the tree.
    uint32_t worker_of(uint32_t replica) const { return workers.spans().worker_of(workers.slot_of(replica)); }
    bool has(uint32_t replica) const { return span().has(workers.slot_of(replica)); }
    /// The call of a replica that this worker has.
    const Call &call_of(uint32_t replica) const { return *calls[workers.slot_of(replica) - span().first]; }
    /// The lengths of a call in which all replicas have the same.
    CallLengths same_lengths() const { return CallLengths(Calls(calls, 0, workers.replica_count())); }
};

/// Whether the call, an all-reduce, goes through shared memory.
bool shares(const Workers &workers, const Call &call);

/// The rows of an all-reduce, one for each dtype.
std::vector<ReduceRow> rows_of(const Collective &collective);
/// The rows of other sums, by buffer. Each worker gets its part of the results.
std::vector<ReduceRow> rows_of_parts(const Collective &collective, const Lengths &lengths);

/// Copies local replica 0's outputs to the outputs of this worker's other replicas.
void spread(const Collective &collective);

} // namespace mdist::workers
