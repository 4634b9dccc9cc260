// SPDX-License-Identifier: Apache-2.0
// Elements of a dtype one at a time, for code outside the hot paths.
#pragma once

#include "reduce/half.h"

#include <mdist/tensor.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mdist::reduce {

/// Stand for the 16-bit floats where code calls `use(T{})` with the C++ type of a dtype.
struct Half {};
struct BrainFloat {};
/// A byte that is 0 or something else.
enum class Truth : uint8_t {};

/// Calls `use` with a value of the dtype's type.
template <typename Use>
void with_type(int32_t dtype, Use use) {
    switch (dtype) {
        case MDIST_FLOAT32:
            return use(float{});
        case MDIST_FLOAT64:
            return use(double{});
        case MDIST_FLOAT16:
            return use(Half{});
        case MDIST_BFLOAT16:
            return use(BrainFloat{});
        case MDIST_INT8:
            return use(int8_t{});
        case MDIST_UINT8:
            return use(uint8_t{});
        case MDIST_INT32:
            return use(int32_t{});
        case MDIST_UINT32:
            return use(uint32_t{});
        case MDIST_INT64:
            return use(int64_t{});
        case MDIST_INT16:
            return use(int16_t{});
        case MDIST_UINT16:
            return use(uint16_t{});
        case MDIST_BOOL:
            return use(Truth{});
        default:
            return use(uint64_t{});
    }
}

template <typename T>
T load(const void *data, std::size_t i) {
    T value;
    std::memcpy(&value, static_cast<const char *>(data) + i * sizeof(T), sizeof(T));
    return value;
}

/// An element of a floating-point type.
inline double load_real(int32_t dtype, const void *data, std::size_t i) {
    switch (dtype) {
        case MDIST_FLOAT32:
            return static_cast<double>(load<float>(data, i));
        case MDIST_FLOAT64:
            return load<double>(data, i);
        case MDIST_FLOAT16:
            return half_to_double(load<uint16_t>(data, i));
        default:
            return bfloat16_to_double(load<uint16_t>(data, i));
    }
}

} // namespace mdist::reduce
