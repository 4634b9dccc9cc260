// SPDX-License-Identifier: Apache-2.0
#include "comm/collectives.h"

#include "comm/party_work.h"

namespace mdist {
namespace {

void perform(Executors &executors, uint32_t party, const Call &call, uint64_t timeout_ns) {
    Group &group = executors.group();
    PartyWork work(executors, party, call, timeout_ns);
    const uint32_t before = group.finishes();
    group.meet(party, call, timeout_ns);
    const uint64_t done = work.run();
    if (work.total() == 0) return;
    group.finish_work(before, done, work.total());
    work.check();
}

} // namespace

void perform_collective(Executors &executors, uint32_t party, const Call &call, uint64_t timeout_ns) {
    if (executors.gpus() != nullptr && executors.gpus()->holds(party, call))
        return perform_on_gpus(executors, party, call, timeout_ns);
    perform(executors, party, call, timeout_ns);
}

void perform_on_gpus(Executors &executors, uint32_t party, const Call &call, uint64_t timeout_ns) {
    GpuGroup &gpus = *executors.gpus();
    const Event ready = gpus.gpu(party).record();
    Call placed = call;
    placed.ready = &ready;
    placed.recorded = gpus.gpu(party).recording();
    perform(executors, party, placed, timeout_ns);
    gpus.order(party, gpus.done());
    // The kernels of an aborted communicator also end, without having written anything, so a blocking party checks
    // whether the group has failed. A step that only fails later is another matter.
    Group &group = executors.group();
    if (gpus.gpu(party).blocking() && gpus.uses_nccl() && group.failed()) group.require_ready();
}

} // namespace mdist
