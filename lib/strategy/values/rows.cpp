// SPDX-License-Identifier: Apache-2.0
#include "strategy/values/rows.h"

#include "comm/call/check.h"
#include "comm/collectives.h"
#include "util/dtype.h"
#include "util/text.h"

#include <cstring>

namespace mdist {
namespace {

/// Gathers buffers of the replicas that meet, in their order.
void gather(const Seat &seat, Call &call, const mdist_buffer_t *inputs, const mdist_buffer_t *outputs,
            std::size_t count, uint64_t timeout_ns) {
    call.inputs = inputs;
    call.outputs = outputs;
    call.buffer_count = count;
    perform_collective(seat.executors, seat.party, call, timeout_ns);
}

} // namespace

int64_t Rows::index(uint64_t i) const {
    int64_t index = 0;
    std::memcpy(&index, static_cast<const char *>(indices.data()) + i * sizeof index, sizeof index);
    return index;
}

void Rows::check() const {
    if (indices.dtype() != MDIST_INT64 || indices.shape().rank != 1)
        throw invalid(mdist::text("the indices of rows are ", dtype_name(indices.dtype()), " ", indices.shape().text(),
                                  "; they must be int64, one dimension"));
    if (values.shape().rank == 0 || values.shape().dims[0] != indices.elements())
        throw invalid(mdist::text("rows of shape ", values.shape().text(), " come with ", indices.elements(),
                                  " indices; there must be one for each row of the first dimension"));
}

std::string Rows::text() const {
    std::string shape = values.shape().without_first().text();
    return mdist::text(dtype_name(values.dtype()), values.shape().rank > 1 ? " [*, " : " [*", shape.substr(1));
}

ValuePointer value_of_rows(const Value &indices, const Value &values) {
    if (indices.is_structure()) throw indices.refused("the value of indices");
    if (values.is_structure()) throw values.refused("the value of rows");
    indices.check_no_rows();
    values.check_no_rows();
    if (indices.kind() != values.kind() || indices.tensors().size() != values.tensors().size())
        throw invalid(text("the indices are a ", kind_text(indices.kind()), " value of ", indices.tensors().size(),
                           " tensors and the rows a ", kind_text(values.kind()), " value of ", values.tensors().size(),
                           "; both must have the same kind and the same number of tensors"));
    for (std::size_t i = 0; i < values.tensors().size(); ++i) Rows{indices.tensors()[i], values.tensors()[i]}.check();
    const auto copied = [](std::span<const Tensor> tensors) {
        return std::vector<Tensor>(tensors.begin(), tensors.end());
    };
    return std::make_shared<Value>(values.kind(), copied(values.tensors()), copied(indices.tensors()));
}

Rows rows_for(const Value &value, uint32_t local) {
    return {value.indices_for(local), value.tensor_for(local)};
}

void check_rows_op(int32_t op, int32_t dtype) {
    check_op_takes(op, dtype);
    if (op != MDIST_SUM && op != MDIST_MEAN)
        throw Failure(MDIST_ERR_UNSUPPORTED,
                      "rows can be reduced only with SUM or MEAN, since missing rows count as zeros");
}

Rows gather_rows(Party &party, const Seat &seat, CallKind kind, const std::string &subject, const Rows &own,
                 uint64_t timeout_ns) {
    Call call = call_about(kind, subject);
    call.ids = seat.ids;

    std::vector<uint64_t> counts(seat.replicas);
    uint64_t count = own.count();
    const mdist_buffer_t mine = {&count, 1, MDIST_UINT64, 0};
    const mdist_buffer_t everybodys = {counts.data(), counts.size(), MDIST_UINT64, 0};
    gather(seat, call, &mine, &everybodys, 1, timeout_ns);

    uint64_t total = 0;
    for (const uint64_t theirs : counts)
        if (__builtin_add_overflow(total, theirs, &total)) throw invalid("the number of rows does not fit in 64 bits");
    Device &device = party.device();
    const auto room_for = [&](const Tensor &part) {
        return Tensor::allocate(part.on_host() ? *host() : device, part.dtype(),
                                part.shape().without_first().with_first(total));
    };
    const Rows all = {room_for(own.indices), room_for(own.values)};
    const mdist_buffer_t inputs[] = {own.indices.buffer(), own.values.buffer()};
    const mdist_buffer_t outputs[] = {all.indices.buffer(), all.values.buffer()};
    if (own.indices.on_host() == own.values.on_host()) {
        gather(seat, call, inputs, outputs, 2, timeout_ns);
    } else { // one gather needs all of it in one place
        gather(seat, call, &inputs[0], &outputs[0], 1, timeout_ns);
        gather(seat, call, &inputs[1], &outputs[1], 1, timeout_ns);
    }
    return all;
}

void divide_rows(Device &device, const Rows &rows, uint32_t replicas) {
    const Tensor &values = rows.values;
    (values.on_host() ? *host() : device).divide(values.dtype(), values.data(), replicas, values.elements());
}

} // namespace mdist
