// SPDX-License-Identifier: Apache-2.0
#include "reduce/operator.h"

#include "util/callback.h"
#include "util/round_up.h"

#include <algorithm>
#include <cstring>

namespace mdist::reduce {
namespace {

/// Alignment of what the function gets, unless elements are odd.
constexpr std::size_t kLine = 64;
/// Two inputs and an output of this size share a first-level cache, and a call costs little beside such work.
constexpr std::size_t kBlockBytes = 4096;

/// Where the tree over leaves lo to hi - 1 splits.
std::size_t split_of(Leaves leaves, std::size_t lo, std::size_t hi) {
    return lo + Node{leaves, hi}.part(lo, hi).lower();
}

/// The number of blocks that evaluate() needs below and including a node.
std::size_t rooms_of(Leaves leaves, std::size_t lo, std::size_t hi) {
    if (hi - lo == 1) return 1; // for an input that is not aligned
    const std::size_t split = split_of(leaves, lo, hi);
    return 1 + std::max(rooms_of(leaves, lo, split), 1 + rooms_of(leaves, split, hi));
}

class Evaluation {
  public:
    Evaluation(const Operator &op, Leaves leaves, const void *const *sources, std::size_t count, std::size_t elements)
        : op_(op),
          leaves_(leaves),
          sources_(sources),
          count_(count),
          elements_(elements),
          block_(std::min(std::max<std::size_t>(kBlockBytes / op.element_bytes, 1), elements)),
          alignment_(std::min(kLine, op.element_bytes & (~op.element_bytes + 1))),
          stride_(round_up(block_ * op.element_bytes, kLine)) {}

    /// Returns what the function returned: 0, or the first other number.
    int32_t run(void *const *destinations, std::size_t destination_count) {
        const bool direct = is_direct(destinations[0]);
        memory_.reset(new char[rooms_of(leaves_, 0, count_) * stride_ + kLine]);
        rooms_ = memory_.get() + (kLine - reinterpret_cast<uintptr_t>(memory_.get()) % kLine) % kLine;
        for (std::size_t at = 0; at < elements_; at += block_) {
            offset_ = at * op_.element_bytes;
            here_ = std::min(block_, elements_ - at);
            void *const first = static_cast<char *>(destinations[0]) + offset_;
            const void *const result = evaluate(0, count_, 0, direct ? first : rooms_);
            if (code_ != 0) return code_;
            for (std::size_t d = 0; d < destination_count; ++d) {
                void *const to = static_cast<char *>(destinations[d]) + offset_;
                if (to != result) std::memcpy(to, result, here_ * op_.element_bytes);
            }
        }
        return 0;
    }

  private:
    bool is_aligned(const void *address) const { return reinterpret_cast<uintptr_t>(address) % alignment_ == 0; }
    /// Whether the function may write to the destination: nothing is read from there.
    bool is_direct(const void *destination) const {
        return count_ > 1 && is_aligned(destination) &&
               std::find(sources_, sources_ + count_, destination) == sources_ + count_;
    }
    char *room(std::size_t index) const { return rooms_ + index * stride_; }

    /// Returns where the value of leaves lo to hi - 1 stands: at `to`, or where it is given. Uses rooms after `own`.
    const void *evaluate(std::size_t lo, std::size_t hi, std::size_t own, void *to) {
        if (hi - lo == 1) return leaf(lo, to);
        const std::size_t split = split_of(leaves_, lo, hi);
        const void *const left = evaluate(lo, split, own + 1, room(own + 1));
        const void *const right = evaluate(split, hi, own + 2, room(own + 2));
        if (code_ == 0) code_ = op_.combine(left, right, to, here_, op_.user_data);
        return to;
    }

    const void *leaf(std::size_t index, void *to) const {
        const char *const from = static_cast<const char *>(sources_[index]) + offset_;
        if (is_aligned(from)) return from;
        std::memcpy(to, from, here_ * op_.element_bytes);
        return to;
    }

    const Operator &op_;
    const Leaves leaves_;
    const void *const *const sources_;
    const std::size_t count_;
    const std::size_t elements_;
    const std::size_t block_; // elements
    const std::size_t alignment_;
    const std::size_t stride_;
    std::unique_ptr<char[]> memory_;
    char *rooms_ = nullptr;
    std::size_t offset_ = 0; // bytes
    std::size_t here_ = 0;   // elements of this block
    int32_t code_ = 0;
};

} // namespace

void reduce_by(const Operator &op, Leaves leaves, const void *const *sources, std::size_t count,
               void *const *destinations, std::size_t destination_count, std::size_t elements) {
    if (elements == 0 || destination_count == 0) return;
    if (count == 1) {
        for (std::size_t d = 0; d < destination_count; ++d)
            if (destinations[d] != sources[0]) std::memcpy(destinations[d], sources[0], elements * op.element_bytes);
        return;
    }
    Evaluation evaluation(op, leaves, sources, count, elements);
    call_back_or_fail([&] { return mdist::text("operator \"", op.name, '"'); },
                      [&] { return evaluation.run(destinations, destination_count); });
}

} // namespace mdist::reduce
