// SPDX-License-Identifier: Apache-2.0
#include "reduce/half.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mdist::reduce {
namespace {

/// A 16-bit binary format with one sign bit.
struct Format {
    int fraction_bits;
    int least_exponent; // of normal numbers
    int most_exponent;
    uint16_t nan;

    int infinity() const { return ((1 << (15 - fraction_bits)) - 1) << fraction_bits; }
};

constexpr Format kHalf = {10, -14, 15, 0x7e00};
constexpr Format kBfloat16 = {7, -126, 127, 0x7fc0};

double widen(const Format &format, uint16_t bits) {
    const int magnitude = bits & 0x7fff;
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    if (magnitude > format.infinity()) return std::numeric_limits<double>::quiet_NaN();
    if (magnitude == format.infinity()) return sign * std::numeric_limits<double>::infinity();
    const int exponent = magnitude >> format.fraction_bits;
    const int fraction = magnitude & ((1 << format.fraction_bits) - 1);
    const int leading = exponent == 0 ? 0 : 1 << format.fraction_bits;
    return sign *
           std::ldexp(leading + fraction, std::max(exponent, 1) - 1 + format.least_exponent - format.fraction_bits);
}

uint16_t narrow(const Format &format, double value) {
    if (std::isnan(value)) return format.nan;
    const int sign = std::signbit(value) ? 0x8000 : 0;
    const double magnitude = std::fabs(value);
    int exponent = magnitude == 0 ? format.least_exponent : std::max(std::ilogb(magnitude), format.least_exponent);
    if (exponent > format.most_exponent) return static_cast<uint16_t>(sign | format.infinity());
    // In units of the last place. A carry out of the fraction goes into the exponent, and from there to infinity.
    const int units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, format.fraction_bits - exponent)));
    return static_cast<uint16_t>(sign | (((exponent - format.least_exponent) << format.fraction_bits) + units));
}

} // namespace

double half_to_double(uint16_t half) {
    return widen(kHalf, half);
}
double bfloat16_to_double(uint16_t bfloat16) {
    return widen(kBfloat16, bfloat16);
}
uint16_t double_to_half(double value) {
    return narrow(kHalf, value);
}
uint16_t double_to_bfloat16(double value) {
    return narrow(kBfloat16, value);
}

} // namespace mdist::reduce
