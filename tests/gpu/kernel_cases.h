// SPDX-License-Identifier: Apache-2.0
// Single cases of kernels. Each returns what differs, or "".
#pragma once

#include "image.h"

namespace mdist::gpu_test {

struct ReductionCase {
    int32_t dtype;
    int32_t op;
    uint32_t count;
    std::size_t elements;
    Lie lie;
};

struct CastCase {
    int32_t from;
    int32_t to;
    double factor;
    Lie lie;
};

/// Two destinations; one of them is the last source.
std::string reduction_difference(const Gpu &gpu, Random &random, const ReductionCase &one);
std::string many_reductions_difference(const Gpu &gpu, Random &random, std::size_t count);
std::string cast_difference(const Gpu &gpu, Random &random, const CastCase &one);
/// Compares sums at different addresses, of different runs, and with the CPU's sum. From the last they may differ only
/// as much as the order of summation explains.
std::string squares_difference(const Gpu &gpu, Random &random, int32_t dtype, std::size_t elements);

} // namespace mdist::gpu_test
