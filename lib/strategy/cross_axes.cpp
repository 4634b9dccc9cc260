// SPDX-License-Identifier: Apache-2.0
// Reduction over axes, and gathering along one, where replicas may differ in length.
#include "reduce/axes.h"
#include "reduce/float_environment.h"
#include "strategy/cross.h"
#include "util/dtype.h"
#include "util/text.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mdist {
namespace {

int32_t dimension(int32_t axis, int32_t rank) {
    if (axis < -rank || axis >= rank)
        throw invalid(text("axis is ", axis, ", out of range for a value of rank ", rank));
    return axis < 0 ? axis + rank : axis;
}

/// Dtype, rank and every dimension but those of `free` must be alike.
void require_alike_but(const std::vector<Tensor> &tensors, const bool (&free)[MDIST_MAX_RANK]) {
    const Shape &first = tensors[0].shape();
    for (std::size_t i = 1; i < tensors.size(); ++i) {
        const Shape &shape = tensors[i].shape();
        bool alike = shape.rank == first.rank;
        for (int32_t d = 0; alike && d < first.rank; ++d) alike = free[d] || shape.dims[d] == first.dims[d];
        if (!alike)
            throw Failure(MDIST_ERR_MISMATCH,
                          text("the tensor of local replica 0 has shape ", first.text(), " and that of local replica ",
                               i, " ", shape.text(), "; they may differ along the given axes only"))
                .reason("different_shapes");
    }
}

/// The canonical tree over [lo, hi): see <mdist/collective.h>.
reduce::Accumulators fold_tree(int32_t op, const std::vector<Tensor> &tensors, std::size_t lo, std::size_t hi,
                               uint64_t kept, const bool (&reduced)[MDIST_MAX_RANK]) {
    const int32_t dtype = tensors[0].dtype();
    if (hi - lo == 1) {
        reduce::Accumulators leaf = reduce::neutral(op, dtype, kept);
        reduce::fold(leaf, op, dtype, tensors[lo].data(), tensors[lo].shape(), reduced);
        return leaf;
    }
    std::size_t half = 1;
    while (half * 2 < hi - lo) half *= 2;
    reduce::Accumulators left = fold_tree(op, tensors, lo, lo + half, kept, reduced);
    reduce::combine(left, op, dtype, fold_tree(op, tensors, lo + half, hi, kept, reduced));
    return left;
}

} // namespace

Tensor reduce_axes(int32_t op, const std::vector<Tensor> &tensors, const std::vector<int32_t> &axes) {
    const Shape &shape = tensors[0].shape();
    const int32_t dtype = tensors[0].dtype();
    bool reduced[MDIST_MAX_RANK] = {};
    for (const int32_t axis : axes) {
        const int32_t d = dimension(axis, shape.rank);
        if (reduced[d]) throw invalid(text("axis ", axis, " is given twice"));
        reduced[d] = true;
    }
    require_alike_but(tensors, reduced);

    Shape kept;
    for (int32_t d = 0; d < shape.rank; ++d)
        if (!reduced[d]) kept.dims[kept.rank++] = shape.dims[d];
    uint64_t denominator = 0; // elements that went into each result
    for (const Tensor &tensor : tensors) {
        uint64_t product = 1;
        for (int32_t d = 0; d < shape.rank; ++d) product *= reduced[d] ? tensor.shape().dims[d] : 1;
        denominator += product;
    }
    const bool to_float64 = op == MDIST_MEAN && dtype_is_integer(dtype);
    // First, for it refuses what is too large: empty tensors can leave any number of elements behind.
    Tensor out = Tensor::allocate(*host(), to_float64 ? static_cast<int32_t>(MDIST_FLOAT64) : dtype, kept);
    const reduce::FloatEnvironment environment;
    const reduce::Accumulators total = fold_tree(op, tensors, 0, tensors.size(), kept.elements(), reduced);
    const double divisor = op == MDIST_MEAN ? static_cast<double>(denominator) : 1;
    if (to_float64)
        reduce::mean_of_integers(total, divisor, dtype, out.data());
    else
        reduce::narrow(total, divisor, dtype, out.data());
    return out;
}

ValuePointer gather_value(Strategy &strategy, const Value &value, int32_t axis) {
    value.check_count(strategy.local_replica_count());
    std::vector<Tensor> tensors = value.tensors();
    if (value.kind() == MDIST_VALUE_PLAIN) tensors.resize(strategy.local_replica_count(), tensors[0]);
    const Shape &first = tensors[0].shape();
    if (first.rank == 0) throw invalid("a scalar has no axis to gather along; give it a dimension (shape [1]) first");
    bool free[MDIST_MAX_RANK] = {};
    const int32_t along = dimension(axis, first.rank);
    free[along] = true;
    require_alike_but(tensors, free);

    Shape shape = first;
    shape.dims[along] = 0;
    uint64_t outer = 1;
    uint64_t inner_bytes = dtype_size(tensors[0].dtype());
    for (int32_t d = 0; d < first.rank; ++d) {
        if (d < along) outer *= first.dims[d];
        if (d > along) inner_bytes *= first.dims[d];
    }
    for (const Tensor &tensor : tensors) shape.dims[along] += tensor.shape().dims[along];

    Tensor out = Tensor::allocate(*host(), tensors[0].dtype(), shape);
    char *to = static_cast<char *>(out.data());
    for (uint64_t o = 0; o < outer; ++o) {
        for (const Tensor &tensor : tensors) {
            const std::size_t bytes = tensor.shape().dims[along] * inner_bytes;
            host()->copy_out(to, static_cast<const char *>(tensor.data()) + o * bytes, bytes);
            to += bytes;
        }
    }
    return Value::plain(std::move(out));
}

} // namespace mdist
