// SPDX-License-Identifier: Apache-2.0
// The kernels, compiled once per instruction set. MDIST_REDUCE_VARIANT is the namespace of the table,
// MDIST_REDUCE_BYTES the width of its vectors.
#include "reduce/kernels.h"

#include "reduce/vectors.h"

namespace mdist::reduce {
namespace {

// Vectors to compute before storing any: enough to keep the stores to one destination together.
constexpr int kUnroll = 4;

// How far ahead to request memory. When reading 8 arrays from memory at once, this makes 2 threads a fifth faster.
constexpr size_t kAhead = 1024;
constexpr size_t kLine = 64;

// Some vectors of values that lie one behind the other.
template <typename Format, int vectors>
using Group = Vector<typename Format::Value>[vectors];

template <typename From, int vectors>
MDIST_INLINE void load(Group<From, vectors> &to, const char *from, bool ahead) {
    constexpr size_t stride = kBytes / sizeof(typename From::Value) * sizeof(typename From::Element);
    if (ahead)
        for (size_t i = 0; i < vectors * stride; i += kLine) __builtin_prefetch(from + kAhead + i);
    for (int i = 0; i < vectors; ++i) to[i] = From::load(from + i * stride);
}

// The tree over 1 to `most` sources, a power of two: the lower half is full if there is an upper one. Asks for the
// count once per group, which costs little beside the loads.
template <typename From, Op op, int most, int vectors>
MDIST_INLINE void climb(Group<From, vectors> &to, const char *const *sources, size_t count, size_t at, bool ahead) {
    if constexpr (most == 1) {
        load<From, vectors>(to, sources[0] + at, ahead);
    } else {
        constexpr int half = most / 2;
        climb<From, op, half, vectors>(to, sources, count, at, ahead);
        if (count > half) {
            Group<From, vectors> upper;
            climb<From, op, half, vectors>(upper, sources + half, count - half, at, ahead);
            for (int i = 0; i < vectors; ++i) to[i] = combine<op, typename From::Value>(to[i], upper[i]);
        }
    }
}

// Only sums and products of floating-point numbers depend on the tree. All else is the same in any order: integers and
// bits, and minimum and maximum, since -0 is below +0 and the first NaN is the result in the tree and from left to
// right.
template <typename From, Op op>
constexpr bool is_exact = !is_float<typename From::Value> || op == Op::kMin || op == Op::kMax;

template <typename From, Op op, int vectors>
MDIST_INLINE void evaluate(Group<From, vectors> &to, const char *const *sources, size_t count, size_t at, bool ahead) {
    if constexpr (is_exact<From, op>) {
        load<From, vectors>(to, sources[0] + at, ahead);
        for (size_t s = 1; s < count; ++s) {
            Group<From, vectors> next;
            load<From, vectors>(next, sources[s] + at, ahead);
            for (int i = 0; i < vectors; ++i) to[i] = combine<op, typename From::Value>(to[i], next[i]);
        }
    } else {
        climb<From, op, kFanIn, vectors>(to, sources, count, at, ahead);
    }
}

// Only sums are scaled.
template <typename From, Op op, int vectors>
MDIST_INLINE void scale(Group<From, vectors> &values, const Span &span) {
    using Value = typename From::Value;
    if constexpr (is_float<Value> && op == Op::kSum) {
        Value factor;
        if constexpr (sizeof(Value) == sizeof(float)) {
            factor = span.factor32;
        } else {
            factor = span.factor64;
        }
        if (span.scale == Scale::kMultiply)
            for (int i = 0; i < vectors; ++i) values[i] *= factor;
        if (span.scale == Scale::kDivide)
            for (int i = 0; i < vectors; ++i) values[i] /= factor;
    }
}

// Reduces `vectors` vectors from element `at` on.
template <typename From, typename To, Op op, int vectors>
MDIST_INLINE void step(const char *const *sources, size_t count, const Span &span, size_t at) {
    using Value = typename From::Value;
    constexpr size_t size = sizeof(typename From::Element);
    constexpr size_t stride = kBytes / sizeof(Value) * sizeof(typename To::Element);
    const bool ahead = vectors > 1 && (span.elements - at) * size > kAhead;
    Group<From, vectors> values;
    evaluate<From, op, vectors>(values, sources, count, at * size, ahead);
    scale<From, op, vectors>(values, span);
    decltype(To::pack(Vector<Value>{})) results[vectors];
    for (int i = 0; i < vectors; ++i) results[i] = To::pack(values[i]);
    const size_t offset = span.destination_offset + at * sizeof(typename To::Element);
    for (size_t d = 0; d < span.destination_count; ++d) {
        char *to = static_cast<char *>(span.destinations[d]) + offset;
        for (int i = 0; i < vectors; ++i) store_bytes(to + i * stride, results[i]);
    }
}

template <typename From, typename To, Op op>
MDIST_INLINE void run_all(const char *const *sources, size_t count, const Span &span) {
    constexpr size_t lanes = kBytes / sizeof(typename From::Value);
    size_t at = 0;
    for (; span.elements - at >= kUnroll * lanes; at += kUnroll * lanes)
        step<From, To, op, kUnroll>(sources, count, span, at);
    for (; at < span.elements; at += lanes) step<From, To, op, 1>(sources, count, span, at);
}

// For `count` sources or more, with code of their own for each count.
template <typename From, typename To, Op op, size_t count>
MDIST_INLINE void run_counted(const char *const *sources, const Span &span) {
    if constexpr (count < kFanIn)
        if (span.source_count > count) return run_counted<From, To, op, count + 1>(sources, span);
    run_all<From, To, op>(sources, count, span);
}

// Sums of floats and doubles are compiled for each count: in the first-level cache that is up to a quarter faster than
// code that asks for the count. Other kernels lose less, or nothing.
template <typename From, typename To, Op op>
void run(const Span &call) {
    constexpr bool counted = op == Op::kSum && is_float<typename From::Element> && is_float<typename To::Element>;
    const Span span = call;
    const char *sources[kFanIn];
    for (size_t s = 0; s < span.source_count; ++s)
        sources[s] = static_cast<const char *>(span.sources[s]) + span.source_offset;
    if constexpr (counted) {
        run_counted<From, To, op, 1>(sources, span);
    } else {
        run_all<From, To, op>(sources, span.source_count, span);
    }
}

template <typename From, typename To, Op op>
constexpr Kernel kernel() {
    return {run<From, To, op>, sizeof(typename From::Element), sizeof(typename To::Element),
            kBytes / sizeof(typename From::Value)};
}

template <typename Format, Op op, typename Partial = Plain<typename Format::Value>>
constexpr KernelSet kernels() {
    return {kernel<Format, Format, op>(), kernel<Format, Partial, op>(), kernel<Partial, Partial, op>(),
            kernel<Partial, Format, op>()};
}

// Bits do not know how wide their element is, so all widths share the code that takes bytes.
template <Op op, size_t size>
void run_bytes(const Span &call) {
    Span span = call;
    span.elements *= size;
    run<Plain<uint8_t>, Plain<uint8_t>, op>(span);
}

template <Op op, size_t size>
struct Bits {
    static constexpr Kernel kKernel = {run_bytes<op, size>, size, size, kBytes / size};
    static constexpr KernelSet kSet = {kKernel, kKernel, kKernel, kKernel};
};

// A partial of bool is a bool, too: its values are 0 and 1 before and after.
constexpr KernelSet kBoolAnd = kernels<Bool, Op::kAnd, Bool>();
constexpr KernelSet kBoolOr = kernels<Bool, Op::kOr, Bool>();
constexpr KernelSet kBoolXor = kernels<Bool, Op::kXor, Bool>();

// Adds the squares of one vector of values to their lanes, in as many vectors of doubles as it takes to hold them.
template <typename T>
MDIST_INLINE void add_squares(Vector<T> values, Vector<double> *sums) {
    if constexpr (sizeof(T) == sizeof(double)) {
        sums[0] += values * values;
    } else {
        typename VectorOf<float, kBytes / 2>::Type halves[2];
        __builtin_memcpy(halves, &values, sizeof values);
        for (int i = 0; i < 2; ++i) {
            const auto wide = __builtin_convertvector(halves[i], Vector<double>);
            sums[i] += wide * wide;
        }
    }
}

// Adds the squares of kSquareLanes elements.
template <typename Format>
MDIST_INLINE void add_lanes(const char *from, Vector<double> *sums) {
    using Value = typename Format::Value;
    constexpr size_t lanes = kBytes / sizeof(Value);
    for (size_t i = 0; i < kSquareLanes / lanes; ++i)
        add_squares<Value>(Format::load(from + i * lanes * sizeof(typename Format::Element)),
                           sums + i * sizeof(double) / sizeof(Value));
}

template <typename Format>
double squares(const void *data, size_t elements) {
    constexpr size_t size = sizeof(typename Format::Element);
    const char *from = static_cast<const char *>(data);
    Vector<double> sums[kSquareLanes * sizeof(double) / kBytes] = {};
    size_t at = 0;
    for (; elements - at >= kSquareLanes; at += kSquareLanes) add_lanes<Format>(from + at * size, sums);
    if (at < elements) {
        char padded[kSquareLanes * size] = {};
        __builtin_memcpy(padded, from + at * size, (elements - at) * size);
        add_lanes<Format>(padded, sums);
    }
    double lanes[kSquareLanes];
    __builtin_memcpy(lanes, sums, sizeof lanes);
    for (size_t half = kSquareLanes / 2; half != 0; half /= 2)
        for (size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    return lanes[0];
}

} // namespace

// Wrapping sums and products have the same bits signed and unsigned, so both use the unsigned kernels.
#define MDIST_ROW(Format, Unsigned)                                                                  \
    {}, kernels<Unsigned, Op::kSum>(), {}, kernels<Format, Op::kMin>(), kernels<Format, Op::kMax>(), \
        kernels<Unsigned, Op::kProd>()
#define MDIST_INTEGERS(Signed, Unsigned)                                                 \
    {                                                                                    \
        MDIST_ROW(Plain<Signed>, Plain<Unsigned>), Bits<Op::kAnd, sizeof(Signed)>::kSet, \
            Bits<Op::kOr, sizeof(Signed)>::kSet, Bits<Op::kXor, sizeof(Signed)>::kSet    \
    }

namespace MDIST_REDUCE_VARIANT {

// In the order of mdist_dtype_t.
const KernelTable table = {
    {
        {},
        {MDIST_ROW(Plain<float>, Plain<float>)},
        {MDIST_ROW(Plain<double>, Plain<double>)},
        {MDIST_ROW(Float16, Float16)},
        {MDIST_ROW(Bfloat16, Bfloat16)},
        MDIST_INTEGERS(int8_t, uint8_t),
        MDIST_INTEGERS(uint8_t, uint8_t),
        MDIST_INTEGERS(int32_t, uint32_t),
        MDIST_INTEGERS(uint32_t, uint32_t),
        MDIST_INTEGERS(int64_t, uint64_t),
        MDIST_INTEGERS(uint64_t, uint64_t),
        MDIST_INTEGERS(int16_t, uint16_t),
        MDIST_INTEGERS(uint16_t, uint16_t),
        // Of true and false, the least is AND.
        {{}, {}, {}, kBoolAnd, kBoolOr, {}, kBoolAnd, kBoolOr, kBoolXor},
    },
    {nullptr, squares<Plain<float>>, squares<Plain<double>>, squares<Float16>, squares<Bfloat16>},
};

} // namespace MDIST_REDUCE_VARIANT

} // namespace mdist::reduce
