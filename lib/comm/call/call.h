// SPDX-License-Identifier: Apache-2.0
// Call: what one replica asks of a collective. Two replicas can meet only if they ask for the same.
//
// A call borrows the caller's buffer arrays. It is valid while its replica is in the group. `check_call` (check.h)
// checks one replica's own arguments; `same_call` compares the calls of two replicas before any byte moves.
#pragma once

#include "comm/call/function.h"
#include "reduce/operator.h"

#include <mdist/collective.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace mdist {

class Event;
class Failure;

/// The function of a default-constructed call.
inline const CallFunction kUnnamedFunction("a call", Pattern::kMeet);
/// The function of a refusal (refusal_of).
inline const CallFunction kRefusedFunction("refused call", Pattern::kMeet);

/// The op of a call that has an operator of the program, in which the API replaces the number that the program has.
inline constexpr int32_t kOperator = static_cast<int32_t>(reduce::Op::kOperator);
inline constexpr int32_t kLastOp = kOperator;
/// Whether a program's op has the form of an operator's number (mdist_operator_register).
constexpr bool is_operator(int32_t op) {
    return op >= 0x40000000;
}

struct Call {
    CallKind kind = &kUnnamedFunction;
    int32_t op = 0;    // mdist_reduce_op_t, or kOperator, if the call sums
    uint32_t root = 0; // if the pattern has_root: the root's place among the replicas that meet
    const mdist_buffer_t *inputs = nullptr;
    const mdist_buffer_t *outputs = nullptr;
    std::size_t buffer_count = 0;
    /// For kTransposeParts: the elements of input b for replica r at [b * part_count + r], and those of output b from
    /// it.
    const uint64_t *input_parts = nullptr;
    const uint64_t *output_parts = nullptr;
    std::size_t part_count = 0;    // replicas
    uint64_t subject = 0;          // what else must agree: hash of a variable's name and shape, counts of a merge
    const char *subject_text = ""; // the same for messages
    const reduce::Operator *by = nullptr; // for kOperator; buffers then have its operator_dtype()
    const void *extra = nullptr;          // data that the kind's own code reads from its peers' calls
    /// Sums of this worker's replicas that were made before (device/staging.h), by subtree of its part of the cut and
    /// by buffer: partials[subtree * buffer_count + buffer]. nullptr there, or here: made from the inputs. Only local
    /// replica 0's call has them.
    const void *const *partials = nullptr;
    /// Why this worker does not make the call that it stands for: the call is a refusal.
    const Failure *refusal = nullptr;
    /// communication.call_timeout is not for it.
    bool endless = false;
    /// In a group of replicas: their ids, by position. nullptr: all replicas of the job meet, and id and position are
    /// the same.
    const uint32_t *ids = nullptr;
    uint32_t id_of(uint32_t position) const { return ids != nullptr ? ids[position] : position; }
    /// Not null: the buffers lie on the replicas' GPUs. The event marks the end of the work that this replica's stream
    /// had been given before the call. nullptr: the buffers lie on the host.
    const Event *ready = nullptr;
    bool on_gpus() const { return ready != nullptr; }
    /// Whether a graph records the replica's stream, and so the call (device/gpu/graph.h). Only if on_gpus().
    bool recorded = false;
};

Call call_of(CallKind kind, int32_t op, const mdist_buffer_t *inputs, const mdist_buffer_t *outputs, std::size_t count);
/// A call without buffers, in which workers agree on `subject`, by its hash. It borrows the text.
Call call_about(CallKind kind, const std::string &subject, uint64_t hash);
Call call_about(CallKind kind, const std::string &subject);

/// What the call does with inputs of a type.
inline reduce::Operation operation_of(const Call &call, int32_t dtype, uint64_t replicas) {
    return {dtype, static_cast<reduce::Op>(call.op), replicas, call.by};
}
/// "SUM"; "?" for a number that is no op.
const char *op_name(int32_t op);
/// "mdist_all_reduce(SUM, 2 buffers: float32 x 100, int64 x 1)"
std::string call_text(const Call &call);

/// What a worker takes part in, in place of a call of `function` that it refuses. Workers that all refuse it can meet,
/// and go on as if there had been no call. If others make a call, `failure` is what ends it for all. The call borrows
/// both.
Call refusal_of(const char *function, const Failure &failure);

/// Whether two calls can meet. Lengths that may differ (all_gather's inputs) are not compared.
bool same_call(const Call &a, const Call &b);
/// Equal for calls that can meet. Calls that cannot meet differ, except by a chance of 1 in 2^64.
uint64_t fingerprint(const Call &call);
/// Names the first buffer that differs, if call_text() of both calls does not show it: "; buffer 7 is float32 x 3 and
/// int8 x 3". Otherwise "".
std::string difference_text(const Call &a, const Call &b);

} // namespace mdist
