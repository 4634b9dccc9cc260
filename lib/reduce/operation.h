// SPDX-License-Identifier: Apache-2.0
// What a reduction computes, and with which variant of the kernels. Plain types and declarations only: the kernels
// include this header too (kernels.h).
#pragma once

#include <stdint.h>

namespace mdist::reduce {

struct Operator; // operator.h

/// The numbers are those of mdist_reduce_op_t, and one that stands for an operator of the program.
enum class Op : int32_t { kSum = 1, kMean = 2, kMin = 3, kMax = 4, kProd = 5, kAnd = 6, kOr = 7, kXor = 8, kOperator = 9 };

/// dtype and op must be valid: no MEAN of an integer type, no SUM, MEAN or PROD of bool, and AND, OR and XOR only of
/// integer types and bool. A byte of bool is true unless it is 0, and comes out as 0 or 1. float16 and bfloat16 are widened,
/// reduced in float32, and rounded once at the end. Integers wrap around. Every NaN in a result is the canonical quiet
/// one. MIN and MAX pass NaN on, and treat -0 as less than +0.
struct Operation {
    int32_t dtype;    // mdist_dtype_t
    Op op;            // MEAN is SUM, then one division
    uint64_t divisor; // MEAN only: the number of replicas of the whole job
    const Operator *by = nullptr; // kOperator only; `dtype` is then operator_dtype() of its elements
};

/// Variants of the kernels, each faster than the one before. All give the same bits.
enum class InstructionSet : int32_t { kBaseline, kAvx2, kAvx512 };
/// The best one that is available (variants.h).
InstructionSet best_instruction_set() noexcept;

} // namespace mdist::reduce
