// SPDX-License-Identifier: Apache-2.0
// Sizes and addresses of the elements in a call's buffers.
#pragma once

#include "util/dtype.h"

#include <mdist/tensor.h>

#include <cstddef>
#include <cstdint>

namespace mdist {

inline std::size_t bytes_of(const mdist_buffer_t &buffer) {
    return buffer.elements * dtype_size(buffer.dtype);
}

inline uint64_t bytes_of(const mdist_buffer_t *buffers, std::size_t count) {
    uint64_t bytes = 0;
    for (std::size_t b = 0; b < count; ++b) bytes += bytes_of(buffers[b]);
    return bytes;
}

/// Address of element `element`. The buffer may end there.
inline char *at(const mdist_buffer_t &buffer, uint64_t element) {
    return static_cast<char *>(buffer.data) + element * dtype_size(buffer.dtype);
}

} // namespace mdist
