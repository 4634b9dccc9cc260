// SPDX-License-Identifier: Apache-2.0
// Reduction on the CPU: many arrays of equal length become one, element by element, along the canonical tree.
//
// The tree: one element is a leaf; otherwise split at lo + (the largest power of two smaller than hi - lo). So three
// are (0 + 1) + 2 and five ((0 + 1) + (2 + 3)) + 4. The result depends on the values alone: not on the processor, on
// where arrays lie or on how a caller cuts them. Any thread may call, on arrays nobody else writes meanwhile. Rounding
// mode and flushing of denormals are the thread's: callers put a FloatEnvironment around their work.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mdist::reduce {

/// The numbers are those of the public reduction operations.
enum class Op : int32_t { kSum = 1, kMean = 2, kMin = 3, kMax = 4, kProd = 5 };

/// dtype and op must be valid, and op not MEAN if dtype is an integer type.
/// float16 and bfloat16 are widened, reduced in float32, and rounded once at the end. Integers wrap around. Every NaN
/// that comes out is the canonical quiet one; MIN and MAX pass NaN on and take -0 for less than +0.
struct Operation {
    int32_t dtype;    // mdist_dtype_t
    Op op;            // MEAN is SUM, then one division
    uint64_t divisor; // MEAN only: the number of replicas of the whole job
};

/// Variants of the kernels, each faster than the one before. All give the same bits.
enum class InstructionSet : int32_t { kBaseline, kAvx2, kAvx512 };

/// Reduces sources[0..source_count), at least one, and writes the result to each destination (none is allowed).
/// Addresses need no alignment. A destination may be one of the sources, but not overlap one partly.
void reduce(const Operation &operation, const void *const *sources, std::size_t source_count, void *const *destinations,
            std::size_t destination_count, std::size_t elements) noexcept;

/// The sum of the squares of floating-point elements, in double, in an order that depends on their number alone. NaN or
/// infinite if one of them is.
double sum_of_squares(int32_t dtype, const void *data, std::size_t elements) noexcept;
/// Multiplies floating-point elements by `factor`, 16-bit ones in float32, with one rounding each.
void scale(int32_t dtype, void *data, double factor, std::size_t elements) noexcept;

/// Whether this build has the variant and this processor can run it. The baseline always is.
bool available(InstructionSet set) noexcept;
/// reduce() by the given variant, which must be available.
void reduce_with(InstructionSet set, const Operation &operation, const void *const *sources, std::size_t source_count,
                 void *const *destinations, std::size_t destination_count, std::size_t elements) noexcept;
double sum_of_squares_with(InstructionSet set, int32_t dtype, const void *data, std::size_t elements) noexcept;
void scale_with(InstructionSet set, int32_t dtype, void *data, double factor, std::size_t elements) noexcept;
/// The variant reduce() takes, "avx512", "avx2" or "baseline": the best available, chosen at first use.
const char *instruction_set() noexcept;

/// The scalar twin of reduce(), one element at a time: slow, and plain enough to be checked by reading.
void reduce_reference(const Operation &operation, const void *const *sources, std::size_t source_count,
                      void *const *destinations, std::size_t destination_count, std::size_t elements) noexcept;

double sum_of_squares_reference(int32_t dtype, const void *data, std::size_t elements) noexcept;
void scale_reference(int32_t dtype, void *data, double factor, std::size_t elements) noexcept;

} // namespace mdist::reduce
