// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/perform.h"

#include "comm/workers/by_plan.h"
#include "comm/workers/quick.h"
#include "comm/workers/told_operation.h"
#include "reduce/float_environment.h"

namespace mdist::workers {

void perform(WorkerGroup &workers, const Call *const *calls, uint64_t timeout_ns) {
    const reduce::FloatEnvironment environment;
    const Collective asked = collective_of(workers, calls, timeout_ns);
    for (const QuickWay &way : quick_ways())
        if (workers.in_order() && way.fits(asked)) return way.perform(asked);
    perform_plan(asked);
}

void perform_plan(const Collective &asked) {
    if (asked.call().kind->traits().tells_lengths) {
        ToldOperation told(asked);
        return send_by_plan(asked, told.lengths(), told.operation());
    }
    const CallLengths lengths(Calls(asked.calls, 0, asked.workers.replica_count())); // one call stands for all
    WorkerOperation operation(asked.workers, asked.call(), asked.timeout_ns);
    send_by_plan(asked, lengths, operation);
}

} // namespace mdist::workers
