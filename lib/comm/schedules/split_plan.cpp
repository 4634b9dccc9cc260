// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/split_plan.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace mdist {
namespace {

/// The prime factors of a number, largest first; empty if one is larger than `most`.
std::vector<uint32_t> factors_of(uint32_t number, uint32_t most) {
    std::vector<uint32_t> factors;
    for (uint32_t factor = 2; number > 1 && factor <= most; ++factor)
        for (; number % factor == 0; number /= factor) factors.insert(factors.begin(), factor);
    return number == 1 ? factors : std::vector<uint32_t>();
}

} // namespace

std::vector<uint32_t> SplitPlan::groups_of(uint32_t hosts, uint32_t most) {
    std::vector<uint32_t> factors;
    for (uint32_t product = hosts; product > 1 && factors.empty(); --product)
        factors = factors_of(product, std::max(most, kLargestPrime));
    const auto fits = [&](uint32_t size) {
        return size <= most || std::find(factors.begin(), factors.end(), size) != factors.end();
    };
    for (std::size_t levels = 1; levels <= factors.size(); ++levels) {
        std::vector<uint32_t> groups(levels, 1);
        for (const uint32_t factor : factors) *std::min_element(groups.begin(), groups.end()) *= factor;
        if (std::all_of(groups.begin(), groups.end(), fits)) return groups;
    }
    return {};
}

SplitPlan::SplitPlan(const Spans &spans, uint32_t per_host, const std::vector<uint32_t> &groups)
    : per_host_(per_host), workers_(spans.workers()) {
    hosts_ = std::accumulate(groups.begin(), groups.end(), 1u, std::multiplies<>());
    pairs_ = workers_ / per_host_ - hosts_;
    if (per_host_ > 1) levels_.push_back({Kind::kMates, per_host_, 1});
    if (pairs_ > 0) levels_.push_back({Kind::kPairs, 2, 0});
    uint32_t stride = per_host_;
    for (const uint32_t size : groups) {
        if (size > 1) levels_.push_back({Kind::kHosts, size, stride});
        stride *= size;
    }
    if (levels_.empty()) levels_.push_back({Kind::kHosts, 1, 1}); // a single worker
    for (const Level &level : levels_) {
        std::vector<uint32_t> counts;
        for (uint32_t worker = 0; worker < workers_; ++worker) {
            counts.resize(block(level, worker) + 1);
            counts.back() += spans[worker].count();
        }
        cuts_.emplace_back(Spans(counts));
    }
    owners_.resize(pieces());
    for (uint32_t worker = 0; worker < workers_; ++worker)
        if (!rests(worker)) owners_[holds(static_cast<uint32_t>(levels_.size()), worker).begin] = worker;
}

uint32_t SplitPlan::place(uint32_t worker) const {
    return worker - std::min((host_of(worker) + 1) / 2, pairs_) * per_host_;
}

uint32_t SplitPlan::worker_at(uint32_t place) const {
    return place + std::min(place / per_host_, pairs_) * per_host_;
}

/// A worker's block before a level.
uint32_t SplitPlan::block(const Level &level, uint32_t worker) const {
    switch (level.kind) {
        case Kind::kMates:
            return worker;
        case Kind::kPairs:
            return host_of(worker);
        case Kind::kHosts:
            break;
    }
    return place(worker) / level.stride;
}

uint32_t SplitPlan::levels(uint32_t worker) const {
    if (rests(worker)) return per_host_ > 1 ? 2 : 1;
    return static_cast<uint32_t>(levels_.size());
}

/// What a worker holds before a level.
SplitPlan::Pieces SplitPlan::holds(uint32_t level, uint32_t worker) const {
    Pieces held = {0, pieces()};
    for (uint32_t i = 0; i < level; ++i) {
        if (levels_[i].kind == Kind::kPairs) continue;
        const uint32_t each = (held.end - held.begin) / levels_[i].size;
        held.begin += number(levels_[i], worker) * each;
        held.end = held.begin + each;
    }
    return held;
}

std::vector<SplitPlan::Member> SplitPlan::group(uint32_t index, uint32_t worker) const {
    const Level &level = levels_[index];
    const Pieces held = holds(index, worker);
    if (level.kind == Kind::kPairs) {
        if (host_of(worker) >= 2 * pairs_) return {{worker, host_of(worker), held}};
        const uint32_t first = worker_at(place(worker)), host = host_of(first);
        return {{first, host, held}, {first + per_host_, host + 1, {held.end, held.end}}};
    }
    const uint32_t each = (held.end - held.begin) / level.size;
    const uint32_t first = place(worker) - number(level, worker) * level.stride;
    std::vector<Member> members;
    for (uint32_t i = 0; i < level.size; ++i) {
        const uint32_t other = worker_at(first + i * level.stride) + (rests(worker) ? per_host_ : 0);
        members.push_back({other, block(level, other), {held.begin + i * each, held.begin + (i + 1) * each}});
    }
    return members;
}

uint32_t SplitPlan::messages() const {
    uint32_t messages = 0;
    for (const Level &level : levels_)
        if (level.kind != Kind::kPairs) messages += level.size - 1;
    return messages;
}

std::vector<uint32_t> SplitPlan::peers(uint32_t worker, const JoinPlan &joins) const {
    std::vector<uint32_t> peers;
    for (uint32_t level = 0; level < levels(worker); ++level)
        for (const Member &member : group(level, worker)) peers.push_back(member.worker);
    for (uint32_t round = 0; round < joins.rounds(); ++round) {
        const JoinPlan::Part part = joins.part(round, worker);
        for (const JoinPlan::Workers &others : {part.from, part.to})
            for (uint32_t i = 0; i < others.count; ++i) peers.push_back(others[i]);
    }
    std::sort(peers.begin(), peers.end());
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
    std::rotate(peers.begin(), std::upper_bound(peers.begin(), peers.end(), worker), peers.end());
    peers.pop_back(); // itself
    return peers;
}

uint32_t SplitPlan::resting(uint32_t piece) const {
    return host_of(owner(piece)) < 2 * pairs_ ? owner(piece) + per_host_ : kNobody;
}

} // namespace mdist
