// SPDX-License-Identifier: Apache-2.0
// Every variant of the kernels against the scalar twin, bit for bit, and what both promise about arrays and arithmetic.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

// Its header does not say so itself.
extern "C" {
#include <cmocka.h>
}

#include <mdist/tensor.h>

#include <cfenv>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "reduce/float_environment.h"
#include "reduce/reduce.h"
#include "reduce/variants.h"
#include "reduce_reference.h"
#include "reduce_support.h"
#include "subject.h"
#include "util/dtype.h"

namespace {

using mdist::fill_element;
using mdist::Random;
using mdist::reduce::FloatEnvironment;
using mdist::reduce::InstructionSet;
using mdist::reduce::Op;
using mdist::reduce::Operation;
using Bytes = std::vector<unsigned char>;

constexpr Op kOps[] = {Op::kSum, Op::kMean, Op::kMin, Op::kMax, Op::kProd, Op::kAnd, Op::kOr, Op::kXor};
constexpr InstructionSet kSets[] = {InstructionSet::kBaseline, InstructionSet::kAvx2, InstructionSet::kAvx512};
constexpr const char *kSetNames[] = {"baseline", "avx2", "avx512"};
constexpr unsigned char kGuard = 0xa5;
constexpr std::size_t kMargin = 80;

struct Case {
    Operation operation;
    std::size_t count;
    std::size_t elements;
    std::size_t offset; // of the first source; the others follow at other offsets
    bool in_place;
};

struct Arrays {
    std::vector<Bytes> storage;
    std::vector<void *> pointers;
};

Arrays make_arrays(std::size_t count, std::size_t bytes, std::size_t offset) {
    Arrays arrays;
    for (std::size_t i = 0; i < count; ++i) {
        arrays.storage.emplace_back(bytes + 2 * kMargin, kGuard);
        arrays.pointers.push_back(arrays.storage.back().data() + kMargin - 8 + (offset + 3 * i) % 8);
    }
    return arrays;
}

Arrays copy_of(const Arrays &arrays) {
    Arrays copy{arrays.storage, {}};
    for (std::size_t i = 0; i < arrays.pointers.size(); ++i) {
        const auto *base = arrays.storage[i].data();
        copy.pointers.push_back(copy.storage[i].data() + (static_cast<unsigned char *>(arrays.pointers[i]) - base));
    }
    return copy;
}

using Reduce = void (*)(const Operation &, const void *const *, std::size_t, void *const *, std::size_t, std::size_t);

// What lies in memory afterwards, margins and sources included. In place, `targets` sources from the last one backwards
// are destinations.
template <typename Function>
std::vector<Bytes> outcome(const Case &c, const Arrays &sources, const Arrays &destinations, std::size_t targets,
                           Function reduce) {
    Arrays from = copy_of(sources);
    Arrays to = copy_of(destinations);
    std::vector<void *> out;
    for (std::size_t d = 0; d < targets; ++d)
        out.push_back(c.in_place ? from.pointers[c.count - 1 - d] : to.pointers[d]);
    reduce(c.operation, from.pointers.data(), c.count, out.data(), targets, c.elements);
    std::vector<Bytes> all = std::move(from.storage);
    for (Bytes &bytes : to.storage) all.push_back(std::move(bytes));
    return all;
}

void check(const Case &c, Random &random) {
    const std::size_t size = mdist::dtype_size(c.operation.dtype);
    const std::size_t targets = c.in_place ? (random() % 2 ? c.count : 1) : random() % 4;
    Arrays sources = make_arrays(c.count, c.elements * size, c.offset);
    const Arrays destinations = make_arrays(c.in_place ? 0 : targets, c.elements * size, c.offset + random() % 8);
    for (void *source : sources.pointers)
        for (std::size_t i = 0; i < c.elements; ++i)
            fill_element(random, c.operation.dtype, static_cast<unsigned char *>(source) + i * size);

    const auto expected = outcome(c, sources, destinations, targets, mdist::reduce::reduce_reference);
    for (InstructionSet set : kSets) {
        if (!mdist::reduce::available(set)) continue;
        const auto found = outcome(c, sources, destinations, targets, [set](const auto &operation, auto... rest) {
            mdist::reduce::reduce(operation, rest..., set);
        });
        if (found == expected) continue;
        fail_msg(
            "%s differs: %s op %d, %zu sources, %zu elements, offset %zu, %zu destinations%s, divisor %llu",
            kSetNames[static_cast<int>(set)], mdist::dtype_name(c.operation.dtype), static_cast<int>(c.operation.op),
            c.count, c.elements, c.offset, targets, c.in_place ? " in place" : "",
            static_cast<unsigned long long>(c.operation.divisor));
    }
}

uint64_t some_divisor(Random &random, std::size_t count) {
    const uint64_t divisors[] = {count, 3, 4, 7, 8, 16777217, 1ull << 33, 1ull << 63, ~0ull};
    return divisors[random() % (sizeof divisors / sizeof *divisors)];
}

void check_counts_and_sizes(const Operation &form, Random &random, std::initializer_list<std::size_t> counts,
                            std::initializer_list<std::size_t> sizes, std::size_t offsets) {
    for (std::size_t count : counts) {
        for (std::size_t elements : sizes) {
            for (std::size_t step = 0; step < offsets; ++step) {
                const std::size_t offset = offsets == 8 ? step : random() % 8;
                const Operation operation = {form.dtype, form.op, some_divisor(random, count)};
                check({operation, count, elements, offset, false}, random);
                check({operation, count, elements, offset, true}, random);
            }
        }
    }
}

// The state is the dtype.
void every_variant_gives_the_reference_bits(void **state) {
    const int32_t dtype = *static_cast<const int32_t *>(*state);
    Random random(test_seed(20240611));
    for (Op op : kOps) {
        if (!mdist::takes(op, dtype)) continue;
        const Operation form = {dtype, op, 0};
        // From 9 on there are partials of 8, and of what is left.
        const auto counts = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 33};
        const std::vector<std::size_t> all(counts.begin(), counts.end());
        for (std::size_t count : all) {
            check_counts_and_sizes(form, random, {count}, {0, 1, 2, 3, 7, 15, 16, 17, 63, 64, 65}, 8);
            check_counts_and_sizes(form, random, {count}, {1000, 4097}, 1);
        }
    }
}

