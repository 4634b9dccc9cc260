// SPDX-License-Identifier: Apache-2.0
#include "comm/flat.h"
#include "comm/joint/collectives.h"
#include "comm/joint/whole.h"
#include "comm/schedules/all_reduce.h"
#include "reduce/float_environment.h"

#include <vector>

namespace mdist::joint {

void reduce_scatter(Workers &workers, const Call *const *calls, uint64_t timeout_ns) {
    const reduce::FloatEnvironment environment;
    Whole whole(workers, calls, timeout_ns);
    JointOperation &operation = whole.operation();
    for (std::size_t b = 0; b < calls[0]->buffer_count; ++b) {
        std::vector<uint64_t> parts;
        for (uint32_t replica = 0; replica <= workers.replica_count(); ++replica)
            parts.push_back(whole.parts().offset(replica, b));
        const Flat row(calls, workers.replicas_per_worker(), b, parts, workers.cut(), workers.self());
        if (row.elements() == 0) continue;
        operation.run<AllReduce>(operation.tag(), row, operation.scratch());
    }
}

} // namespace mdist::joint
