// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/doubling_plan.h"

#include <algorithm>

namespace mdist {

DoublingPlan::DoublingPlan(const Spans &spans, uint32_t per_host) : workers_(spans.workers()) {
    for (uint32_t block = 1; block == 1 || block < workers_; block *= 2) cuts_.emplace_back(spans.grouped(block));
    for (const reduce::Cut &cut : cuts_) most_partials_ = std::max(most_partials_, cut.most());
    for (uint32_t host = 0; host < workers_; host += per_host) {
        uint32_t given = 0;
        for (uint32_t worker = host; worker < host + per_host; ++worker) given += crossing(worker, per_host);
        most_crossing_ = std::max(most_crossing_, given);
    }
}

uint32_t DoublingPlan::end(uint32_t round, uint32_t block) const {
    return std::min((block + 1) << round, workers_);
}

DoublingPlan::Part DoublingPlan::part(uint32_t round, uint32_t worker) const {
    const uint32_t own = block(round, worker);
    const uint32_t lower = begin(round, own & ~1u);
    const uint32_t upper = lower + (1u << round);
    if (upper >= workers_) return {}; // nobody to join with
    const uint32_t upper_end = end(round, own | 1u);
    const uint32_t step = upper_end - upper;
    if (worker >= upper) {
        const uint32_t twin = lower + (worker - upper);
        return {twin, twin, upper, step};
    }
    const uint32_t twin = upper + (worker - lower) % step;
    const bool gives = worker - lower < step;
    return {twin, twin, gives ? twin + 1 : twin, 1};
}

/// Number of partials that a worker gives to workers of other hosts.
uint32_t DoublingPlan::crossing(uint32_t worker, uint32_t per_host) const {
    uint32_t partials = 0;
    for (uint32_t round = 0; round < rounds(); ++round) {
        const Part part = this->part(round, worker);
        for (uint32_t to = part.to_begin; to < part.to_end; to += part.to_step)
            if (to / per_host != worker / per_host) partials += cut(round).count(block(round, worker));
    }
    return partials;
}

} // namespace mdist
