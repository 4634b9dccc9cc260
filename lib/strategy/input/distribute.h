// SPDX-License-Identifier: Apache-2.0
// Distribution: turns what each worker contributes into one dataset whose elements all workers take in step.
#pragma once

#include "comm/call/call.h"
#include "data/dataset.h"
#include "data/distribute/deal.h"
#include "data/distribute/dealing.h"
#include "strategy/job/job.h"
#include "util/function_ref.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mdist {

/// Defaults for datasets that this strategy distributes, and their count.
struct Inputs {
    explicit Inputs(const Config &config);

    const bool by_replica;          // sub-batches go to replicas in order of replica id, whatever the layout
    const bool on_devices;          // prefetches to the replicas' devices
    const int32_t policy;           // mdist_shard_policy_t
    std::atomic<uint64_t> count{0}; // of distributed datasets; numbers each of them, the same on all workers
};

/// What one worker contributes.
struct Contribution {
    std::vector<std::shared_ptr<const Dataset>> parts; // one for all of its replicas in turn, or one for each
    bool common_knowledge = false;                     // as in InputPlan
    bool whole_steps = false;                          // MDIST_INPUT_WHOLE_STEPS
    bool on_devices = false;                           // copies to the replicas' GPUs, if there are any
    uint64_t ahead = 0;                                // sub-batches per replica, made in advance by a thread; 0: none
    std::string source;                                // as in InputPlan
    std::string place;                                 // as in InputPlan
    std::string alike;                                 // lines that must be the same on all workers
    std::string text;                                  // description for error messages
};

/// Has the parts' elements copied to the GPUs of these replicas of this worker, and made ahead, as the contribution
/// says. Returns Deal::gpus.
std::vector<int32_t> place_and_prefetch(const Job &job, Contribution &mine, uint32_t replicas);

/// Has the contribution's parts dealt out in the way of `deal`, which gets from it what it says of itself.
std::shared_ptr<Dataset> dealt(Contribution mine, Deal deal);

/// Distributes what `bring` returns. `bring` runs on this thread, without the turn. All workers call this; a failure on
/// one worker fails on all in the same way, and so does a disagreement between workers (MISMATCH). `kind` names the
/// public function.
std::shared_ptr<Dataset> distribute(const std::shared_ptr<Job> &job, Inputs &inputs, CallKind kind,
                                    FunctionRef<Contribution(const InputLayout &)> bring);

} // namespace mdist
