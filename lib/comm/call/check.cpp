// SPDX-License-Identifier: Apache-2.0
#include "comm/call/check.h"

#include "comm/call/overlap.h"
#include "util/dtype.h"
#include "util/failure.h"
#include "util/order.h"
#include "util/text.h"

namespace mdist {
namespace {

/// Elements may lie in any order if each is reduced or copied to the same place.
void check_order(const Call &call, std::size_t i) {
    const int32_t in = call.inputs[i].reserved;
    const int32_t out = call.outputs[i].reserved;
    if (in == 0 && out == 0) return;
    if (call.kind->traits().cuts || call.kind->traits().joins)
        throw invalid(text("buffer ", i, " has its elements in the order ", order_text(in != 0 ? in : out),
                           " of dimensions; ", call.kind->name(),
                           " cuts or joins buffers and needs them row-major. Make the tensor contiguous first"));
    if (in != out && call.outputs[i].elements != 0)
        throw invalid(text("input ", i, " and output ", i, " have their elements in different orders"));
}

void check_pair(const Call &call, std::size_t i, uint32_t parties) {
    const mdist_buffer_t &in = call.inputs[i];
    const mdist_buffer_t &out = call.outputs[i];
    if (call.by == nullptr) { // else done before the API changed them
        check_buffer(in, "input ", i);
        check_buffer(out, "output ", i);
    }
    if (in.dtype != out.dtype)
        throw invalid(text("input ", i, " is ", dtype_name(in.dtype), " but output ", i, " ", dtype_name(out.dtype),
                           "; they must have the same type"));
    const PatternTraits &traits = call.kind->traits();
    check_order(call, i);
    if (!traits.has_root && !traits.tells_lengths) check_as_long(call, i);
    if (traits.cuts && !traits.tells_lengths && in.elements % parties != 0)
        throw invalid(
            text("input ", i, " has ", in.elements, " elements, which ", parties, " replicas cannot share equally"));
    if (traits.sums) check_op_takes(call.op, in.dtype);
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

/// Whether memory can hold that many elements. Few of them need no division.
bool can_exist(const mdist_buffer_t &buffer) {
    constexpr uint64_t kFew = PTRDIFF_MAX / 8; // of the largest type
    return buffer.elements <= kFew || buffer.elements <= PTRDIFF_MAX / dtype_size(buffer.dtype);
}

} // namespace

// Builds the name only for a failure, since this runs in every call.
void check_buffer(const mdist_buffer_t &buffer, const char *which, std::size_t i) {
    const bool fine = is_dtype(buffer.dtype) && (buffer.reserved == 0 || is_order(buffer.reserved)) &&
                      can_exist(buffer) && (buffer.data != nullptr || buffer.elements == 0);
    if (fine) return;
    const std::string what = text(which, i);
    check_dtype(buffer.dtype, what.c_str());
    if (!is_order(buffer.reserved))
        throw invalid(text(what, " has reserved ", buffer.reserved,
                           "; it must be 0, or what mdist_buffer_from_dlpack has written"));
    if (!can_exist(buffer)) throw invalid(text(what, " has ", buffer.elements, " elements, more than memory can hold"));
    if (buffer.data == nullptr && buffer.elements != 0)
        throw invalid(text(what, " has ", buffer.elements, " elements and data NULL"));
}

void check_as_long(const Call &call, std::size_t i) {
    if (call.inputs[i].elements != call.outputs[i].elements)
        throw invalid(text("input ", i, " has ", call.inputs[i].elements, " elements but output ", i, " ",
                           call.outputs[i].elements, "; they must have the same length"));
}

void check_op(int32_t op) {
    if (op > kLastOp && is_operator(op))
        throw invalid(text("op is ", op,
                           ", an operator (mdist_operator_register), which only mdist_all_reduce, "
                           "mdist_reduce_scatter, mdist_reduce_to_root, started or not, and "
                           "mdist_strategy_all_reduce take"));
    if (op < MDIST_SUM || op > MDIST_XOR)
        throw invalid(text("op is ", op, ", which is not a valid op; use MDIST_SUM (1) to MDIST_XOR (8)"));
}

void check_op_defined(int32_t op, int32_t dtype) {
    if (op == kOperator && is_operator_dtype(dtype)) return;
    check_op(op);
    const bool bits = op == MDIST_AND || op == MDIST_OR || op == MDIST_XOR;
    if (bits && !dtype_is_integer(dtype))
        throw invalid(text(op_name(op), " of ", dtype_name(dtype),
                           " is not defined, since it works on bits; use an integer type or bool"));
    if (dtype == MDIST_BOOL && !bits && op != MDIST_MIN && op != MDIST_MAX)
        throw invalid(text(op_name(op),
                           " of bool is not defined; use OR (is any true) or AND (are all), or count in an "
                           "integer type"));
}

void check_op_takes(int32_t op, int32_t dtype) {
    check_op_defined(op, dtype);
    if (op == MDIST_MEAN && dtype_is_integer(dtype))
        throw invalid(text("MEAN of ", dtype_name(dtype),
                           " would have to be rounded; use SUM and divide, or use a floating-point type"));
}

void check_call(const Call &call, uint32_t parties) {
    if (call.kind->traits().sums && call.by == nullptr) check_op(call.op);
    if (call.kind->traits().has_root && call.root >= parties)
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
