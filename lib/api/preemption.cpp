// SPDX-License-Identifier: Apache-2.0
#include "strategy/preemption.h"

#include "api/check.h"
#include "api/guard.h"
#include "api/replica_guard.h"

#include <mdist/preemption.h>

using namespace mdist;

mdist_status_t mdist_preemption_create(mdist_strategy_t *strategy, mdist_preemption_t **out,
                                       const mdist_preemption_options_t *options, mdist_error_t **error) {
    return guard("mdist_preemption_create", error, [&] {
        const auto pinned = pin(strategy);
        need(out, "out");
        const mdist_preemption_options_t known = read_options(options, "options");
        need_zero(known.flags, "options.flags");
        *out = publish<mdist_preemption_t>(std::make_shared<Preemption>(pinned.shared(), known.grace_ns));
    });
}

void mdist_preemption_announce(mdist_preemption_t *preemption) {
    if (const auto pinned = try_pin(preemption)) pinned->announce();
}

mdist_status_t mdist_preemption_check(mdist_preemption_t *preemption, int32_t *verdict, uint32_t *worker,
                                      const mdist_call_options_t *options, mdist_error_t **error) {
    return guard("mdist_preemption_check", error, [&] {
        const auto pinned = pin(preemption);
        need(verdict, "verdict");
        const uint64_t timeout_ns = timeout_of(options);
        const Turn turn(pinned->job(), "mdist_preemption_check", "mdist_merge_call first, and check in the merge");
        pinned->job().reach.require_no_commands("mdist_preemption_check",
                                                "call it in a merge of a step, where all workers call it");
        const Preemption::Answer answer = pinned->check(timeout_ns);
        *verdict = answer.verdict;
        if (worker != nullptr) *worker = answer.worker;
    });
}

void mdist_preemption_destroy(mdist_preemption_t *preemption) {
    give_up(preemption);
}
