// SPDX-License-Identifier: Apache-2.0
#include "comm/call/operation_header.h"

#include "comm/call/bad_message.h"
#include "util/dtype.h"
#include "util/text.h"

#include <algorithm>
#include <cstring>

namespace mdist {
namespace {

bool same(const OperationHeader &a, const OperationHeader &b) {
    return a.sequence == b.sequence && a.print == b.print && a.function == b.function && a.op == b.op &&
           a.dtype == b.dtype && a.on_gpus == b.on_gpus && a.root == b.root && a.buffer_count == b.buffer_count &&
           a.elements == b.elements && std::memcmp(a.subject, b.subject, sizeof a.subject) == 0;
}

/// Stands for operator_dtype(); the element size is in the subject.
constexpr uint8_t kElements = 0x7f;

const CallFunction kUnknownFunction("?", Pattern::kMeet);

CallKind function_of(const OperationHeader &header) {
    const CallKind found = CallFunction::find(header.function);
    return found != nullptr ? found : &kUnknownFunction;
}

/// Whether some call has such a header. Bytes that are no header are DATA_LOSS, not a disagreement about calls.
bool is_header(const OperationHeader &header) {
    return CallFunction::find(header.function) != nullptr && header.op <= kLastOp &&
           (header.dtype == 0 || header.dtype == kElements || is_dtype(header.dtype));
}

/// Says where two headers differ if their texts look the same.
const char *hidden_difference(const OperationHeader &a, const OperationHeader &b) {
    if (a.sequence != b.sequence || a.text() != b.text()) return "";
    if (a.subject_print != b.subject_print) return "; they differ further on in that name, shape or axes";
    return "; they differ in a later buffer, in the order of elements, or in whether a graph records them";
}

/// `who` is in the operation `here`.
Failure disagreement(std::string_view who, const OperationHeader &here, uint32_t worker, const OperationHeader &there) {
    return Failure(MDIST_ERR_MISMATCH,
                   text("workers disagree: ", who, " in operation ", here.sequence, ", ", here.text(), ", worker ",
                        worker, " in operation ", there.sequence, ", ", there.text(), hidden_difference(here, there)))
        .operation(here.name())
        .worker(worker)
        .reason(there.refuses() ? kRefusedCall : kDifferentCalls);
}

} // namespace

OperationHeader OperationHeader::of(const Call &call, uint64_t sequence, uint64_t payload_bytes) {
    OperationHeader header;
    header.sequence = sequence;
    header.print = fingerprint(call);
    header.function = call.kind->hash();
    static_assert(kLastOp <= UINT8_MAX);
    header.op = static_cast<uint8_t>(call.op);
    header.root = call.kind->traits().has_root ? call.id_of(call.root) : call.root;
    header.subject_print =
        static_cast<uint16_t>(call.subject >> 48 ^ call.subject >> 32 ^ call.subject >> 16 ^ call.subject);
    if (call.inputs != nullptr && call.buffer_count != 0) {
        const int32_t dtype = call.inputs[0].dtype;
        header.dtype = is_operator_dtype(dtype) ? kElements : static_cast<uint8_t>(dtype) & 0x7f;
        if (call.kind->traits().inputs_agree()) header.elements = call.inputs[0].elements;
    }
    header.on_gpus = call.on_gpus() ? 1 : 0;
    header.buffer_count = static_cast<uint32_t>(std::min<std::size_t>(call.buffer_count, UINT32_MAX));
    for (std::size_t i = 0; i < sizeof header.subject && call.subject_text[i] != 0; ++i)
        header.subject[i] = call.subject_text[i];
    header.payload_bytes = static_cast<uint32_t>(std::min<uint64_t>(payload_bytes, UINT32_MAX));
    return header;
}

bool OperationHeader::refuses() const {
    return function == kRefusedFunction.hash();
}

const char *OperationHeader::name() const {
    return function_of(*this)->name();
}

std::string OperationHeader::text() const {
    std::string subject_text(subject, strnlen(subject, sizeof subject));
    if (op == kOperator && subject_text.size() == sizeof subject) subject_text += subject[15] == ',' ? " " : "..., ";
    Call call;
    call.kind = function_of(*this);
    call.op = op;
    call.root = root;
    call.subject_text = subject_text.c_str();
    // The header knows only the first buffer: name that one here, and count the others.
    std::string out = call_text(call);
    out.pop_back();
    if (dtype != 0) {
        out += mdist::text(buffer_count, buffer_count == 1 ? " buffer" : " buffers",
                           on_gpus != 0 ? " on the GPU: " : ": ", dtype == kElements ? "elements" : dtype_name(dtype));
        if (call.kind->traits().inputs_agree()) out += mdist::text(" x ", elements);
        if (buffer_count > 1) out += ", ...";
    }
    return out + ")";
}

void check_same(const OperationHeader &mine, uint32_t self, const OperationHeader &theirs, uint32_t worker) {
    if (same(mine, theirs)) return;
    if (!is_header(theirs)) throw bad_message(worker, "bytes that are not a valid operation header");
    throw disagreement(text("worker ", self, " is"), mine, worker, theirs);
}

std::optional<Failure> odd_one_out(const std::vector<const OperationHeader *> &headers,
                                   const std::function<uint32_t(uint32_t worker)> &rank) {
    const bool all_known = std::count(headers.begin(), headers.end(), nullptr) == 0;
    for (const OperationHeader *const most : headers) {
        if (most == nullptr) continue;
        const auto alike = [most](const OperationHeader *other) { return other != nullptr && same(*most, *other); };
        const auto count = static_cast<std::size_t>(std::count_if(headers.begin(), headers.end(), alike));
        if (2 * count <= headers.size()) continue;
        for (uint32_t worker = 0; worker < headers.size(); ++worker) {
            const OperationHeader *const other = headers[worker];
            if (other == nullptr || alike(other) || !is_header(*other) || other->refuses()) continue;
            return disagreement(text(all_known ? "" : "at least ", count, " of ", headers.size(), " workers are"),
                                *most, rank(worker), *other);
        }
        break;
    }
    return std::nullopt;
}

} // namespace mdist
