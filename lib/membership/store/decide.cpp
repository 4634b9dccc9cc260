// SPDX-License-Identifier: Apache-2.0
#include "membership/store/decide.h"

#include <algorithm>
#include <map>
#include <utility>

namespace mdist {
namespace {

/// The replicas of a commit whose part no worker has.
std::vector<uint32_t> missing_parts(const std::vector<Holdings> &held, const CommitId &id, uint32_t replicas) {
    std::vector<bool> there(replicas, false);
    for (const Holdings &of_worker : held)
        for (const HeldCommit &commit : of_worker)
            if (commit.id == id)
                for (const ReplicaRange &range : commit.whole)
                    for (uint32_t replica = range.first; replica < std::min(range.last, replicas); ++replica)
                        there[replica] = true;
    std::vector<uint32_t> missing;
    for (uint32_t replica = 0; replica < replicas; ++replica)
        if (!there[replica]) missing.push_back(replica);
    return missing;
}

using Pair = std::pair<uint32_t, uint32_t>;

/// Pairs without a link, lower rank first. One of the two that reports it is enough.
std::set<Pair> pairs_apart(const std::vector<std::set<uint32_t>> &unreachable) {
    std::set<Pair> apart;
    for (uint32_t rank = 0; rank < unreachable.size(); ++rank)
        for (const uint32_t other : unreachable[rank])
            if (other < unreachable.size() && other != rank) apart.insert(std::minmax(rank, other));
    return apart;
}

} // namespace

Recovery recover(const std::vector<Holdings> &held, uint32_t replicas) {
    std::set<CommitId> marked;
    for (const Holdings &of_worker : held)
        for (const HeldCommit &commit : of_worker)
            if (commit.marked) marked.insert(commit.id);
    Recovery recovery;
    for (auto id = marked.rbegin(); id != marked.rend(); ++id) {
        std::vector<uint32_t> missing = missing_parts(held, *id, replicas);
        if (missing.empty()) return {*id, {}};
        if (recovery.lost.empty()) recovery.lost = std::move(missing);
    }
    return recovery;
}

std::set<uint32_t> choose_dropped(const std::vector<std::set<uint32_t>> &unreachable) {
    std::set<Pair> apart = pairs_apart(unreachable);
    std::set<uint32_t> dropped;
    while (!apart.empty()) {
        std::map<uint32_t, uint32_t> bad; // by rank: links that it lacks
        for (const auto &[low, high] : apart) ++bad[low], ++bad[high];
        // All that are left have as many possible links, so the one with most bad links has the fewest good ones. The
        // worst of all is the worse one of its pair.
        uint32_t worst = bad.begin()->first;
        for (const auto &[rank, count] : bad)
            if (count >= bad[worst]) worst = rank; // ranks ascend: of equals, the highest
        dropped.insert(worst);
        std::erase_if(apart, [&](const Pair &pair) { return pair.first == worst || pair.second == worst; });
    }
    return dropped;
}

} // namespace mdist
