// SPDX-License-Identifier: Apache-2.0
#include "comm/call.h"

#include "comm/overlap.h"
#include "util/dtype.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>

namespace mdist {
namespace {

constexpr const char *kOpNames[] = {"?", "SUM", "MEAN", "MIN", "MAX", "PROD"};

bool reduces(CallKind kind) {
    return kind == CallKind::kAllReduce || kind == CallKind::kReduceScatter || kind == CallKind::kReduceToRoot;
}

/// `which`: "input " or "output ". Put into words only for a failure: this runs in every call.
void check_buffer(const mdist_buffer_t &buffer, const char *which, std::size_t i) {
    const bool fine = dtype_size(buffer.dtype) != 0 && buffer.reserved == 0 &&
                      buffer.elements <= PTRDIFF_MAX / dtype_size(buffer.dtype) &&
                      (buffer.data != nullptr || buffer.elements == 0);
    if (fine) return;
    const std::string what = text(which, i);
    check_dtype(buffer.dtype, what.c_str());
    if (buffer.reserved != 0) throw invalid(text(what, " has reserved ", buffer.reserved, "; it must be 0"));
    if (buffer.elements > PTRDIFF_MAX / dtype_size(buffer.dtype))
        throw invalid(text(what, " has ", buffer.elements, " elements, more than memory can hold"));
    if (buffer.data == nullptr && buffer.elements != 0)
        throw invalid(text(what, " has ", buffer.elements, " elements and data NULL"));
}

void check_pair(const Call &call, std::size_t i, uint32_t parties) {
    const mdist_buffer_t &in = call.inputs[i];
    const mdist_buffer_t &out = call.outputs[i];
    check_buffer(in, "input ", i);
    check_buffer(out, "output ", i);
    if (in.dtype != out.dtype)
        throw invalid(text("input ", i, " is ", dtype_name(in.dtype), " and output ", i, " ", dtype_name(out.dtype),
                           "; they must be one type"));
    const bool equal_lengths = call.kind == CallKind::kAllReduce || call.kind == CallKind::kAllToAll;
    if (equal_lengths) check_as_long(call, i);
    if (call.kind == CallKind::kAllToAll && in.elements % parties != 0)
        throw invalid(
            text("input ", i, " has ", in.elements, " elements, which ", parties, " replicas cannot share equally"));
    if (reduces(call.kind)) check_op_takes(call.op, in.dtype);
}

constexpr const char *kOnGpus = " on the GPU";
constexpr std::size_t kShown = 4; // buffers that call_text() names

std::string buffer_text(const mdist_buffer_t &buffer) {
    return text(dtype_name(buffer.dtype), " x ", buffer.elements);
}

/// The first buffer in which two calls of one kind and count differ; the count if none.
std::size_t different_buffer(const Call &a, const Call &b) {
    for (std::size_t i = 0; i < a.buffer_count; ++i) {
        if (a.inputs[i].dtype != b.inputs[i].dtype) return i;
        if (input_lengths_agree(a.kind) && a.inputs[i].elements != b.inputs[i].elements) return i;
    }
    return a.buffer_count;
}

} // namespace

bool has_root(CallKind kind) {
    return kind == CallKind::kBroadcast || kind == CallKind::kReduceToRoot || kind == CallKind::kGatherToRoot ||
           kind == CallKind::kScatter;
}

bool input_lengths_agree(CallKind kind) {
    return !gathers(kind) && kind != CallKind::kScatter;
}

const char *call_name(CallKind kind) {
    switch (kind) {
        case CallKind::kAllReduce:
            return "mdist_all_reduce";
        case CallKind::kBroadcast:
            return "mdist_broadcast";
        case CallKind::kAllGather:
            return "mdist_all_gather";
        case CallKind::kReduceScatter:
            return "mdist_reduce_scatter";
        case CallKind::kAllToAll:
            return "mdist_all_to_all";
        case CallKind::kBarrier:
            return "mdist_barrier";
        case CallKind::kMerge:
            return "mdist_merge_call";
        case CallKind::kOpenMerge:
            return "mdist_merge_begin";
        case CallKind::kCreateVariable:
            return "mdist_replica_variable_create";
        case CallKind::kAssign:
            return "mdist_replica_assign";
        case CallKind::kAllReduceRows:
            return "mdist_all_reduce_rows";
        case CallKind::kAssignRows:
            return "mdist_replica_assign_rows";
        case CallKind::kAverageLoss:
            return "mdist_average_loss";
        case CallKind::kStrategyAllReduce:
            return "mdist_strategy_all_reduce";
        case CallKind::kReduce:
            return "mdist_reduce";
        case CallKind::kReduceTo:
            return "mdist_reduce_to";
        case CallKind::kBatchReduceTo:
            return "mdist_batch_reduce_to";
        case CallKind::kGather:
            return "mdist_gather";
        case CallKind::kReadVariable:
            return "mdist_variable_read";
        case CallKind::kCreateVariableOutside:
            return "mdist_variable_create";
        case CallKind::kCheckPreemption:
            return "mdist_preemption_check";
        case CallKind::kSaveCheckpoint:
            return "mdist_checkpoint_save";
        case CallKind::kRestoreCheckpoint:
            return "mdist_checkpoint_restore";
        case CallKind::kClearCheckpoints:
            return "mdist_checkpoint_clear";
        case CallKind::kServe:
            return "mdist_serve";
        case CallKind::kRunSteps:
            return "mdist_run_steps";
        case CallKind::kDistributeDataset:
            return "mdist_distribute_dataset";
        case CallKind::kDistributeFromFunction:
            return "mdist_distribute_from_function";
        case CallKind::kNextElement:
            return "mdist_iterator_next";
        case CallKind::kReduceToRoot:
            return "mdist_reduce_to_root";
        case CallKind::kGatherToRoot:
            return "mdist_gather_to_root";
        case CallKind::kScatter:
            return "mdist_scatter";
        case CallKind::kGradients:
            return "mdist_gradients_wait";
        case CallKind::kGraph:
            return "mdist_replica_graph";
        case CallKind::kStartNccl:
            return "mdist_strategy_create";
    }
    return "?";
}

Pattern pattern_of(const Call &call) {
    switch (call.kind) {
        case CallKind::kAllGather:
        case CallKind::kAllReduceRows:
        case CallKind::kAssignRows:
            return Pattern::kGather;
        case CallKind::kReduceScatter:
        case CallKind::kReduceToRoot: // the root's part is all of it
            return Pattern::kScatter;
        case CallKind::kGatherToRoot:
            return Pattern::kToRoot;
        case CallKind::kScatter:
            return Pattern::kFromRoot;
        case CallKind::kAllToAll:
            return Pattern::kTranspose;
        case CallKind::kBroadcast:
            return Pattern::kBroadcast;
        case CallKind::kAssign:
            return call.op == 0 ? Pattern::kBroadcast : Pattern::kReduce;
        default:
            return call.op == 0 ? Pattern::kMeet : Pattern::kReduce;
    }
}

bool gathers(CallKind kind) {
    Call call;
    call.kind = kind;
    return pattern_of(call) == Pattern::kGather || pattern_of(call) == Pattern::kToRoot;
}

void check_as_long(const Call &call, std::size_t i) {
    if (call.inputs[i].elements != call.outputs[i].elements)
        throw invalid(text("input ", i, " has ", call.inputs[i].elements, " elements and output ", i, " ",
                           call.outputs[i].elements, "; they must be as long"));
}

void check_op(int32_t op) {
    if (op < MDIST_SUM || op > MDIST_PROD)
        throw invalid(text("op is ", op, ", which is none; take MDIST_SUM (1) to MDIST_PROD (5)"));
}

void check_op_takes(int32_t op, int32_t dtype) {
    check_op(op);
    if (op == MDIST_MEAN && dtype_is_integer(dtype))
        throw invalid(text("MEAN of ", dtype_name(dtype),
                           " would have to be rounded; take SUM and divide, or a floating-point type"));
}

std::string call_text(const Call &call) {
    std::string out = text(call_name(call.kind), "(");
    if (call.op != 0) out += text(kOpNames[call.op >= MDIST_SUM && call.op <= MDIST_PROD ? call.op : 0], ", ");
    if (has_root(call.kind)) out += text("root ", call.root, ", ");
    out += call.subject_text;
    if (call.inputs != nullptr)
        out += text(call.buffer_count, call.buffer_count == 1 ? " buffer" : " buffers", call.on_gpus() ? kOnGpus : "");
    for (std::size_t i = 0; call.inputs != nullptr && i < std::min(call.buffer_count, kShown); ++i)
        out += text(i == 0 ? ": " : ", ", buffer_text(call.inputs[i]));
    if (call.inputs != nullptr && call.buffer_count > kShown) out += ", ...";
    return out + ")";
}

void check_call(const Call &call, uint32_t parties) {
    if (reduces(call.kind)) check_op(call.op);
    if (has_root(call.kind) && call.root >= parties)
        throw invalid(text("root is ", call.root, "; the replicas are 0 to ", parties - 1));
    for (std::size_t i = 0; i < call.buffer_count; ++i) check_pair(call, i, parties);
    check_overlap(call);
}

bool same_call(const Call &a, const Call &b) {
    if (a.kind != b.kind || a.op != b.op || a.root != b.root || a.buffer_count != b.buffer_count ||
        a.subject != b.subject || a.on_gpus() != b.on_gpus())
        return false;
    return a.inputs == nullptr || different_buffer(a, b) == a.buffer_count;
}

std::string difference_text(const Call &a, const Call &b) {
    if (a.kind != b.kind || a.inputs == nullptr || a.buffer_count != b.buffer_count) return "";
    const std::size_t i = different_buffer(a, b);
    if (i < kShown || i == a.buffer_count) return "";
    return text("; buffer ", i, " is ", buffer_text(a.inputs[i]), " and ", buffer_text(b.inputs[i]));
}

uint64_t fingerprint(const Call &call) {
    uint64_t hash = 0;
    const auto mix = [&hash](uint64_t word) {
        hash = (hash ^ word) * 0x9e3779b97f4a7c15; // an odd number with bits all over: 2^64 by the golden ratio
        hash ^= hash >> 32;
    };
    mix(static_cast<uint64_t>(call.kind) << 32 | static_cast<uint32_t>(call.op));
    mix(static_cast<uint64_t>(call.root) << 32 | (call.inputs != nullptr));
    mix(call.buffer_count);
    mix(call.subject);
    if (call.on_gpus()) mix(1);
    for (std::size_t i = 0; call.inputs != nullptr && i < call.buffer_count; ++i) {
        mix(static_cast<uint32_t>(call.inputs[i].dtype));
        if (input_lengths_agree(call.kind)) mix(call.inputs[i].elements);
    }
    return hash;
}

} // namespace mdist
