// SPDX-License-Identifier: Apache-2.0
#include "util/order.h"

#include "util/shape.h"
#include "util/text.h"

#include <algorithm>

namespace mdist {
namespace {

// The number of dimensions in the upper bits, then three bits for each, slowest first.
constexpr int kOrderBits = 3;
constexpr int kOrderCountShift = kOrderBits * MDIST_MAX_RANK;
static_assert(MDIST_MAX_RANK <= 1 << kOrderBits && kOrderCountShift + 4 < 32);

int32_t ordered_dimension(int32_t order, int32_t i) {
    return order >> (kOrderBits * i) & ((1 << kOrderBits) - 1);
}

} // namespace

std::optional<int32_t> order_of(const Shape &shape, const int64_t *strides) {
    if (strides == nullptr || shape.elements() == 0) return 0;
    int32_t dims[MDIST_MAX_RANK];
    int32_t count = 0;
    for (int32_t d = 0; d < shape.rank; ++d)
        if (shape.dims[d] != 1) dims[count++] = d;
    std::stable_sort(dims, dims + count, [&](int32_t a, int32_t b) { return strides[a] > strides[b]; });
    int64_t expected = 1;
    for (int32_t i = count; i-- > 0;) {
        if (strides[dims[i]] != expected) return std::nullopt;
        expected *= static_cast<int64_t>(shape.dims[dims[i]]);
    }
    if (std::is_sorted(dims, dims + count)) return 0;
    int32_t order = count << kOrderCountShift;
    for (int32_t i = 0; i < count; ++i) order |= dims[i] << (kOrderBits * i);
    return order;
}

bool is_order(int32_t order) {
    if (order == 0) return true;
    const int32_t count = order >> kOrderCountShift;
    if (order < 0 || count < 2 || count > MDIST_MAX_RANK) return false;
    uint32_t seen = 0;
    bool rises = true;
    for (int32_t i = 0; i < count; ++i) {
        const int32_t dimension = ordered_dimension(order, i);
        if ((seen >> dimension & 1) != 0) return false;
        rises = rises && (i == 0 || ordered_dimension(order, i - 1) < dimension);
        seen |= 1u << dimension;
    }
    return !rises && (order & ((1 << kOrderCountShift) - 1)) >> (kOrderBits * count) == 0;
}

std::string order_text(int32_t order) {
    std::string out = "[";
    for (int32_t i = 0; i < order >> kOrderCountShift; ++i)
        out += mdist::text(i == 0 ? "" : ", ", ordered_dimension(order, i));
    return out + "]";
}

} // namespace mdist
