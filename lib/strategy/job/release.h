// SPDX-License-Identifier: Apache-2.0
// Reports a replica's failure to its group, which ends the run for all replicas. The failure carries a sentence if
// there is memory for one. Any thread.
#pragma once

#include "util/function_ref.h"

#include <cstdint>
#include <string>

namespace mdist {

class Failure;
class Group;
class Party;

/// Reports the failure of a user's function, as CALLBACK with that sentence.
void release_callback(Group &group, const char *operation, uint32_t replica, int64_t native,
                      FunctionRef<std::string()> sentence) noexcept;
/// Reports a failure. Adds the operation and replica if it has none.
void release_failure(Group &group, const char *operation, uint32_t replica, const Failure &failure) noexcept;
/// Reports a call of all replicas that this one has refused. If there are other workers, it meets all replicas in the
/// call's place. If all refuse it, the step fails on all workers, and the job goes on. Otherwise the job ends for this
/// reason. What the step has begun may be on its way to others, so then the job ends at once.
void release_refusal(Party &party, const char *function, const Failure &failure);
/// Reports a merge that has failed, from replica 0's thread. The same as release_refusal(), if all workers have refused
/// a call in it: since then Group::refusals() is not what it was.
void release_merge(Party &party, const char *function, const Failure &failure, uint64_t refusals_before) noexcept;
/// Reports a step that ended its thread.
void release_ended(Group &group, uint32_t replica) noexcept;

} // namespace mdist
