// SPDX-License-Identifier: Apache-2.0
#include "comm/shm/group.h"

#include "comm/call/buffers.h"
#include "comm/call/pointers.h"
#include "comm/call/reduce_row.h"
#include "comm/shm/staged.h"
#include "reduce/reduce.h"
#include "util/dtype.h"

#include <cstring>

namespace mdist {

ShmGroup::ShmGroup(std::shared_ptr<ShmMates> mates, std::shared_ptr<ShmBell> bell, const Spans &spans,
                   const DirectWay &way)
    : mates_(mates),
      meeting_(mates, bell),
      steps_(mates, std::move(bell)),
      cut_(spans),
      way_(way),
      payloads_(mates->workers()) {}

std::size_t ShmGroup::payload_bytes(const Call &call, uint32_t partials) const {
    std::size_t bytes = 0;
    for (std::size_t b = 0; b < call.buffer_count; ++b)
        bytes += call.inputs[b].elements * reduce::partial_size(call.inputs[b].dtype, cut_);
    return bytes * partials;
}

bool ShmGroup::takes(const Call &call) const {
    if (call.by == nullptr) return true; // other elements are small
    const std::size_t bytes = call.by->element_bytes;
    return bytes <= kShmBlockBytes && bytes * cut_.most() <= mates_->layout().sizes().stage_bytes;
}

void ShmGroup::all_reduce(const OperationHeader &mine, const Call *const *calls, KeepGoing keep_going) {
    const std::size_t bytes = payload_bytes(*calls[0], cut_.most());
    if (bytes > meeting_.room()) return reduce_large(mine, calls, keep_going);
    if (cut_.replicas() == mates_->workers() && calls[0]->buffer_count == 1)
        return reduce_one(mine, *calls[0], bytes, keep_going);
    reduce_small(mine, calls, keep_going);
}

void ShmGroup::meet(const OperationHeader &mine, FunctionRef<std::size_t(uint32_t)> bytes, KeepGoing keep_going) {
    meeting_.publish(mine);
    for (uint32_t rank = 0; rank < mates_->workers(); ++rank)
        payloads_[rank] =
            rank == mates_->rank() ? meeting_.own_payload(bytes(rank)) : meeting_.await(rank, bytes(rank), keep_going);
    meeting_.ring();
}

/// Small all-reduce of one buffer with one replica per worker: the buffer itself is the only partial.
void ShmGroup::reduce_one(const OperationHeader &mine, const Call &call, std::size_t bytes, KeepGoing keep_going) {
    const mdist_buffer_t &input = call.inputs[0];
    if (bytes != 0) std::memcpy(meeting_.payload(bytes), input.data, bytes);
    const auto each = [bytes](uint32_t) { return bytes; };
    meet(mine, each, keep_going);
    meeting_.prepare(bytes);
    reduce::reduce(operation_of(call, input.dtype, payloads_.size()), payloads_.data(), payloads_.size(),
                   &call.outputs[0].data, 1, input.elements);
}

void ShmGroup::reduce_small(const OperationHeader &mine, const Call *const *calls, KeepGoing keep_going) {
    std::vector<ReduceRow> rows;
    for (const int32_t dtype : dtypes_of(*calls[0])) rows.emplace_back(calls, dtype, cut_, mates_->rank());

    const auto bytes = [&](uint32_t rank) { return payload_bytes(*calls[0], cut_.count(rank)); };
    char *to = meeting_.payload(bytes(mates_->rank()));
    for (const ReduceRow &row : rows)
        for (uint32_t index = 0; index < row.partial_count(); ++index, to += row.elements() * row.partial_size())
            row.partial(index, 0, row.elements(), to);
    meet(mine, bytes, keep_going);

    Pointers<const void *> partials(cut_.subtrees().size());
    results_.resize(meeting_.room());
    for (const ReduceRow &row : rows) {
        for (uint32_t rank = 0; rank < mates_->workers(); ++rank)
            for (uint32_t index = cut_.first(rank); index < cut_.first(rank + 1); ++index) {
                partials[index] = payloads_[rank];
                payloads_[rank] = static_cast<const char *>(payloads_[rank]) + row.elements() * row.partial_size();
            }
        void *results = results_.data();
        reduce::combine_partials(row.operation(), cut_, partials.get(), &results, 1, row.elements());
        row.store(0, row.elements(), results);
    }
}

void ShmGroup::reduce_large(const OperationHeader &mine, const Call *const *calls, KeepGoing keep_going) {
    const Spans &spans = cut_.spans();
    const auto bytes = [&](uint32_t rank) { return ShmPlaces::bytes(spans[rank].count(), calls[0]->buffer_count); };
    const uint32_t own = spans[mates_->rank()].count();
    // The same on all workers.
    const bool may_be_direct = ShmPlaces::bytes(spans.most(), calls[0]->buffer_count) <= meeting_.room();
    if (may_be_direct) ShmPlaces::write(*mates_, calls, own, meeting_.payload(bytes(mates_->rank())));
    meet(mine, bytes, keep_going);

    ShmPlaces places;
    if (may_be_direct && places.read(*mates_, *calls[0], spans, payloads_)) {
        const Call &call = *calls[0];
        const uint64_t written = reuse_.note(call.outputs[0].data, own * bytes_of(call.outputs, call.buffer_count));
        return reduce_direct(steps_, places, calls, own, way_.writing(written), keep_going);
    }
    for (const int32_t dtype : dtypes_of(*calls[0]))
        reduce_staged(steps_, ReduceRow(calls, dtype, cut_, mates_->rank()), keep_going);
}

} // namespace mdist
