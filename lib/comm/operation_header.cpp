// SPDX-License-Identifier: Apache-2.0
#include "comm/operation_header.h"

#include "util/dtype.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <cstring>

namespace mdist {
namespace {

bool same(const OperationHeader &a, const OperationHeader &b) {
    return a.sequence == b.sequence && a.print == b.print && a.kind == b.kind && a.op == b.op && a.dtype == b.dtype &&
           a.on_gpus == b.on_gpus && a.root == b.root && a.buffer_count == b.buffer_count && a.elements == b.elements &&
           std::memcmp(a.subject, b.subject, sizeof a.subject) == 0;
}

/// Where the difference is if both look the same in words.
const char *hidden_difference(const OperationHeader &a, const OperationHeader &b) {
    if (a.sequence != b.sequence || a.text() != b.text()) return "";
    if (a.subject_print != b.subject_print) return "; they differ further on in that name, shape or axes";
    return "; they differ in a later buffer";
}

} // namespace

OperationHeader OperationHeader::of(const Call &call, uint64_t sequence, uint64_t payload_bytes) {
    OperationHeader header;
    header.sequence = sequence;
    header.print = fingerprint(call);
    header.kind = static_cast<uint8_t>(call.kind);
    header.op = static_cast<uint8_t>(call.op);
    header.root = call.root;
    header.subject_print =
        static_cast<uint16_t>(call.subject >> 48 ^ call.subject >> 32 ^ call.subject >> 16 ^ call.subject);
    if (call.inputs != nullptr && call.buffer_count != 0) {
        header.dtype = static_cast<int16_t>(call.inputs[0].dtype);
        if (input_lengths_agree(call.kind)) header.elements = call.inputs[0].elements;
    }
    header.on_gpus = call.on_gpus() ? 1 : 0;
    header.buffer_count = static_cast<uint32_t>(std::min<std::size_t>(call.buffer_count, UINT32_MAX));
    std::memcpy(header.subject, call.subject_text, std::min(std::strlen(call.subject_text), sizeof header.subject));
    header.payload_bytes = payload_bytes;
    return header;
}

std::string OperationHeader::text() const {
    const std::string subject_text(subject, strnlen(subject, sizeof subject));
    Call call;
    call.kind = static_cast<CallKind>(kind);
    call.op = op;
    call.root = root;
    call.subject_text = subject_text.c_str();
    // Only the first buffer is known: it is named here, and the others are counted.
    std::string out = call_text(call);
    out.pop_back();
    if (dtype != 0) {
        append_text(out, mdist::text(buffer_count, buffer_count == 1 ? " buffer" : " buffers",
                                     on_gpus != 0 ? " on the GPU: " : ": ", dtype_name(dtype)));
        if (input_lengths_agree(call.kind)) append_text(out, mdist::text(" x ", elements));
        if (buffer_count > 1) out += ", ...";
    }
    return out + ")";
}

void check_same(const OperationHeader &mine, uint32_t self, const OperationHeader &theirs, uint32_t worker) {
    if (same(mine, theirs)) return;
    throw Failure(MDIST_ERR_MISMATCH, text("workers disagree: worker ", self, " is in operation ", mine.sequence, ", ",
                                           mine.text(), ", worker ", worker, " in operation ", theirs.sequence, ", ",
                                           theirs.text(), hidden_difference(mine, theirs)))
        .operation(call_name(static_cast<CallKind>(mine.kind)))
        .worker(static_cast<int32_t>(worker))
        .reason("different_calls");
}

} // namespace mdist
