// SPDX-License-Identifier: Apache-2.0
// The public functions that start calls, with their names for error messages.
#pragma once

#include "comm/call/function.h"

namespace mdist::calls {

/// A function that works on values in cross-replica context. Its calls have one of two patterns.
struct ValueFunction {
    explicit ValueFunction(const char *name) : sum(name, Pattern::kReduce), meet(name, Pattern::kMeet) {}
    const CallFunction sum;  // adds buffers up
    const CallFunction meet; // workers send each other bytes
};

// In replica context:
inline const CallFunction kAllReduce("mdist_all_reduce", Pattern::kReduce);
inline const CallFunction kBroadcast("mdist_broadcast", Pattern::kBroadcast);
inline const CallFunction kAllGather("mdist_all_gather", Pattern::kGather);
inline const CallFunction kReduceScatter("mdist_reduce_scatter", Pattern::kReduceScatter);
inline const CallFunction kAllToAll("mdist_all_to_all", Pattern::kTranspose);
inline const CallFunction kAllToAllParts("mdist_all_to_all_parts", Pattern::kTransposeParts);
inline const CallFunction kBarrier("mdist_barrier", Pattern::kMeet);
inline const CallFunction kReduceToRoot("mdist_reduce_to_root", Pattern::kReduceToRoot);
inline const CallFunction kGatherToRoot("mdist_gather_to_root", Pattern::kToRoot);
inline const CallFunction kScatter("mdist_scatter", Pattern::kFromRoot);
inline const CallFunction kMerge("mdist_merge_call", Pattern::kMeet);
inline const CallFunction kOpenMerge("mdist_merge_begin", Pattern::kMeet);
inline const CallFunction kCreateVariable("mdist_replica_variable_create", Pattern::kMeet);
inline const CallFunction kAssign("mdist_replica_assign", Pattern::kReduce);
inline const CallFunction kAssignFirst("mdist_replica_assign", Pattern::kFirst); // replica 0's value, instead of a sum
inline const CallFunction kAllReduceRows("mdist_all_reduce_sparse", Pattern::kGather);
inline const CallFunction kAssignRows("mdist_replica_assign_sparse", Pattern::kGather);
inline const CallFunction kAverageLoss("mdist_average_loss", Pattern::kReduce);
inline const CallFunction kGradients("mdist_gradients_wait", Pattern::kReduce); // buckets, and the terms of the norm
inline const CallFunction kGraph("mdist_replica_graph", Pattern::kLaunch);

// In cross-replica context, between workers:
inline const ValueFunction kStrategyAllReduce("mdist_strategy_all_reduce");
inline const ValueFunction kReduce("mdist_strategy_reduce");
inline const ValueFunction kReduceTo("mdist_strategy_reduce_to");
inline const ValueFunction kGather("mdist_strategy_gather");
inline const ValueFunction kReadVariable("mdist_variable_read");
inline const CallFunction kCreateVariableOutside("mdist_variable_create", Pattern::kMeet);
inline const CallFunction kCheckMembership("mdist_membership_check", Pattern::kMeet);
inline const CallFunction kSaveCheckpoint("mdist_checkpoint_save", Pattern::kMeet);
inline const CallFunction kRestoreCheckpoint("mdist_checkpoint_restore", Pattern::kMeet);
inline const CallFunction kClearCheckpoints("mdist_checkpoint_clear", Pattern::kMeet);
inline const CallFunction kServe("mdist_serve", Pattern::kMeet);
inline const ValueFunction kRunSteps("mdist_run_steps");
inline const CallFunction kDistributeDataset("mdist_distribute_dataset", Pattern::kMeet);
inline const CallFunction kDistributeFromFunction("mdist_distribute_from_function", Pattern::kMeet);
inline const CallFunction kNextElement("mdist_iterator_next", Pattern::kMeet);
inline const CallFunction kCommit("mdist_commit", Pattern::kMeet);
inline const CallFunction kRegroup("mdist_regroup", Pattern::kMeet);
inline const CallFunction kCreateGroup("mdist_group_create", Pattern::kMeet);

// Before there are replicas:
inline const CallFunction kCreateStrategy("mdist_strategy_create", Pattern::kMeet);

} // namespace mdist::calls
