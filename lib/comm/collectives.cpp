// SPDX-License-Identifier: Apache-2.0
#include "comm/collectives.h"

#include "comm/led_collective.h"
#include "comm/local/exchange.h"
#include "comm/local/perform.h"
#include "comm/local/reduce.h"

namespace mdist {

void perform_collective(Executors &executors, uint32_t party, const Call &call, uint64_t timeout_ns) {
    if (executors.gpus() != nullptr && executors.gpus()->holds(party, call))
        return perform_on_gpus(executors, party, call, timeout_ns);
    if (executors.workers() != nullptr) return perform_led(executors, party, call, timeout_ns);
    Group &group = executors.group();
    if (call.kind->pattern() == Pattern::kMeet) return group.meet(party, call, timeout_ns);
    if (!sums_all(call)) {
        Exchange part(group, party);
        perform(group, party, call, timeout_ns, part);
    } else if (StagedReduce::fits(group, call)) {
        StagedReduce part(group, party, call);
        perform(group, party, call, timeout_ns, part);
    } else {
        ChunkedReduce part(group, party, call);
        perform(group, party, call, timeout_ns, part);
    }
}

void perform_on_gpus(Executors &executors, uint32_t party, const Call &call, uint64_t timeout_ns) {
    GpuGroup &gpus = *executors.gpus();
    const Event ready = gpus.gpu(party).record();
    Call placed = call;
    placed.ready = &ready;
    placed.recorded = gpus.gpu(party).recording();
    perform_led(executors, party, placed, timeout_ns);
    gpus.order(party, gpus.done());
    // The kernels of an aborted communicator also end, without having written anything, so a blocking party checks
    // whether the group has failed. A step that only fails later is another matter.
    Group &group = executors.group();
    if (gpus.gpu(party).blocking() && gpus.uses_nccl() && group.failed()) group.require_ready();
}

} // namespace mdist
