// SPDX-License-Identifier: Apache-2.0
#include "strategy/strategy.h"

#include "api/check.h"
#include "api/guard.h"
#include "api/replica_guard.h"
#include "strategy/job/check_membership.h"

#include <mdist/membership.h>

using namespace mdist;

void mdist_membership_leave(mdist_strategy_t *strategy, uint64_t grace_ns) {
    if (const auto pinned = try_pin(strategy)) pinned->leaving.announce(grace_ns);
}

mdist_status_t mdist_membership_check(mdist_strategy_t *strategy, int32_t *verdict, uint32_t *rank,
                                      const mdist_call_options_t *options, mdist_error_t **error) {
    return strategy_guard("mdist_membership_check", strategy, "mdist_merge_call first, and check in the merge", error,
                          [&](Strategy &self) {
                              need(verdict, "verdict");
                              const uint64_t timeout_ns = timeout_of(options);
                              self.reach.require_no_commands("mdist_membership_check",
                                                             "call it in a merge of a step, where all workers call it");
                              const MembershipAnswer answer = check_membership(self, self.leaving, timeout_ns);
                              *verdict = answer.verdict;
                              if (rank != nullptr) *rank = answer.rank;
                          });
}

int32_t mdist_strategy_is_joining(const mdist_strategy_t *strategy) {
    const auto pinned = try_pin(strategy);
    return pinned && pinned->elastic.joining() ? 1 : 0;
}
