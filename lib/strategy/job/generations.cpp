// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/generations.h"

#include "strategy/job/replicas.h"
#include "util/text.h"

namespace mdist {

void Generations::add(const std::shared_ptr<OfSpan> &object) {
    if (!on()) return;
    const std::lock_guard lock(mutex_);
    std::erase_if(of_span_, [](const auto &each) { return each.expired(); });
    of_span_.push_back(object);
}

Failure Generations::of_old(const char *what, uint32_t generation) const {
    return Failure(MDIST_ERR_FAILED_PRECONDITION,
                   text(what, " belongs to generation ", generation, " of the job, which is now at generation ",
                        generation_, ". Make a new one after mdist_regroup"))
        .reason("old_generation");
}

bool lost_workers(const Failure &failure) {
    const mdist_status_t status = failure.status();
    return status == MDIST_ERR_PEER_LOST || status == MDIST_ERR_TIMEOUT ||
           (status == MDIST_ERR_ABORTED && failure.reason() != "destroyed");
}

Failure of_failed_regroup(const std::string &what, const Replicas &replicas) {
    return Failure(MDIST_ERR_FAILED_PRECONDITION,
                   text("mdist_regroup has failed, and ", what, " has no memory for the ", replicas.local_count(),
                        " local replicas that this worker was to have. It is out of the job; start a new process"))
        .reason("regroup_failed");
}

} // namespace mdist
