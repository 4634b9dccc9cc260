// SPDX-License-Identifier: Apache-2.0
// Placement: which ranks this launcher starts, and on which hosts. Plain data; any thread.
#pragma once

#include "launch/hostfile.h"
#include "launch/options.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mdist {

/// One worker's place in the job.
struct Place {
    uint32_t rank = 0;
    uint32_t local_rank = 0;
    uint32_t local_size = 1;
    uint32_t node_rank = 0;
    std::string host;    // as the user wrote it; "localhost" if there are no hosts
    bool remote = false; // started by --rsh
};

/// A host, and how many workers may run on it.
struct Host {
    std::string name; // as the user wrote it; "localhost" if there are no hosts
    uint32_t workers = 1;
    bool remote = false; // it is another one
};

struct Placement {
    uint32_t size = 0;  // workers of the job on all nodes; of an elastic job, the most
    uint32_t least = 0; // workers of an elastic job; 0: the job is not elastic
    uint32_t nodes = 1;
    uint32_t first_node = 0;   // the node rank of the first host
    std::vector<Host> hosts;   // where this launcher may start workers of an elastic job
    std::vector<Place> places; // the places that this launcher starts at first, by rank

    /// The first host that is another one; empty if there is none.
    std::string other_host() const {
        for (const Place &place : places)
            if (place.remote) return place.host;
        for (const Host &host : hosts)
            if (host.remote) return host.name;
        return "";
    }
};

/// The number of workers in words: "4", or "2:4" for an elastic job.
struct WorkerRange {
    uint32_t least = 0; // 0: the job is not elastic
    uint32_t most = 1;
};

/// A number of workers, at least 1. `what` names the option in the UsageError that it throws.
uint32_t parse_count(const std::string &text, const std::string &what);
/// Throws UsageError.
WorkerRange parse_worker_range(const std::string &text);

/// The hosts that lines name; the workers of a host that is named twice add up. Throws UsageError.
std::vector<Host> hosts_of_lines(const std::vector<HostLine> &lines);

/// Throws UsageError.
Placement place_workers(const LaunchOptions &options, uint32_t usable_cpus);

/// "1-3,8", "1-"; throws UsageError.
std::vector<bool> parse_ranks(const std::string &list, uint32_t size);

} // namespace mdist
