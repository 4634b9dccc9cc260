// SPDX-License-Identifier: Apache-2.0
// Collective: what one worker is asked to do in a collective of all replicas of the job.
#pragma once

#include "comm/call/reduce_row.h"
#include "comm/plan/lengths.h"
#include "comm/workers/worker_group.h"

#include <vector>

namespace mdist::workers {

/// Borrows everything it points at.
struct Collective {
    WorkerGroup &workers;
    const Call *const *calls; // calls[i] belongs to local replica i; the same on all workers, and checked
    uint64_t timeout_ns;
    std::vector<ReduceRow> rows; // for an all-reduce in order: its buffers, one row per dtype

    const Call &call() const { return *calls[0]; }
    Span span() const { return workers.spans()[workers.self()]; }
    // A replica is named by its position in the tree.
    uint32_t worker_of(uint32_t replica) const { return workers.spans().worker_of(workers.slot_of(replica)); }
    bool has(uint32_t replica) const { return span().has(workers.slot_of(replica)); }
    /// The call of a replica that this worker has.
    const Call &call_of(uint32_t replica) const { return *calls[workers.slot_of(replica) - span().first]; }
};

/// Whether the call, an all-reduce, goes through shared memory.
bool shares(const WorkerGroup &workers, const Call &call);
/// Makes the Collective, with the rows if it is an all-reduce that does not.
Collective collective_of(WorkerGroup &workers, const Call *const *calls, uint64_t timeout_ns);

/// The rows of the sums, by buffer. Each worker gets its part of the results.
std::vector<ReduceRow> rows_of_parts(const Collective &asked, const Lengths &lengths);

/// Copies local replica 0's outputs to the outputs of this worker's other replicas.
void spread(const Collective &collective);

} // namespace mdist::workers
