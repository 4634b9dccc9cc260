// SPDX-License-Identifier: Apache-2.0
#include "comm/call/call.h"

#include "util/dtype.h"
#include "util/fnv.h"
#include "util/order.h"
#include "util/text.h"

#include <algorithm>
#include <string_view>

namespace mdist {
namespace {

constexpr const char *kOpNames[] = {"?", "SUM", "MEAN", "MIN", "MAX", "PROD", "AND", "OR", "XOR", "OPERATOR"};

constexpr std::size_t kShown = 4; // buffers that call_text() names

const char *place_text(const Call &call) {
    if (!call.on_gpus()) return "";
    return call.recorded ? " on the GPU, recorded by a graph" : " on the GPU";
}

std::string buffer_text(const mdist_buffer_t &buffer) {
    if (buffer.reserved == 0) return text(dtype_name(buffer.dtype), " x ", buffer.elements);
    return text(dtype_name(buffer.dtype), " x ", buffer.elements, " in the order ", order_text(buffer.reserved));
}

/// The first buffer in which two calls of one kind and count differ; the count if none.
std::size_t different_buffer(const Call &a, const Call &b) {
    for (std::size_t i = 0; i < a.buffer_count; ++i) {
        if (a.inputs[i].dtype != b.inputs[i].dtype || a.inputs[i].reserved != b.inputs[i].reserved) return i;
        if (a.kind->traits().inputs_agree() && a.inputs[i].elements != b.inputs[i].elements) return i;
    }
    return a.buffer_count;
}

} // namespace

const char *op_name(int32_t op) {
    return kOpNames[op >= MDIST_SUM && op <= kLastOp ? op : 0];
}

std::string call_text(const Call &call) {
    std::string out = text(call.kind->name(), "(");
    if (call.op != 0) out += text(op_name(call.op), ", ");
    if (call.kind->traits().has_root) out += text("root ", call.id_of(call.root), ", ");
    out += call.subject_text;
    if (call.inputs != nullptr)
        out += text(call.buffer_count, call.buffer_count == 1 ? " buffer" : " buffers", place_text(call));
    for (std::size_t i = 0; call.inputs != nullptr && i < std::min(call.buffer_count, kShown); ++i)
        out += text(i == 0 ? ": " : ", ", buffer_text(call.inputs[i]));
    if (call.inputs != nullptr && call.buffer_count > kShown) out += ", ...";
    return out + ")";
}

Call call_of(CallKind kind, int32_t op, const mdist_buffer_t *inputs, const mdist_buffer_t *outputs,
             std::size_t count) {
    Call call;
    call.kind = kind;
    call.op = op;
    call.inputs = inputs;
    call.outputs = outputs;
    call.buffer_count = count;
    return call;
}

Call call_about(CallKind kind, const std::string &subject, uint64_t hash) {
    Call call;
    call.kind = kind;
    call.subject = hash;
    call.subject_text = subject.c_str();
    return call;
}

Call call_about(CallKind kind, const std::string &subject) {
    return call_about(kind, subject, fnv1a(subject));
}

Call refusal_of(const char *function, const Failure &failure) {
    constexpr std::string_view kPrefix = "mdist_";
    Call call;
    call.kind = &kRefusedFunction;
    call.subject = fnv1a(function);
    call.subject_text = std::string_view(function).starts_with(kPrefix) ? function + kPrefix.size() : function;
    call.refusal = &failure;
    return call;
}

bool same_call(const Call &a, const Call &b) {
    if (a.kind != b.kind || a.op != b.op || a.root != b.root || a.buffer_count != b.buffer_count ||
        a.subject != b.subject || a.on_gpus() != b.on_gpus() || a.recorded != b.recorded)
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
    mix(call.kind->hash() ^ static_cast<uint32_t>(call.op));
    mix(static_cast<uint64_t>(call.root) << 32 | (call.inputs != nullptr));
    mix(call.buffer_count);
    mix(call.subject);
    if (call.on_gpus()) mix(call.recorded ? 2 : 1);
    for (std::size_t i = 0; call.inputs != nullptr && i < call.buffer_count; ++i) {
        mix(static_cast<uint32_t>(call.inputs[i].dtype) | static_cast<uint64_t>(call.inputs[i].reserved) << 32);
        if (call.kind->traits().inputs_agree()) mix(call.inputs[i].elements);
    }
    return hash;
}

} // namespace mdist
