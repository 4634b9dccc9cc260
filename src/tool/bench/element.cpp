// SPDX-License-Identifier: Apache-2.0
#include "bench/element.h"

#include <cmath>
#include <cstring>

namespace mdist {
namespace {

template <class T>
T at(const void *array, uint64_t index) {
    T element;
    std::memcpy(&element, static_cast<const char *>(array) + index * sizeof(T), sizeof element);
    return element;
}

template <class T>
void put(void *array, uint64_t index, T element) {
    std::memcpy(static_cast<char *>(array) + index * sizeof(T), &element, sizeof element);
}

uint16_t float16_bits(uint64_t number) {
    if (number == 0) return 0;
    const int exponent = std::ilogb(static_cast<double>(number));
    const double fraction = std::ldexp(static_cast<double>(number), -exponent) - 1;
    return static_cast<uint16_t>((exponent + 15) << 10 | static_cast<int>(fraction * 1024));
}

double float16_value(uint16_t bits) {
    const int exponent = bits >> 10 & 31;
    const double fraction = (bits & 1023) / 1024.0;
    const double size = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
                        : exponent == 0 ? std::ldexp(fraction, -14)
                                        : std::ldexp(1 + fraction, exponent - 15);
    return bits >> 15 ? -size : size;
}

uint16_t bfloat16_bits(uint64_t number) {
    const auto value = static_cast<float>(number);
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return static_cast<uint16_t>(bits >> 16);
}

double bfloat16_value(uint16_t upper) {
    const uint32_t bits = static_cast<uint32_t>(upper) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

} // namespace

void store_element(mdist_dtype_t dtype, void *array, uint64_t index, uint64_t number) {
    switch (dtype) {
        case MDIST_FLOAT32:
            return put(array, index, static_cast<float>(number));
        case MDIST_FLOAT64:
            return put(array, index, static_cast<double>(number));
        case MDIST_FLOAT16:
            return put(array, index, float16_bits(number));
        case MDIST_BFLOAT16:
            return put(array, index, bfloat16_bits(number));
        case MDIST_INT8:
        case MDIST_UINT8:
            return put(array, index, static_cast<uint8_t>(number));
        case MDIST_BOOL:
            return put(array, index, static_cast<uint8_t>(number));
        case MDIST_INT16:
        case MDIST_UINT16:
            return put(array, index, static_cast<uint16_t>(number));
        case MDIST_INT32:
        case MDIST_UINT32:
            return put(array, index, static_cast<uint32_t>(number));
        default:
            return put(array, index, number);
    }
}

double load_element(mdist_dtype_t dtype, const void *array, uint64_t index) {
    switch (dtype) {
        case MDIST_FLOAT32:
            return at<float>(array, index);
        case MDIST_FLOAT64:
            return at<double>(array, index);
        case MDIST_FLOAT16:
            return float16_value(at<uint16_t>(array, index));
        case MDIST_BFLOAT16:
            return bfloat16_value(at<uint16_t>(array, index));
        case MDIST_INT8:
            return at<int8_t>(array, index);
        case MDIST_UINT8:
        case MDIST_BOOL:
            return at<uint8_t>(array, index);
        case MDIST_INT16:
            return at<int16_t>(array, index);
        case MDIST_UINT16:
            return at<uint16_t>(array, index);
        case MDIST_INT32:
            return at<int32_t>(array, index);
        case MDIST_UINT32:
            return at<uint32_t>(array, index);
        case MDIST_INT64:
            return static_cast<double>(at<int64_t>(array, index));
        default:
            return static_cast<double>(at<uint64_t>(array, index));
    }
}

double wrapped(mdist_dtype_t dtype, double number) {
    if (dtype == MDIST_INT8) return static_cast<int8_t>(static_cast<int64_t>(number));
    if (dtype == MDIST_UINT8) return static_cast<uint8_t>(static_cast<int64_t>(number));
    if (dtype == MDIST_INT16) return static_cast<int16_t>(static_cast<int64_t>(number));
    if (dtype == MDIST_UINT16) return static_cast<uint16_t>(static_cast<int64_t>(number));
    return number;
}

double half_digit(mdist_dtype_t dtype) {
    switch (dtype) {
        case MDIST_FLOAT32:
            return std::ldexp(1, -24);
        case MDIST_FLOAT64:
            return std::ldexp(1, -53);
        case MDIST_FLOAT16:
            return std::ldexp(1.001, -11);
        case MDIST_BFLOAT16:
            return std::ldexp(1.001, -8);
        default:
            return 0;
    }
}

} // namespace mdist
