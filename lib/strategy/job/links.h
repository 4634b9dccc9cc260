// SPDX-License-Identifier: Apache-2.0
// Makes what moves bytes between workers: shared memory within a host, sockets between hosts.
#pragma once

#include "comm/workers/workers.h"
#include "reduce/spans.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mdist {

/// The configuration of links, the same on all workers.
struct LinkSettings {
    std::string implementation; // communication.implementation
    bool checksums = true;
    uint64_t timeout_ns = 0; // communication.join_timeout
    uint64_t call_timeout_ns = 0;
    bool lends_memory = true; // variables may lie in memory that workers of this host read; it ends with the links
};

/// Makes links between all workers of the job, or between those of `ranks`. All workers of the job call it together,
/// also those that get no links. `threads` is the number of this worker's threads that wait for others. `spans` are of
/// the workers that are linked, in their order. Throws what Membership and the links throw.
WorkerLinks make_links(Membership &membership, const LinkSettings &settings, uint32_t threads, const Spans &spans,
                       const std::vector<uint32_t> *ranks = nullptr);

} // namespace mdist
