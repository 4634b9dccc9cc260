// SPDX-License-Identifier: Apache-2.0
// Call: what one replica asks of a collective, and whether two replicas ask the same.
//
// A call borrows the caller's buffer arrays; it is valid while its replica stands in the group. `check_call` looks at
// one replica's own arguments, `same_call` compares two replicas' before any byte moves.
#pragma once

#include <mdist/collective.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace mdist {

class Event;

enum class CallKind : uint8_t {
    kAllReduce = 1,
    kBroadcast,
    kAllGather,
    kReduceScatter,
    kAllToAll,
    kBarrier,
    kMerge,
    kOpenMerge,
    kCreateVariable,
    kAssign,
    kAllReduceRows,
    kAssignRows,
    kAverageLoss,
    // In cross-replica context, for workers:
    kStrategyAllReduce,
    kReduce,
    kReduceTo,
    kBatchReduceTo,
    kGather,
    kReadVariable,
    kCreateVariableOutside,
    kCheckPreemption,
    kSaveCheckpoint,
    kRestoreCheckpoint,
    kClearCheckpoints,
    kServe,
    kRunSteps,
    kDistributeDataset,
    kDistributeFromFunction,
    kNextElement,
    // In replica context again, with one replica that has what all others give or take:
    kReduceToRoot,
    kGatherToRoot,
    kScatter,
    // Buckets, and the terms of the norm:
    kGradients,
    // A launch of what was recorded, one for each worker's replica:
    kGraph,
    // Between workers, before there are replicas:
    kStartNccl,
};

/// What a call does with everybody's buffers.
enum class Pattern : uint8_t { kMeet, kReduce, kBroadcast, kGather, kScatter, kTranspose, kToRoot, kFromRoot };

struct Call {
    CallKind kind = CallKind::kBarrier;
    int32_t op = 0;    // mdist_reduce_op_t where the kind reduces
    uint32_t root = 0; // where has_root()
    const mdist_buffer_t *inputs = nullptr;
    const mdist_buffer_t *outputs = nullptr;
    std::size_t buffer_count = 0;
    uint64_t subject = 0;          // what else must agree: hash of a variable's name and shape, counts of a merge
    const char *subject_text = ""; // the same for people
    const void *extra = nullptr;   // what the kind's own code finds in its peers' calls
    /// Writes results of an all-reduce into outputs in its own way, `how`, instead of over them; nullptr: over them.
    /// With one worker only. Must not throw. Whoever computes a result applies it, to everybody's outputs.
    void (*apply)(int32_t dtype, int32_t how, void *to, const void *from, std::size_t elements) = nullptr;
    int32_t how = 0;
    /// The buffers lie on the replicas' GPUs: a mark behind what this replica's stream had been given before the call.
    /// nullptr: they lie on the host.
    const Event *ready = nullptr;
    bool on_gpus() const { return ready != nullptr; }
};

Pattern pattern_of(const Call &call);
/// Inputs are joined: they may differ in length.
bool gathers(CallKind kind);
/// Whether one replica is special: its id is the call's root.
bool has_root(CallKind kind);
/// Whether all replicas' inputs are as long.
bool input_lengths_agree(CallKind kind);
/// Name of the public function, "mdist_all_reduce".
const char *call_name(CallKind kind);
/// "mdist_all_reduce(SUM, 2 buffers: float32 x 100, int64 x 1)"
std::string call_text(const Call &call);

/// Throws INVALID_ARGUMENT for what is wrong with a call by itself, in a group of `parties`.
void check_call(const Call &call, uint32_t parties);
/// Whether two calls can meet. Lengths that may differ (all_gather's inputs) are not compared.
bool same_call(const Call &a, const Call &b);
/// Equal for calls that can meet; different, but once in 2^64, for those that can't.
uint64_t fingerprint(const Call &call);
/// "; buffer 7 is float32 x 3 and int8 x 3" where call_text() of both does not show how they differ, else "".
std::string difference_text(const Call &a, const Call &b);

/// Throws INVALID_ARGUMENT where a pair of buffers differs in length.
void check_as_long(const Call &call, std::size_t buffer);
void check_op(int32_t op);
void check_op_takes(int32_t op, int32_t dtype);

} // namespace mdist
