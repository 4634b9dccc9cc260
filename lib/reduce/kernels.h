// SPDX-License-Identifier: Apache-2.0
// The interface between reduce.cpp and the kernels, which are compiled once per instruction set.
//
// It contains plain structs only. An inline function here would be compiled for every instruction set. The linker would
// keep any one of the copies, even on a processor that cannot run it.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace mdist::reduce {

/// The most sources of a kernel; more sources are reduced in groups. A power of two, because the tree splits there.
inline constexpr int kFanIn = 8;
/// The width of the widest vector, in bytes.
inline constexpr size_t kMaxStep = 64;

/// What to do to a sum before storing it. Multiplying is used if the divisor's reciprocal is exact: same bits, faster.
enum class Scale : int32_t { kNone, kMultiply, kDivide };

/// One call of a kernel. The offsets are in bytes; they are added to every source and to every destination.
struct Span {
    const void *const *sources;
    size_t source_count; // 1 to kFanIn
    size_t source_offset;
    void *const *destinations;
    size_t destination_offset;
    size_t destination_count;
    size_t elements; // a multiple of the kernel's step
    Scale scale;
    float factor32;
    double factor64;
};

/// Reads sources of one format, combines them along the canonical tree, and stores the same or another format. Reads
/// elements before writing the same elements.
struct Kernel {
    void (*run)(const Span &);
    uint16_t source_size; // bytes of an element
    uint16_t destination_size;
    uint16_t step; // elements; at most kMaxStep bytes of either format
};

/// Sums squares in double. Element i goes to lane i % kSquareLanes; then the lanes are added up half by half.
using SquaresKernel = double (*)(const void *data, size_t elements);
inline constexpr size_t kSquareLanes = 16;

/// All kernels of one type and operation. A partial is the value of a subtree: float32 for 16-bit types, otherwise of
/// the type itself.
struct KernelSet {
    Kernel reduce;  // values to the value
    Kernel partial; // values to a partial
    Kernel merge;   // partials to a partial
    Kernel finish;  // partials to the value
};

/// Indexed by mdist_dtype_t and by Op. MEAN is empty: it is SUM with a scale.
struct KernelTable {
    KernelSet sets[14][9];
    SquaresKernel squares[5]; // floating-point types
};

namespace baseline {
extern const KernelTable table;
}
namespace avx2 {
extern const KernelTable table;
}
namespace avx512 {
extern const KernelTable table;
}

} // namespace mdist::reduce
