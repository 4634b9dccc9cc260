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

constexpr int split(int count) {
    int half = 1;
    while (half * 2 < count) half *= 2;
    return half;
}

template <typename From, Op op, int lo, int hi>
MDIST_INLINE Vector<typename From::Value> evaluate(const char *const *sources, size_t at) {
    if constexpr (hi - lo == 1) {
        return From::load(sources[lo] + at);
    } else {
        constexpr int middle = lo + split(hi - lo);
        return combine<op, typename From::Value>(evaluate<From, op, lo, middle>(sources, at),
                                                 evaluate<From, op, middle, hi>(sources, at));
    }
}

// Only sums are scaled.
template <Op op, typename T>
MDIST_INLINE Vector<T> scaled(Vector<T> value, const Span &span) {
    if constexpr (is_float<T> && op == Op::kSum) {
        T factor;
        if constexpr (sizeof(T) == sizeof(float)) {
            factor = span.factor32;
        } else {
            factor = span.factor64;
        }
        if (span.scale == Scale::kMultiply) return value * factor;
        if (span.scale == Scale::kDivide) return value / factor;
    }
    return value;
}

template <int count, size_t bytes>
MDIST_INLINE void prefetch(const char *const *sources, size_t at) {
    for (int s = 0; s < count; ++s)
        for (size_t i = 0; i < bytes; i += kLine) __builtin_prefetch(sources[s] + at + i);
}

// Reduces `vectors` vectors from element `at` on.
template <typename From, typename To, Op op, int count, int vectors>
MDIST_INLINE void step(const char *const *sources, const Span &span, size_t at) {
    using Value = typename From::Value;
    constexpr size_t lanes = kBytes / sizeof(Value);
    constexpr size_t source_stride = lanes * sizeof(typename From::Element);
    constexpr size_t destination_stride = lanes * sizeof(typename To::Element);
    decltype(To::pack(Vector<Value>{})) results[vectors];
    for (int i = 0; i < vectors; ++i) {
        const auto value =
            evaluate<From, op, 0, count>(sources, at * sizeof(typename From::Element) + i * source_stride);
        results[i] = To::pack(scaled<op, Value>(value, span));
    }
    const size_t offset = span.destination_offset + at * sizeof(typename To::Element);
    for (size_t d = 0; d < span.destination_count; ++d) {
        char *to = static_cast<char *>(span.destinations[d]) + offset;
        for (int i = 0; i < vectors; ++i) store_bytes(to + i * destination_stride, results[i]);
    }
}

template <typename From, typename To, Op op, int count>
void run(const Span &call) {
    constexpr size_t lanes = kBytes / sizeof(typename From::Value);
    const Span span = call;
    const char *sources[count];
    for (int s = 0; s < count; ++s) sources[s] = static_cast<const char *>(span.sources[s]) + span.source_offset;
    size_t at = 0;
    for (; span.elements - at >= kUnroll * lanes; at += kUnroll * lanes) {
        constexpr size_t size = sizeof(typename From::Element);
        if ((span.elements - at) * size > kAhead) prefetch<count, kUnroll * lanes * size>(sources, at * size + kAhead);
        step<From, To, op, count, kUnroll>(sources, span, at);
    }
    for (; at < span.elements; at += lanes) step<From, To, op, count, 1>(sources, span, at);
}

template <typename From, typename To, Op op, int count>
constexpr Kernel kernel() {
    return {run<From, To, op, count>, sizeof(typename From::Element), sizeof(typename To::Element),
            kBytes / sizeof(typename From::Value)};
}

// With one source there is nothing to combine, so all operations use the same kernel.
#define MDIST_KERNELS(From, To)                                                                    \
    {                                                                                              \
        {}, kernel<From, To, Op::kSum, 1>(), kernel<From, To, op, 2>(), kernel<From, To, op, 3>(), \
            kernel<From, To, op, 4>(), kernel<From, To, op, 5>(), kernel<From, To, op, 6>(),       \
            kernel<From, To, op, 7>(), kernel<From, To, op, 8>()                                   \
    }

template <typename Format, Op op>
constexpr KernelSet kernels() {
    using Partial = Plain<typename Format::Value>;
    return {MDIST_KERNELS(Format, Format), MDIST_KERNELS(Format, Partial), MDIST_KERNELS(Partial, Partial),
            MDIST_KERNELS(Partial, Format)};
}

