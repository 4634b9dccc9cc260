// SPDX-License-Identifier: Apache-2.0
#include "comm/plan/group_layout.h"

#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {

GroupLayout GroupLayout::of(std::vector<uint32_t> ids, const Spans &job) {
    std::vector<uint32_t> ranks;
    std::vector<std::vector<uint32_t>> members; // positions, by worker
    for (uint32_t position = 0; position < ids.size(); ++position) {
        const uint32_t rank = job.worker_of(ids[position]);
        const auto found = std::find(ranks.begin(), ranks.end(), rank);
        const auto worker = static_cast<std::size_t>(found - ranks.begin());
        if (found == ranks.end()) {
            ranks.push_back(rank);
            members.emplace_back();
        }
        members[worker].push_back(position);
    }
    std::vector<uint32_t> counts, slots(ids.size()), positions;
    for (const std::vector<uint32_t> &own : members) {
        counts.push_back(static_cast<uint32_t>(own.size()));
        for (const uint32_t position : own) {
            slots[position] = static_cast<uint32_t>(positions.size());
            positions.push_back(position);
        }
    }
    return {std::move(ids), std::move(ranks), Spans(counts), std::move(slots), std::move(positions)};
}

bool GroupLayout::in_order() const {
    return std::is_sorted(positions.begin(), positions.end());
}

uint32_t GroupLayout::worker_of_rank(uint32_t rank) const {
    return static_cast<uint32_t>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
}

std::string GroupLayout::name() const {
    return text("group {", list_of(ids, {}, 8, text(", ... (", ids.size(), " replicas)")), "}");
}

} // namespace mdist
