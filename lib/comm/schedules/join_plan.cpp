// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/join_plan.h"

#include <algorithm>

namespace mdist {

JoinPlan::JoinPlan(const Spans &spans, uint32_t per_host, bool by_hosts)
    : workers_(spans.workers()), per_host_(by_hosts && per_host < workers_ ? per_host : 1) {
    for (uint32_t round = 0; round == 0 || size(round) < workers_; ++round)
        cuts_.emplace_back(spans.grouped(size(round)));
    for (const reduce::Cut &cut : cuts_) most_partials_ = std::max(most_partials_, cut.most());
}

/// The number of workers of a full block.
uint32_t JoinPlan::size(uint32_t round) const {
    if (round == 0) return 1;
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
    if (round == joins()) return leads ? Part{{}, mates} : Part{leader, {}};
    return leads ? part_of_speaker(round, worker) : Part{};
}

/// The part, among blocks, of a worker that speaks for its own.
JoinPlan::Part JoinPlan::part_of_speaker(uint32_t round, uint32_t worker) const {
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

} // namespace mdist
