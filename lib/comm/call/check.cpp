// SPDX-License-Identifier: Apache-2.0
#include "comm/call/check.h"

#include "comm/call/overlap.h"
#include "util/dtype.h"
#include "util/failure.h"
#include "util/text.h"

namespace mdist {
namespace {

bool reduces(Pattern pattern) {
    return pattern == Pattern::kReduce || pattern == Pattern::kReduceScatter || pattern == Pattern::kReduceToRoot;
}

/// `which` is "input " or "output ". Builds the name only for a failure, since this runs in every call.
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
        throw invalid(text("input ", i, " is ", dtype_name(in.dtype), " but output ", i, " ", dtype_name(out.dtype),
                           "; they must have the same type"));
    const Pattern pattern = call.kind->pattern();
    const bool equal_lengths = pattern == Pattern::kReduce || pattern == Pattern::kTranspose;
    if (equal_lengths) check_as_long(call, i);
    if (pattern == Pattern::kTranspose && in.elements % parties != 0)
        throw invalid(
            text("input ", i, " has ", in.elements, " elements, which ", parties, " replicas cannot share equally"));
    if (reduces(pattern)) check_op_takes(call.op, in.dtype);
}

void check_parts(const mdist_buffer_t &buffer, const uint64_t *parts, std::size_t count, const char *which,
                 std::size_t i) {
    uint64_t sum = 0;
    bool fits = true;
    for (std::size_t replica = 0; replica < count; ++replica)
        fits = !__builtin_add_overflow(sum, parts[i * count + replica], &sum) && fits;
    if (fits && sum == buffer.elements) return;
    throw invalid(text(which, i, " has ", buffer.elements, " elements, but its parts for ", count,
                       " replicas together have ", fits ? text(sum) : std::string("more than memory can hold")));
}

} // namespace

void check_as_long(const Call &call, std::size_t i) {
    if (call.inputs[i].elements != call.outputs[i].elements)
        throw invalid(text("input ", i, " has ", call.inputs[i].elements, " elements but output ", i, " ",
                           call.outputs[i].elements, "; they must have the same length"));
}

void check_op(int32_t op) {
    if (op < MDIST_SUM || op > MDIST_PROD)
        throw invalid(text("op is ", op, ", which is not a valid op; use MDIST_SUM (1) to MDIST_PROD (5)"));
}

void check_op_takes(int32_t op, int32_t dtype) {
    check_op(op);
    if (op == MDIST_MEAN && dtype_is_integer(dtype))
        throw invalid(text("MEAN of ", dtype_name(dtype),
                           " would have to be rounded; use SUM and divide, or use a floating-point type"));
}

void check_call(const Call &call, uint32_t parties) {
    if (reduces(call.kind->pattern())) check_op(call.op);
    if (has_root(call.kind->pattern()) && call.root >= parties)
        throw invalid(text("root is ", call.root, "; the replicas are 0 to ", parties - 1));
    for (std::size_t i = 0; i < call.buffer_count; ++i) {
        check_pair(call, i, parties);
        if (call.kind->pattern() != Pattern::kTransposeParts) continue;
        check_parts(call.inputs[i], call.input_parts, call.part_count, "input ", i);
        check_parts(call.outputs[i], call.output_parts, call.part_count, "output ", i);
    }
    check_overlap(call);
}

} // namespace mdist
