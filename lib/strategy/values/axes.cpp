// SPDX-License-Identifier: Apache-2.0
#include "strategy/values/axes.h"

#include "util/failure.h"
#include "util/text.h"

namespace mdist {

int32_t dimension(int32_t axis, int32_t rank) {
    if (axis < -rank || axis >= rank)
        throw invalid(text("axis is ", axis, ", out of range for a value of rank ", rank));
    return axis < 0 ? axis + rank : axis;
}

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

} // namespace mdist
