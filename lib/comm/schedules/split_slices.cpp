// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/split_slices.h"

#include "util/dtype.h"
#include "util/round_up.h"

#include <algorithm>

namespace mdist {
namespace {

/// Where slices and pieces begin, for the kernels' sake.
uint64_t multiple(std::size_t element_size) {
    constexpr uint64_t kMultiple = 64;
    return element_size < kMultiple ? kMultiple : 1;
}

constexpr uint64_t kLargestMessage = 262144; // bytes

/// Large enough that the cost of each message matters little, small enough that the next level follows closely and
/// scratch stays small. Where hosts have several workers, memory and wire work side by side if there are enough slices.
uint64_t best_bytes(uint64_t row_bytes, const SplitPlan &plan, uint64_t window) {
    constexpr uint64_t kSmallest = 16384; // for each message
    constexpr uint64_t kScratch = 64 << 20, kInRow = 4, kInRowOfMates = 8;
    const uint64_t messages = plan.messages() + 1;
    const uint64_t most = std::max(std::min(kLargestMessage * messages, kScratch / (2 * window)), kSmallest);
    const uint64_t wanted = row_bytes / (plan.has_mates() ? kInRowOfMates : kInRow);
    return std::clamp(wanted, std::min(kSmallest * messages, most), most);
}

} // namespace

SplitSlices::SplitSlices(const ReduceRow &row, const SplitPlan &plan, uint64_t window, uint64_t elements)
    : row_(row), plan_(plan), element_size_(dtype_size(row.dtype())), elements_(elements) {
    if (elements_ == 0) elements_ = best_bytes(row.elements() * element_size_, plan, window) / element_size_;
    elements_ = round_up(std::max<uint64_t>(elements_, 1), multiple(element_size_));
    elements_ = std::min(elements_, std::max<uint64_t>(row.elements(), 1));
    count_ = std::max<uint64_t>((row.elements() + elements_ - 1) / elements_, 1);
    if (!row.scatters()) return;
    // Of a part that is most of the row, a slice would be one message.
    const uint64_t most = std::max<uint64_t>(kLargestMessage / element_size_, 1);
    for (uint32_t worker = 0; worker < row.cut().spans().workers(); ++worker)
        count_ = std::max(count_, (row.part(worker).count + most - 1) / most);
}

Range SplitSlices::range(const Pieces &pieces, uint64_t slice) const {
    const uint64_t first = slice * elements_, count = std::min(elements_, row_.elements() - first);
    const auto at = [&](uint32_t piece) {
        return std::min(round_up(count * piece / plan_.pieces(), multiple(element_size_)), count);
    };
    return {first + at(pieces.begin), at(pieces.end) - at(pieces.begin)};
}

Range SplitSlices::part(uint32_t worker, uint64_t slice) const {
    if (worker == SplitPlan::kNobody) return {};
    const Range all = row_.part(worker);
    const uint64_t each = round_up((all.count + count_ - 1) / count_, multiple(element_size_));
    const uint64_t from = std::min(slice * each, all.count);
    return {all.begin + from, std::min(each, all.count - from)};
}

uint64_t SplitSlices::elements(const Pieces &pieces, uint64_t slice) const {
    uint64_t elements = 0;
    each(pieces, slice, [&](const Range &range) { elements += range.count; });
    return elements;
}

uint64_t SplitSlices::most(const Pieces &pieces) const {
    if (row_.scatters()) return elements(pieces, 0); // no other has more of any part
    return elements_ * (pieces.end - pieces.begin) / plan_.pieces() + multiple(element_size_);
}

} // namespace mdist
