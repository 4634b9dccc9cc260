// SPDX-License-Identifier: Apache-2.0
// MembershipOptions: the settings of a worker's membership. All of its parts know them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "membership/net/endpoint.h"
#include "membership/net/listen_at.h"
#include "membership/protocol/roster.h"

namespace mdist {

/// Names one session: a single forming of a job. It is random, so a stale worker cannot know it.
using SessionId = std::array<unsigned char, 16>;

/// Names one process of an elastic job for its whole life. The launcher gives it, or the worker draws it at random. In
/// a job of fixed size it is the rank plus 1. Never 0.
using WorkerId = uint64_t;

inline constexpr std::size_t kMostAgreementBytes = 64 * 1024;
inline constexpr std::size_t kMostRunBytes = 1024;
inline constexpr std::size_t kMostJoinBytes = kMostAgreementBytes + kMostRunBytes + 512; // what comes with a PROOF
inline constexpr std::size_t kMostBlobBytes = 64 * 1024;                                 // of one worker in an exchange

struct MembershipOptions {
    uint32_t rank = 0;
    uint32_t size = 1;
    WorkerId elastic_id = 0;   // in an elastic job, to which rank and size come with each generation; else 0
    std::string store;         // host:port
    bool serves_store = false; // this worker runs the store and binds that address
    std::string job;           // name of the job; workers of another job are refused
    uint32_t restart = 0;      // how often the launcher has restarted the job; workers with a lower one are stale
    std::string secret;        // empty: none
    std::string run;           // what tells runs of a job apart, one "NAME = value" per line (cluster/run.h)
    uint32_t pid = 0;          // of this process, for messages
    uint32_t started_as = UINT32_MAX; // the rank that its launcher gave it, for messages; MDIST_NONE: none
    std::string agreement;            // must be the same text on all workers, one "key = value" per line
    std::vector<std::string> names;   // for messages, by rank: "worker 1 (10.0.0.2:4400)"; may be empty
    std::string size_advice;          // for messages: where the size comes from, and what to do about it; "": none
    uint64_t join_timeout_ns = 0;
    uint64_t heartbeat_timeout_ns = 0;
    ListenAt listen_at;
};

/// Returns "worker 1 (10.0.0.2:4400, pid 77)". Takes the address from the names, else from the roster. If the roster
/// does not know the worker, there is no pid.
std::string worker_name(const MembershipOptions &options, const Roster &roster, uint32_t rank);
/// "10 s", "0.5 s"
std::string seconds_text(uint64_t ns);

} // namespace mdist