// Wrapping sums and products have the same bits signed and unsigned, so both use the unsigned kernels.
template <typename Format, typename Unsigned>
struct Row {
    static constexpr KernelSet kSum = kernels<Unsigned, Op::kSum>();
    static constexpr KernelSet kMin = kernels<Format, Op::kMin>();
    static constexpr KernelSet kMax = kernels<Format, Op::kMax>();
    static constexpr KernelSet kProd = kernels<Unsigned, Op::kProd>();
};

// Bits do not know how wide their element is, so all widths share the code that takes bytes.
template <Op op, int count, size_t size>
void run_bytes(const Span &call) {
    Span span = call;
    span.elements *= size;
    run<Plain<uint8_t>, Plain<uint8_t>, op, count>(span);
}

template <Op op, int count, size_t size>
constexpr Kernel bits_kernel() {
    return {run_bytes<op, count, size>, size, size, kBytes / size};
}

#define MDIST_BIT_KERNELS                                                                                      \
    {                                                                                                          \
        {}, bits_kernel<op, 1, size>(), bits_kernel<op, 2, size>(), bits_kernel<op, 3, size>(),                \
            bits_kernel<op, 4, size>(), bits_kernel<op, 5, size>(), bits_kernel<op, 6, size>(),                \
            bits_kernel<op, 7, size>(), bits_kernel<op, 8, size>()                                             \
    }

template <Op op, size_t size>
struct Bits {
    static constexpr KernelSet kSet = {MDIST_BIT_KERNELS, MDIST_BIT_KERNELS, MDIST_BIT_KERNELS, MDIST_BIT_KERNELS};
};

// A partial of bool is a bool, too. One source must become 0 or 1 like many, so it has a kernel of this type.
template <Op op>
constexpr KernelSet bool_kernels() {
    return {MDIST_KERNELS(Bool, Bool), MDIST_KERNELS(Bool, Bool), MDIST_KERNELS(Bool, Bool), MDIST_KERNELS(Bool, Bool)};
}
constexpr KernelSet kBoolAnd = bool_kernels<Op::kAnd>();
constexpr KernelSet kBoolOr = bool_kernels<Op::kOr>();
constexpr KernelSet kBoolXor = bool_kernels<Op::kXor>();

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

#define MDIST_ROW(...) \
    { {}, Row<__VA_ARGS__>::kSum, {}, Row<__VA_ARGS__>::kMin, Row<__VA_ARGS__>::kMax, Row<__VA_ARGS__>::kProd }
#define MDIST_INTEGERS(Signed, Unsigned)                                                                       \
    {                                                                                                          \
        {}, Row<Plain<Signed>, Plain<Unsigned>>::kSum, {}, Row<Plain<Signed>, Plain<Unsigned>>::kMin,          \
            Row<Plain<Signed>, Plain<Unsigned>>::kMax, Row<Plain<Signed>, Plain<Unsigned>>::kProd,             \
            Bits<Op::kAnd, sizeof(Signed)>::kSet, Bits<Op::kOr, sizeof(Signed)>::kSet,                         \
            Bits<Op::kXor, sizeof(Signed)>::kSet                                                               \
    }

namespace MDIST_REDUCE_VARIANT {

// In the order of mdist_dtype_t.
const KernelTable table = {
    {
        {},
        MDIST_ROW(Plain<float>, Plain<float>),
        MDIST_ROW(Plain<double>, Plain<double>),
        MDIST_ROW(Float16, Float16),
        MDIST_ROW(Bfloat16, Bfloat16),
        MDIST_INTEGERS(int8_t, uint8_t),
        MDIST_INTEGERS(uint8_t, uint8_t),
        MDIST_INTEGERS(int32_t, uint32_t),
        MDIST_INTEGERS(uint32_t, uint32_t),
        MDIST_INTEGERS(int64_t, uint64_t),
        MDIST_INTEGERS(uint64_t, uint64_t),
        MDIST_INTEGERS(int16_t, uint16_t),
        MDIST_INTEGERS(uint16_t, uint16_t),
        {{}, {}, {}, kBoolAnd, kBoolOr, {}, kBoolAnd, kBoolOr, kBoolXor}, // of true and false, the least is AND
    },
    {nullptr, squares<Plain<float>>, squares<Plain<double>>, squares<Float16>, squares<Bfloat16>},
};

} // namespace MDIST_REDUCE_VARIANT

} // namespace mdist::reduce
