// SPDX-License-Identifier: Apache-2.0
// SplitPlan: who splits a large sum with whom (split_sum.h). It depends only on the layout of the job, so all workers
// have the same plan. Immutable; any thread.
//
// The data is cut into pieces, one for each owner of results. At each level, blocks of consecutive workers join to
// larger ones, until one block holds all workers. A group has one worker of each of these blocks. They hold the same
// pieces, each summed over its own block. They split them: each keeps some, and sums what the others have of these.
//
//   mates   Where hosts have several workers, the first level is among those of one host. So no byte crosses between
//           hosts twice.
//   pairs   If the number of hosts has large prime factors, some hosts give all that they hold to the host before, and
//           rest until they get the results from there.
//   hosts   Workers in the same place on some hosts. A few hosts are one group. More are split at several levels, so
//           that a worker has few peers.
//
// Four hosts of two workers, in groups of two hosts:
//
//           host 0        host 1        host 2        host 3
//   mates   0 <-> 1       2 <-> 3       4 <-> 5       6 <-> 7         then even workers hold the lower half
//   hosts   0 <-> 2, 1 <-> 3            4 <-> 6, 5 <-> 7              a quarter
//   hosts   0 <-> 4, 1 <-> 5, 2 <-> 6, 3 <-> 7                        one piece
#pragma once

#include "comm/schedules/join_plan.h"
#include "reduce/partials.h"

#include <cstdint>
#include <vector>

namespace mdist {

class SplitPlan {
  public:
    static constexpr uint32_t kNobody = UINT32_MAX;

    /// Some of the pieces, which lie one behind another.
    struct Pieces {
        uint32_t begin = 0;
        uint32_t end = 0;
    };
    struct Member {
        uint32_t worker;
        uint32_t block; // that it speaks for, of cut()
        Pieces keeps;   // after the level; none if it rests
        bool rests() const { return keeps.begin == keeps.end; }
    };

    /// Where a host rests, its neighbour has twice the bytes on its wire. So a prime number of hosts up to this one is
    /// a group instead. That costs less up to 17 hosts at 200 Gbit/s, and beyond 47 at 1 Gbit/s.
    static constexpr uint32_t kLargestPrime = 23;
    /// Sizes of groups for so many hosts, level by level: at most `most`, or a prime number up to kLargestPrime; as few
    /// levels as possible, and about equal. If the number of hosts has larger prime factors, their product is a little
    /// smaller.
    static std::vector<uint32_t> groups_of(uint32_t hosts, uint32_t most);

    /// Each host has `per_host` workers, with consecutive ranks. `groups` are the sizes of the groups of hosts, level
    /// by level. There are as many hosts as their product, or up to twice as many.
    SplitPlan(const Spans &spans, uint32_t per_host, const std::vector<uint32_t> &groups);

    /// The number of levels that a worker takes part in.
    uint32_t levels(uint32_t worker) const;
    /// A worker's group at a level, in the order of their blocks. The worker itself is one of them.
    std::vector<Member> group(uint32_t level, uint32_t worker) const;
    bool has_mates() const { return per_host_ > 1; }
    /// How many messages a worker sends to its groups at most, all levels together, pairs left out.
    uint32_t messages() const;
    /// Those that a worker exchanges headers with before a sum, in ascending order from the next one on: all that it is
    /// in a group with, and that it joins with in other operations. Without the latter, some that are in different
    /// operations would not hear of each other.
    std::vector<uint32_t> peers(uint32_t worker, const JoinPlan &joins) const;
    /// The tree, cut into the subtrees that the blocks hold completely before a level.
    const reduce::Cut &cut(uint32_t level) const { return cuts_[level]; }

    uint32_t pieces() const { return per_host_ * hosts_; }
    /// The worker that sums a piece; and the one that rests meanwhile, on the next host, or kNobody.
    uint32_t owner(uint32_t piece) const { return owners_[piece]; }
    uint32_t resting(uint32_t piece) const;

  private:
    enum class Kind { kMates, kPairs, kHosts };
    struct Level {
        Kind kind;
        uint32_t size;   // of a group
        uint32_t stride; // of mates and hosts: how far apart the places of its members are
    };

    uint32_t host_of(uint32_t worker) const { return worker / per_host_; }
    bool rests(uint32_t worker) const { return host_of(worker) < 2 * pairs_ && host_of(worker) % 2 == 1; }
    /// A worker's place among those that do not rest. One that rests has its neighbour's.
    uint32_t place(uint32_t worker) const;
    uint32_t worker_at(uint32_t place) const; // that does not rest
    /// The number of a worker in its group, of mates or hosts.
    uint32_t number(const Level &level, uint32_t worker) const { return place(worker) / level.stride % level.size; }
    uint32_t block(const Level &level, uint32_t worker) const;
    Pieces holds(uint32_t level, uint32_t worker) const;

    const uint32_t per_host_;
    uint32_t hosts_ = 1;     // that do not rest
    const uint32_t workers_; // all
    uint32_t pairs_;
    std::vector<Level> levels_;
    std::vector<reduce::Cut> cuts_;
    std::vector<uint32_t> owners_; // by piece
};

} // namespace mdist