void hundreds_of_sources_follow_the_tree_too(void **) {
    Random random(test_seed(20240611));
    for (int32_t dtype : {MDIST_FLOAT32, MDIST_FLOAT16, MDIST_INT8})
        check_counts_and_sizes({dtype, Op::kSum, 0}, random, {63, 64, 65, 128, 257, 1000}, {5, 700}, 1);
}

void nothing_to_do_touches_nothing(void **) {
    const void *const nulls[2] = {nullptr, nullptr};
    void *out[1] = {nullptr};
    mdist::reduce::reduce({MDIST_FLOAT32, Op::kSum, 0}, nulls, 2, out, 1, 0);
    mdist::reduce::reduce({MDIST_FLOAT32, Op::kSum, 0}, nulls, 2, out, 0, 100);
}

void the_best_available_variant_is_chosen(void **) {
    InstructionSet best = InstructionSet::kBaseline;
    for (InstructionSet set : kSets)
        if (mdist::reduce::available(set)) best = set;
    assert_true(mdist::reduce::best_instruction_set() == best);
    assert_true(mdist::reduce::available(InstructionSet::kBaseline));
}

void many_destinations_get_the_same_bits(void **) {
    float a[100], b[100];
    for (int i = 0; i < 100; ++i) a[i] = static_cast<float>(i) / 3, b[i] = static_cast<float>(i) / 7;
    std::vector<std::vector<float>> results(19, std::vector<float>(100));
    std::vector<void *> out;
    for (auto &result : results) out.push_back(result.data());
    const void *const sources[] = {a, b};
    mdist::reduce::reduce({MDIST_FLOAT32, Op::kSum, 0}, sources, 2, out.data(), out.size(), 100);
    for (const auto &result : results)
        for (int i = 0; i < 100; ++i) assert_true(result[i] == a[i] + b[i]);
}

// Sums 1 + 2^-25 (up only if rounding upwards) and two subnormals (0 if they are flushed).
void float_environment_computes_as_by_default_and_restores(void **) {
#if defined(__x86_64__)
    constexpr unsigned kUpwards = 0x4000, kFlush = 0x8040, kMasked = 0x1f80, kInexactRaised = 0x20;
    const unsigned saved = _mm_getcsr();
    const unsigned hostile = kMasked | kUpwards | kFlush | kInexactRaised;
    _mm_setcsr(hostile);
#else
    std::fenv_t saved;
    std::fegetenv(&saved);
    std::fesetround(FE_UPWARD);
#endif
    const float tiny = std::numeric_limits<float>::denorm_min();
    const float a[] = {1, tiny}, b[] = {0x1p-25f, tiny};
    float result[2], outside[2];
    const void *const sources[] = {a, b};
    void *const inside_out[] = {result}, *const outside_out[] = {outside};
    {
        const FloatEnvironment environment;
        mdist::reduce::reduce({MDIST_FLOAT32, Op::kSum, 0}, sources, 2, inside_out, 1, 2);
    }
#if defined(__x86_64__)
    const bool restored = _mm_getcsr() == hostile;
#else
    const bool restored = std::fegetround() == FE_UPWARD;
#endif
    mdist::reduce::reduce({MDIST_FLOAT32, Op::kSum, 0}, sources, 2, outside_out, 1, 2);
#if defined(__x86_64__)
    _mm_setcsr(saved);
#else
    std::fesetenv(&saved);
#endif
    assert_true(restored);
    assert_true(result[0] == 1);
    assert_true(result[1] == 2 * tiny);
    // Or the test would show nothing.
    assert_true(outside[0] > 1);
}

} // namespace

SUBJECT(reduce) {
    static int32_t dtypes[] = {MDIST_FLOAT32, MDIST_FLOAT64, MDIST_FLOAT16, MDIST_BFLOAT16, MDIST_INT8,
                               MDIST_UINT8,   MDIST_INT32,   MDIST_UINT32,  MDIST_INT64,    MDIST_UINT64,
                               MDIST_INT16,   MDIST_UINT16,  MDIST_BOOL};
    static std::string names[13];
    std::vector<CMUnitTest> tests = {
        cmocka_unit_test(hundreds_of_sources_follow_the_tree_too),
        cmocka_unit_test(nothing_to_do_touches_nothing),
        cmocka_unit_test(the_best_available_variant_is_chosen),
        cmocka_unit_test(many_destinations_get_the_same_bits),
        cmocka_unit_test(float_environment_computes_as_by_default_and_restores),
    };
    for (int i = 0; i < 13; ++i) {
        names[i] = std::string("every_variant_gives_the_reference_bits_of_") + mdist::dtype_name(dtypes[i]);
        tests.push_back({names[i].c_str(), every_variant_gives_the_reference_bits, nullptr, nullptr, &dtypes[i]});
    }
    return _cmocka_run_group_tests("reduce", tests.data(), tests.size(), nullptr, nullptr);
}
