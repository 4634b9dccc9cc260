// SPDX-License-Identifier: Apache-2.0
// Generation: which workers work together, by rank, and what they need to find each other. It exists when the store has
// written it. The next one replaces it for good. A job of fixed size has one, which ends with its first loss. In an
// elastic job it also says which replicas each worker has, and from which commit they go on.
//
// Commits are copies of the training's state that workers keep in memory. A commit consists of one part per replica. A
// worker that has passed the barrier of a commit has *marked* it: all parts were in place then. A worker may hold parts
// of replicas that are not its own, as their holder. Plain data; no state.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "membership/protocol/options.h"
#include "membership/protocol/secret.h"

namespace mdist {

inline constexpr uint32_t kMostWorkers = 65536;
inline constexpr uint32_t kMostHeldCommits = 4; // a worker keeps two at most
inline constexpr uint32_t kMostRanges = 65536;  // of one worker in one commit

/// A commit that was not marked may be made again, by a later generation, with the same number.
struct CommitId {
    uint64_t number = 0;
    uint32_t generation = 0; // that made it
    auto operator<=>(const CommitId &) const = default;
    template <class Self, class Payload>
    static void fields(Self &self, Payload &payload) {
        payload(self.number, self.generation);
    }
};

/// Replica ids from `first` up to, but not including, `last`.
struct ReplicaRange {
    uint32_t first = 0;
    uint32_t last = 0;
    bool operator==(const ReplicaRange &) const = default;
    template <class Self, class Payload>
    static void fields(Self &self, Payload &payload) {
        payload(self.first, self.last);
    }
};

/// What one worker holds of a commit.
struct HeldCommit {
    CommitId id;
    bool marked = false;
    std::vector<ReplicaRange> whole; // the replicas whose parts are here, complete and checked

    template <class Self, class Payload>
    static void fields(Self &self, Payload &payload) {
        payload(self.id, self.marked, limited(self.whole, kMostRanges));
    }
};

using Holdings = std::vector<HeldCommit>;

/// What a worker tells the store with its proof.
struct Joining {
    WorkerId id = 0;
    uint32_t generation = 0; // that it believes to be in
    Endpoint listens;
    std::string agreement;
    std::string run; // of a job of fixed size, as in MembershipOptions

    template <class Self, class Payload>
    static void fields(Self &self, Payload &payload) {
        payload(self.id, self.generation, self.listens, self.agreement, self.run);
    }
};

/// What a worker says when it asks for the next generation.
struct Ask {
    Holdings held;         // the commits that it has parts of
    uint64_t limit_ns = 0; // how long it waits for the answer
    WorkerId missed = 0;   // the member that it waited for in vain, if its generation ended by that; else 0
    bool leaves = false;   // it would leave the job

    template <class Self, class Payload>
    static void fields(Self &self, Payload &payload) {
        payload(self.limit_ns, self.missed, self.leaves, limited(self.held, kMostHeldCommits));
    }
};

struct Generation {
    struct Member {
        WorkerId id = 0;
        Endpoint listens;
        ReplicaRange replicas = {}; // only in an elastic job
    };
    uint32_t number = 0; // from 1; 0 means that there is none
    SessionId session = {};
    Digest pulse = {};              // names the session in datagrams if there is no secret
    std::optional<CommitId> resume; // none: the training begins
    std::vector<Member> members;    // by rank

    /// Returns its rank, or none if it is no member.
    std::optional<uint32_t> rank_of(WorkerId id) const;
};

/// What a worker of a large job of fixed size is told in place of a Generation: whom it is to connect with.
struct Excerpt {
    SessionId session = {};
    Digest pulse = {};
    uint32_t size = 0;                      // of the job
    std::map<uint32_t, Endpoint> some = {}; // by rank: the worker itself and its neighbors
};

/// Deals replica ids to workers in consecutive spans. The numbers of two workers differ by at most 1; lower ranks have
/// more. Takes 1 to `replicas` workers.
std::vector<ReplicaRange> deal_replicas(uint32_t replicas, uint32_t workers);

std::string encode(const Joining &joining);
std::optional<Joining> decode_joining(std::string_view bytes);
std::string encode(const Generation &generation);
std::optional<Generation> decode_generation(std::string_view bytes);
std::string encode(const Excerpt &excerpt);
std::optional<Excerpt> decode_excerpt(std::string_view bytes);
std::string encode(const Ask &ask);
std::optional<Ask> decode_ask(std::string_view bytes);

} // namespace mdist
