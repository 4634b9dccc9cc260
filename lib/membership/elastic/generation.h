// SPDX-License-Identifier: Apache-2.0
// Generation: one membership of an elastic job. It says which workers train, which replicas each of them has, and from
// which commit they go on. A generation exists when the store has written it. The next one replaces it for good.
//
// Commits are copies of the training's state that workers keep in memory. A commit consists of one part per replica. A
// worker that has passed the barrier of a commit has *marked* it: all parts were in place then. A worker may hold parts
// of replicas that are not its own, as their holder. Plain data; no state.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "membership/options.h"
#include "membership/secret.h"

namespace mdist {

/// Names one process for its whole life. The launcher gives it, or the worker draws it at random. Never 0.
using WorkerId = uint64_t;

inline constexpr uint32_t kMostElasticWorkers = 4096;
inline constexpr uint32_t kMostHeldCommits = 4; // a worker keeps two at most

/// A commit that was not marked may be made again, by a later generation, with the same number.
struct CommitId {
    uint64_t number = 0;
    uint32_t generation = 0; // that made it
    auto operator<=>(const CommitId &) const = default;
};

/// Replica ids from `first` up to, but not including, `last`.
struct ReplicaRange {
    uint32_t first = 0;
    uint32_t last = 0;
    bool operator==(const ReplicaRange &) const = default;
};

/// What one worker holds of a commit.
struct HeldCommit {
    CommitId id;
    bool marked = false;
    std::vector<ReplicaRange> whole; // the replicas whose parts are here, complete and checked
};

using Holdings = std::vector<HeldCommit>;

/// What a worker says when it asks for the next generation.
struct Ask {
    Holdings held;         // the commits that it has parts of
    uint64_t limit_ns = 0; // how long it waits for the answer
    WorkerId missed = 0;   // the member that it waited for in vain, if its generation ended by that; else 0
};

struct Generation {
    struct Member {
        WorkerId id = 0;
        Endpoint listens;
        ReplicaRange replicas;
    };
    uint32_t number = 0; // from 1; 0 means that there is none
    SessionId session = {};
    Digest pulse = {};              // as in Formed
    std::optional<CommitId> resume; // none: the training begins
    std::vector<Member> members;    // by rank

    /// Returns its rank, or none if it is no member.
    std::optional<uint32_t> rank_of(WorkerId id) const;
};

std::string encode(const Generation &generation);
std::optional<Generation> decode_generation(std::string_view bytes);
std::string encode(const Ask &ask);
std::optional<Ask> decode_ask(std::string_view bytes);

} // namespace mdist
