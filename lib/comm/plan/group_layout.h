// SPDX-License-Identifier: Apache-2.0
// GroupLayout: where the members of a group of replicas lie in the job.
//
// A member has a position, its place in the group's list, and a slot, its place when the members are listed worker by
// worker. The workers are those with members, in the order of their first positions, and a worker's members are in the
// order of their positions. If the list names the members worker by worker, slots are positions.
// Immutable; any thread.
#pragma once

#include "reduce/spans.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mdist {

struct GroupLayout {
    std::vector<uint32_t> ids;       // replica ids, by position
    std::vector<uint32_t> ranks;     // in the job, of the workers with members
    Spans spans;                     // the slots of each of these workers
    std::vector<uint32_t> slots;     // by position
    std::vector<uint32_t> positions; // by slot

    /// `ids` are different replicas of a job with these spans.
    static GroupLayout of(std::vector<uint32_t> ids, const Spans &job);

    bool in_order() const;
    /// The place of a worker of the job among `ranks`; their number if it has no members.
    uint32_t worker_of_rank(uint32_t rank) const;
    /// "group {0, 2}"
    std::string name() const;
};

} // namespace mdist
