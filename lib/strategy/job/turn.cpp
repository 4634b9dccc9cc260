// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/turn.h"

#include "strategy/job/context.h"
#include "strategy/job/job.h"
#include "util/text.h"

namespace mdist {

Turn::Turn(Job &job, const char *function, const char *instead, bool serves) : job_(job), taken_(false) {
    Context::require_not_done(function);
    if (const Context *context = Context::of(job)) {
        if (context->kind() != Context::Kind::kReplica) return; // a merge or update has the turn of its run
        throw Failure(MDIST_ERR_WRONG_CONTEXT, text(function, " cannot be called in a step. Call ", instead));
    }
    if (!serves && job.reach.in_graph() && job.replicas.worker() != 0) throw job.reach.not_the_client(function);
    if (!job.use.begin())
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      job.use.in_open_run()
                          ? text(function, ": a run of this strategy is open (mdist_run_begin): in its steps call ",
                                 instead, "; elsewhere, end the run first")
                          : text(function, ": another thread is using this strategy. Wait until its call returns"))
            .reason("busy");
    taken_ = true;
}

Turn::~Turn() {
    if (!taken_) return;
    job_.use.end();
    job_.stop_if_over();
}

void Turn::keep_for_run() noexcept {
    job_.use.begin_run();
    taken_ = false;
}

} // namespace mdist
