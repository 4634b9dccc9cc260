// SPDX-License-Identifier: Apache-2.0
#include "comm/call/reduce_row.h"

#include "comm/call/buffers.h"
#include "comm/call/pointers.h"
#include "util/dtype.h"

#include <algorithm>
#include <cstring>

namespace mdist {
ReduceRow::ReduceRow(const Call *const *calls, int32_t dtype, const reduce::Cut &cut, uint32_t worker)
    : calls_(calls),
      cut_(cut),
      worker_(worker),
      first_(cut.spans()[worker].first),
      replicas_(cut.spans()[worker].count()),
      operation_(operation_of(*calls[0], dtype, cut.replicas())),
      element_size_(dtype_size(dtype)),
      partial_size_(reduce::partial_size(dtype, cut)) {
    for (std::size_t b = 0; b < calls[0]->buffer_count; ++b) {
        const mdist_buffer_t &buffer = calls[0]->inputs[b];
        if (buffer.dtype != dtype || buffer.elements == 0) continue;
        pieces_.push_back({b, elements_, buffer.elements});
        elements_ += buffer.elements;
    }
}

ReduceRow::ReduceRow(const Call *const *calls, std::size_t buffer, const std::vector<uint64_t> &parts,
                     const reduce::Cut &cut, uint32_t worker)
    : calls_(calls),
      cut_(cut),
      worker_(worker),
      first_(cut.spans()[worker].first),
      replicas_(cut.spans()[worker].count()),
      operation_(operation_of(*calls[0], calls[0]->inputs[buffer].dtype, cut.replicas())),
      element_size_(dtype_size(operation_.dtype)),
      partial_size_(reduce::partial_size(operation_.dtype, cut)),
      pieces_(1, {buffer, 0, parts.back()}),
      parts_(parts),
      elements_(parts.back()) {}

void *ReduceRow::part_at(uint32_t replica, uint64_t element) const {
    return at(calls_[replica]->outputs[pieces_[0].buffer], element - *part_of(replica));
}

/// Calls use(buffer, first element in the buffer, first element in the range, count) for each stretch of the range that
/// lies in one buffer.
template <typename Use>
void ReduceRow::for_stretches(uint64_t begin, uint64_t count, Use use) const {
    const uint64_t end = begin + count;
    for (std::size_t i = piece_at(begin); begin < end; ++i) {
        const Piece &piece = pieces_[i];
        const uint64_t stretch = std::min(end, piece.begin + piece.elements) - begin;
        use(piece.buffer, begin - piece.begin, begin - (end - count), stretch);
        begin += stretch;
    }
}

std::size_t ReduceRow::piece_at(uint64_t element) const {
    const auto behind = std::upper_bound(pieces_.begin(), pieces_.end(), element,
                                         [](uint64_t e, const Piece &piece) { return e < piece.begin; });
    return static_cast<std::size_t>(behind - pieces_.begin()) - 1;
}

const ReduceRow::Piece *ReduceRow::piece_of(uint64_t begin, uint64_t count) const {
    if (count == 0) return nullptr;
    const Piece &piece = pieces_[piece_at(begin)];
    return begin + count <= piece.begin + piece.elements ? &piece : nullptr;
}

void ReduceRow::partial(uint32_t index, uint64_t begin, uint64_t count, void *to) const {
    const uint32_t of_cut = cut_.first(worker_) + index;
    const reduce::Subtree &subtree = cut_.subtrees()[of_cut];
    const uint32_t first = subtree.begin - first_;
    Pointers<const void *> sources(subtree.count());
    for_stretches(begin, count, [&](std::size_t buffer, uint64_t element, uint64_t from, uint64_t stretch) {
        if (const char *const made = made_before(index, buffer, element)) {
            std::memcpy(static_cast<char *>(to) + from * partial_size_, made, stretch * partial_size_);
            return;
        }
        for (uint32_t i = 0; i < subtree.count(); ++i) sources[i] = at(calls_[first + i]->inputs[buffer], element);
        reduce::reduce_partial(operation_, cut_, of_cut, sources.get(), static_cast<char *>(to) + from * partial_size_,
                               stretch);
    });
}

const void *ReduceRow::partial_in_place(uint64_t begin, uint64_t count) const {
    const Piece *const piece = partial_count() == 1 ? piece_of(begin, count) : nullptr;
    if (piece == nullptr) return nullptr;
    if (cut_.leaves()) return at(calls_[0]->inputs[piece->buffer], begin - piece->begin);
    return made_before(0, piece->buffer, begin - piece->begin);
}

const char *ReduceRow::made_before(uint32_t index, std::size_t buffer, uint64_t element) const {
    const Call &call = *calls_[0];
    if (call.partials == nullptr) return nullptr;
    const void *const made = call.partials[index * call.buffer_count + buffer];
    return made != nullptr ? static_cast<const char *>(made) + element * partial_size_ : nullptr;
}

void ReduceRow::store(uint64_t begin, uint64_t count, const void *results) const {
    for (uint32_t replica = 0; scatters() && replica < replicas_; ++replica) {
        const uint64_t *part = part_of(replica);
        const uint64_t from = std::max(begin, part[0]);
        const uint64_t to = std::min(begin + count, part[1]);
        if (from < to)
            std::memcpy(part_at(replica, from), static_cast<const char *>(results) + (from - begin) * element_size_,
                        (to - from) * element_size_);
    }
    if (scatters()) return;
    for_stretches(begin, count, [&](std::size_t buffer, uint64_t element, uint64_t from, uint64_t stretch) {
        for (uint32_t replica = 0; replica < replicas_; ++replica)
            std::memcpy(at(calls_[replica]->outputs[buffer], element),
                        static_cast<const char *>(results) + from * element_size_, stretch * element_size_);
    });
}

void ReduceRow::load(uint64_t begin, uint64_t count, void *to) const {
    for_stretches(begin, count, [&](std::size_t buffer, uint64_t element, uint64_t from, uint64_t stretch) {
        std::memcpy(static_cast<char *>(to) + from * element_size_, at(calls_[0]->outputs[buffer], element),
                    stretch * element_size_);
    });
}

void *ReduceRow::output_in_place(uint64_t begin, uint64_t count) const {
    for (uint32_t replica = 0; scatters() && replica < replicas_; ++replica) {
        const uint64_t *part = part_of(replica);
        if (part[0] <= begin && begin + count <= part[1]) return part_at(replica, begin);
    }
    if (scatters()) return nullptr;
    const Piece *piece = piece_of(begin, count);
    return piece != nullptr ? at(calls_[0]->outputs[piece->buffer], begin - piece->begin) : nullptr;
}

void ReduceRow::spread(uint64_t begin, uint64_t count) const {
    if (scatters()) return;
    for_stretches(begin, count, [&](std::size_t buffer, uint64_t element, uint64_t, uint64_t stretch) {
        const void *from = at(calls_[0]->outputs[buffer], element);
        for (uint32_t replica = 1; replica < replicas_; ++replica) {
            void *to = at(calls_[replica]->outputs[buffer], element);
            if (to != from) std::memcpy(to, from, stretch * element_size_);
        }
    });
}

const void *ReduceRow::partials(uint64_t begin, uint64_t count, void *scratch) const {
    if (const void *const in_place = partial_in_place(begin, count)) return in_place;
    for (uint32_t i = 0; i < partial_count(); ++i)
        partial(i, begin, count, static_cast<char *>(scratch) + i * count * partial_size_);
    return scratch;
}

void *ReduceRow::room(uint64_t begin, uint64_t count, void *scratch) const {
    void *const in_place = output_in_place(begin, count);
    return in_place != nullptr ? in_place : scratch;
}

void ReduceRow::take(uint64_t begin, uint64_t count, const void *room) const {
    room == output_in_place(begin, count) ? spread(begin, count) : store(begin, count, room);
}

const void *ReduceRow::results(uint64_t begin, uint64_t count, void *scratch) const {
    if (const void *const in_place = output_in_place(begin, count)) return in_place;
    load(begin, count, scratch);
    return scratch;
}

std::vector<int32_t> dtypes_of(const Call &call) {
    std::vector<int32_t> dtypes;
    for (std::size_t b = 0; b < call.buffer_count; ++b)
        if (std::find(dtypes.begin(), dtypes.end(), call.inputs[b].dtype) == dtypes.end())
            dtypes.push_back(call.inputs[b].dtype);
    return dtypes;
}

} // namespace mdist
