// SPDX-License-Identifier: Apache-2.0
// A small training for the simulation of elastic jobs, with the commit protocol in plain form. Every replica has a
// state of its own and all share another one. A step mixes them, in a way in which any wrong order, lost step or stale
// part shows in the result. undisturbed() computes that result without workers.
#pragma once

#include "membership/protocol/generation.h"
#include "util/payload.h"

#include <map>
#include <string>
#include <vector>

namespace mdist::test {

inline uint64_t mix(uint64_t a, uint64_t b) {
    a ^= b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2);
    a ^= a >> 31;
    return a * 0xbf58476d1ce4e5b9;
}

using Parts = std::map<uint32_t, uint64_t>; // by replica: its own state

struct Training {
    uint64_t step = 0;
    uint64_t shared = 1;
    Parts parts;

    static Parts initial(const ReplicaRange &replicas) {
        Parts parts;
        for (uint32_t replica = replicas.first; replica < replicas.last; ++replica) parts[replica] = replica + 1;
        return parts;
    }
    /// The parts after the next step.
    Parts stepped() const {
        Parts next;
        for (const auto &[replica, state] : parts) next[replica] = mix(mix(state, shared), step * 1000003 + replica);
        return next;
    }
    /// Ends the step with what all replicas have computed.
    void finish_step(const Parts &all, Parts mine) {
        for (const auto &[replica, state] : all) shared = mix(shared, state);
        parts = std::move(mine);
        ++step;
    }
};

inline uint64_t undisturbed(uint32_t replicas, uint64_t steps) {
    Training training;
    training.parts = Training::initial({0, replicas});
    while (training.step < steps) {
        const Parts next = training.stepped();
        training.finish_step(next, next);
    }
    return training.shared;
}

inline void write_parts(PayloadWriter &out, const Parts &parts) {
    out.number(static_cast<uint32_t>(parts.size()));
    for (const auto &[replica, state] : parts) out.number(replica).number(state);
}

inline Parts read_parts(PayloadReader &in) {
    Parts parts;
    const auto count = in.number<uint32_t>();
    for (uint32_t i = 0; i < count && !in.bad(); ++i) {
        const auto replica = in.number<uint32_t>();
        parts[replica] = in.number<uint64_t>();
    }
    return parts;
}

/// A copy of the training in the memory of one worker: what all share, and the parts of some replicas.
struct Commit {
    CommitId id;
    bool marked = false;
    uint64_t step = 0;
    uint64_t shared = 0;
    Parts parts;
};

inline Holdings holdings_of(const std::vector<Commit> &commits) {
    Holdings held;
    for (const Commit &commit : commits) {
        HeldCommit one{commit.id, commit.marked, {}};
        for (const auto &[replica, state] : commit.parts) {
            if (!one.whole.empty() && one.whole.back().last == replica)
                ++one.whole.back().last;
            else
                one.whole.push_back({replica, replica + 1});
        }
        held.push_back(std::move(one));
    }
    return held;
}

} // namespace mdist::test
