// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/join_plan.h"

#include <algorithm>

namespace mdist {

JoinPlan::JoinPlan(const Spans &spans, uint32_t per_host, bool by_hosts, Way way)
    : workers_(spans.workers()),
      per_host_(by_hosts && per_host < workers_ ? per_host : 1),
      segments_(way == Way::kAllAtOnce ? workers_ / per_host_ : 1) {
    for (uint32_t round = 0; round == 0 || size(round) < workers_; ++round)
        cuts_.emplace_back(spans.grouped(size(round)));
    for (const reduce::Cut &cut : cuts_) most_partials_ = std::max(most_partials_, cut.most());
    if (segments_ > 1) return;
    for (uint32_t host = 0; host < workers_; host += per_host) {
        uint32_t given = 0;
        for (uint32_t worker = host; worker < host + per_host; ++worker) given += crossing(worker, per_host);
        most_crossing_ = std::max(most_crossing_, given);
    }
}

/// The number of workers of a full block.
uint32_t JoinPlan::size(uint32_t round) const {
    if (round == 0) return 1;
    if (segments_ > 1) return round == 1 && by_hosts() ? per_host_ : workers_;
    return by_hosts() ? per_host_ << (round - 1) : 1u << round;
}

uint32_t JoinPlan::end(uint32_t round, uint32_t block) const {
    return std::min((block + 1) * size(round), workers_);
}

JoinPlan::Part JoinPlan::part(uint32_t round, uint32_t worker) const {
    if (!by_hosts()) return part_of_speaker(round, worker);
    const uint32_t first = worker / per_host_ * per_host_;
    const Workers mates = {first + 1, per_host_ - 1}, leader = {first, 1};
    const bool leads = worker == first;
    if (round == 0) return leads ? Part{mates, {}} : Part{{}, leader};
    if (round == spreads()) return leads ? Part{{}, mates} : Part{leader, {}};
    return leads ? part_of_speaker(round, worker) : Part{};
}

/// The part, among blocks, of a worker that speaks for its own.
JoinPlan::Part JoinPlan::part_of_speaker(uint32_t round, uint32_t worker) const {
    if (segments_ == 1) return part_of_pair(round, worker);
    // Each begins with its neighbour, so that not all send to worker 0 first.
    const Workers others = {(worker + per_host_) % workers_, segments_ - 1, per_host_, workers_};
    return {others, others};
}

JoinPlan::Part JoinPlan::part_of_pair(uint32_t round, uint32_t worker) const {
    const uint32_t own = block(round, worker);
    const uint32_t lower = begin(round, own & ~1u);
    const uint32_t upper = lower + size(round);
    if (upper >= workers_) return {}; // nobody to join with
    const uint32_t shorter = end(round, own | 1u) - upper;
    if (worker >= upper) {
        const uint32_t twin = lower + (worker - upper);
        return {{twin, 1}, {twin, (upper - twin + shorter - 1) / shorter, shorter}};
    }
    const Workers twin = {upper + (worker - lower) % shorter, 1};
    const bool gives = worker - lower < shorter;
    return {twin, gives ? twin : Workers()};
}

/// Number of partials that a worker gives to workers of other hosts.
uint32_t JoinPlan::crossing(uint32_t worker, uint32_t per_host) const {
    uint32_t partials = 0;
    for (uint32_t round = 0; round < joins(); ++round) {
        const Workers to = part(round, worker).to;
        for (uint32_t i = 0; i < to.count; ++i)
            if (to[i] / per_host != worker / per_host) partials += cut(round).count(block(round, worker));
    }
    return partials;
}

} // namespace mdist
