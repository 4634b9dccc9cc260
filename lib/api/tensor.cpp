// SPDX-License-Identifier: Apache-2.0
#include <mdist/dataset.h>
#include <mdist/tensor.h>

#include <algorithm>

#include "api/check.h"
#include "api/guard.h"
#include "device/gpu/physical.h"
#include "util/dtype.h"
#include "util/failure.h"
#include "util/shape.h"
#include "util/text.h"

size_t mdist_dtype_size(mdist_dtype_t dtype) {
    return mdist::is_dtype(dtype) ? mdist::dtype_size(dtype) : 0;
}

const char *mdist_dtype_name(mdist_dtype_t dtype) {
    return mdist::dtype_name(mdist::is_dtype(dtype) ? static_cast<int32_t>(dtype) : 0);
}

mdist_status_t mdist_tensor_describe(void *data, mdist_dtype_t dtype, const uint64_t *shape, size_t rank,
                                     mdist_tensor_t *out, mdist_error_t **error) {
    return mdist::guard("mdist_tensor_describe", error, [&] {
        mdist::need(out, "out");
        mdist::need_array(shape, rank, "shape");
        if (rank > MDIST_MAX_RANK)
            throw mdist::invalid(
                mdist::text("rank is ", rank, "; a tensor has at most ", MDIST_MAX_RANK, " dimensions"));
        mdist_tensor_t tensor = {};
        tensor.data = data;
        tensor.dtype = dtype;
        tensor.rank = static_cast<int32_t>(rank);
        if (rank != 0) std::copy(shape, shape + rank, tensor.shape);
        mdist_tensor_t checked = tensor;
        if (data == nullptr && rank != 0 && shape[0] == MDIST_UNKNOWN_LENGTH) checked.shape[0] = 1;
        mdist::checked_shape(checked, "the tensor");
        const mdist::Place place = mdist::place_of(data);
        tensor.device_kind = static_cast<mdist_device_kind_t>(place.kind);
        tensor.device_index = place.index;
        *out = tensor;
    });
}

uint64_t mdist_tensor_elements(const mdist_tensor_t *tensor) {
    if (tensor == nullptr) return 0;
    try {
        return mdist::checked_shape(*tensor, "the tensor").elements();
    } catch (const std::exception &) {
        return 0;
    }
}
