// SPDX-License-Identifier: Apache-2.0
// Every kernel of the GPU module against the library's arithmetic on the CPU, bit for bit.
//
//     kernels [--most ELEMENTS]      size of the largest arrays; default 2^27, on a simulated GPU 4096
#include <mdist/collective.h>

#include <algorithm>
#include <cmath>

#include "checks.h"
#include "cuda/elements.h"
#include "image.h"
#include "kernel_cases.h"
#include "reduce/float_environment.h"
#include "reduce/half.h"
#include "reduce/reduce.h"
#include "reduce_reference.h"
#include "subject.h"

namespace mdist::gpu_test {
namespace {

constexpr int32_t kDtypes[] = {MDIST_FLOAT32, MDIST_FLOAT64, MDIST_FLOAT16, MDIST_BFLOAT16, MDIST_INT8,
                               MDIST_UINT8,   MDIST_INT32,   MDIST_UINT32,  MDIST_INT64,    MDIST_UINT64,
                               MDIST_INT16,   MDIST_UINT16,  MDIST_BOOL};
constexpr int32_t kFloats[] = {MDIST_FLOAT32, MDIST_FLOAT64, MDIST_FLOAT16, MDIST_BFLOAT16};
constexpr struct {
    int32_t op;
    const char *name;
} kOps[] = {{MDIST_SUM, "sum"},   {MDIST_MEAN, "mean"}, {MDIST_MIN, "min"}, {MDIST_MAX, "max"},
            {MDIST_PROD, "prod"}, {MDIST_AND, "and"},   {MDIST_OR, "or"},   {MDIST_XOR, "xor"}};

/// Sizes around those at which kernels change how they work.
std::vector<std::size_t> sizes(Random &random, std::size_t most) {
    std::vector<std::size_t> all = {0, 1, 7, 15, 16, 17, 255, 1000 + random() % 64, 4096, 8191 + random() % 4};
    if (most > 100000) all.push_back(70000 + random() % 64);
    return all;
}

void check_reductions(const Gpu &gpu, Random &random, std::size_t most) {
    for (const int32_t dtype : kDtypes) {
        for (const auto &[op, name] : kOps) {
            if (!takes(op, dtype)) continue;
            int cases = 0;
            std::string wrong;
            for (const uint32_t count : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 16u, 17u, 33u}) {
                for (const Lie lie : kLies) {
                    const auto all = sizes(random, most);
                    const std::size_t elements = all[random() % all.size()];
                    const std::string found = reduction_difference(gpu, random, {dtype, op, count, elements, lie});
                    if (wrong.empty() && !found.empty())
                        wrong = text(count, " sources, ", elements, " elements: ", found);
                    ++cases;
                }
            }
            gpu.checks().check(wrong.empty(), text("reduce ", dtype_name(dtype), " ", name),
                               wrong.empty() ? text(cases, " cases") : wrong);
        }
    }
}

void check_large(const Gpu &gpu, Random &random, std::size_t most) {
    for (const int32_t dtype : {MDIST_FLOAT32, MDIST_BFLOAT16}) {
        for (std::size_t elements = 1 << 18; elements <= most; elements *= 8) {
            const std::size_t odd = elements - 1 - random() % 8;
            const std::string wrong = reduction_difference(gpu, random, {dtype, MDIST_MEAN, 3, odd, Lie::kAlike});
            gpu.checks().check(wrong.empty(), text("reduce large ", dtype_name(dtype), " ", odd), wrong);
        }
    }
}

void check_many(const Gpu &gpu, Random &random) {
    const std::string wrong = many_reductions_difference(gpu, random, 400);
    gpu.checks().check(wrong.empty(), "reduce many 400 at once", wrong);
}

void check_assign_and_divide(const Gpu &gpu, Random &random) {
    for (const int32_t dtype : kDtypes) {
        if (dtype == MDIST_BOOL) continue; // has no arithmetic
        std::string wrong;
        for (const Lie lie : kLies) {
            for (const int32_t op : {int32_t{MDIST_SUM}, int32_t{MDIST_GPU_DIFFERENCE}}) {
                Image image(gpu, random, lie);
                const std::size_t elements = 1 + random() % 5000;
                image.add(dtype, elements);
                image.add(dtype, elements);
                image.upload();
                void *const to = image.on_gpu(0);
                const void *const sources[] = {to, image.on_gpu(1)};
                const mdist_gpu_reduction reduction = {dtype, op, 1, 2, 1, sources, &to, elements};
                gpu.require(gpu.api().reduce(gpu.device(), &reduction, 1, gpu.stream()), "assign");
                reduce::add_reference(dtype, op == MDIST_GPU_DIFFERENCE, image.on_host(0), image.on_host(1), elements);
                wrong += image.difference();
            }
        }
        gpu.checks().check(wrong.empty(), text("assign ", dtype_name(dtype)), wrong);
        for (const uint64_t divisor : {uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{8}, uint64_t{100},
                                       uint64_t{1} << 31, uint64_t{1} << 63}) {
            Image image(gpu, random, kLies[random() % 4]);
            const std::size_t elements = 1 + random() % 5000;
            image.add(dtype, elements);
            image.upload();
            gpu.require(gpu.api().divide(gpu.device(), dtype, image.on_gpu(0), divisor, elements, gpu.stream()),
                        "divide");
            reduce::divide_reference(dtype, image.on_host(0), divisor, elements);
            wrong += image.difference();
        }
        gpu.checks().check(wrong.empty(), text("divide ", dtype_name(dtype)), wrong);
    }
}

void check_scale(const Gpu &gpu, Random &random) {
    for (const int32_t dtype : kFloats) {
        std::string wrong;
        for (const double factor : {1.0, 1.0 / 3, -0.1, 1e30, 0.0, 0x1p-130}) {
            Image image(gpu, random, kLies[random() % 4]);
            const std::size_t elements = 1 + random() % 5000;
            image.add(dtype, elements);
            image.upload();
            void *const data = image.on_gpu(0);
            gpu.require(gpu.api().cast(gpu.device(), dtype, data, dtype, data, factor, elements, gpu.stream()),
                        "scale");
            reduce::scale_reference(dtype, image.on_host(0), factor, elements);
            wrong += image.difference();
        }
        gpu.checks().check(wrong.empty(), text("scale ", dtype_name(dtype)), wrong);
    }
}

void check_casts(const Gpu &gpu, Random &random) {
    for (const int32_t from : kFloats) {
        for (const int32_t to : kFloats) {
            std::string wrong;
            for (const double factor : {1.0, 1.0 / 3, -1e-5})
                for (const Lie lie : kLies) wrong += cast_difference(gpu, random, {from, to, factor, lie});
            gpu.checks().check(wrong.empty(), text("cast ", dtype_name(from), " to ", dtype_name(to)), wrong);
        }
    }
}

/// Checks the instructions that convert 16-bit floats: on all of them, and on floats between them.
void check_every_half(const Gpu &gpu) {
    constexpr std::size_t kHalves = 0x10000;
    std::vector<uint16_t> halves(kHalves);
    std::vector<float> wide(kHalves);
    for (std::size_t i = 0; i < kHalves; ++i) halves[i] = static_cast<uint16_t>(i);
    const Memory narrow_memory(gpu, kHalves * 2);
    const Memory wide_memory(gpu, kHalves * 4);
    const auto cast = [&](int32_t to_dtype, void *to, int32_t from_dtype, const void *from) {
        gpu.require(gpu.api().cast(gpu.device(), to_dtype, to, from_dtype, from, 1, kHalves, gpu.stream()), "cast");
    };
    gpu.upload(narrow_memory.data(), halves.data(), kHalves * 2);
    cast(MDIST_FLOAT32, wide_memory.data(), MDIST_FLOAT16, narrow_memory.data());
    gpu.download(wide.data(), wide_memory.data(), kHalves * 4);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < kHalves; ++i) {
        const double value = reduce::half_to_double(halves[i]);
        if (std::isnan(value) ? !std::isnan(wide[i]) : static_cast<double>(wide[i]) != value) ++wrong;
    }
    for (int beside = -2; beside <= 2; ++beside) { // around the middle between a half and the next one
        for (std::size_t i = 0; i < kHalves; ++i) {
            const auto value = static_cast<float>(reduce::half_to_double(halves[i]));
            const uint32_t bits = cuda::same_bits<uint32_t>(value) + 0x1000 + static_cast<uint32_t>(beside);
            wide[i] = cuda::same_bits<float>(bits);
        }
        gpu.upload(wide_memory.data(), wide.data(), kHalves * 4);
        cast(MDIST_FLOAT16, narrow_memory.data(), MDIST_FLOAT32, wide_memory.data());
        std::vector<uint16_t> found(kHalves);
        gpu.download(found.data(), narrow_memory.data(), kHalves * 2);
        for (std::size_t i = 0; i < kHalves; ++i)
            if (found[i] != reduce::double_to_half(static_cast<double>(wide[i]))) ++wrong;
    }
    gpu.checks().check(wrong == 0, "cast every half", wrong == 0 ? "" : text(wrong, " wrong"));
}

void check_squares(const Gpu &gpu, Random &random, std::size_t most) {
    for (const int32_t dtype : kFloats) {
        std::string wrong;
        for (const std::size_t elements : {std::size_t{0}, std::size_t{1}, std::size_t{4097}, std::size_t{100003},
                                           std::min<std::size_t>(most, 5000003)})
            wrong += squares_difference(gpu, random, dtype, elements);
        gpu.checks().check(wrong.empty(), text("squares ", dtype_name(dtype)), wrong);
    }
}

void check_copies(const Gpu &gpu, Random &random) {
    for (const Lie lie : kLies) {
        Image image(gpu, random, lie);
        std::vector<std::size_t> bytes;
        for (int i = 0; i < 1500; ++i) {
            bytes.push_back(i % 200 == 0 ? 100000 + random() % 99 : random() % 300);
            image.add(MDIST_UINT8, bytes.back());
            image.add(MDIST_UINT8, bytes.back());
        }
        image.upload();
        std::vector<mdist_gpu_stretch> stretches;
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            stretches.push_back({image.on_gpu(2 * i), image.on_gpu(2 * i + 1), bytes[i]});
            std::copy_n(image.on_host(2 * i + 1), bytes[i], image.on_host(2 * i));
        }
        gpu.require(gpu.api().copy_many(gpu.device(), stretches.data(), stretches.size(), gpu.stream()), "copy_many");
        const std::string wrong = image.difference();
        gpu.checks().check(wrong.empty(), text("copy_many 1500, lie ", static_cast<int>(lie)), wrong);
    }
}

/// Numbers of elements that do not fit in 32 bits.
void check_beyond_32_bits(const Gpu &gpu, std::size_t most) {
    const char *const name = "reduce more than 2^32 elements";
    constexpr std::size_t kElements = (std::size_t{1} << 32) + 4099;
    if (most < std::size_t{1} << 27 || gpu.free_bytes() < 3 * kElements)
        return gpu.checks().skipped(name, "not asked for, or too little memory");
    const Memory one(gpu, kElements);
    const Memory two(gpu, kElements);
    gpu.require(gpu.api().fill(gpu.device(), one.data(), 3, kElements, gpu.stream()), "fill");
    gpu.require(gpu.api().fill(gpu.device(), two.data(), 4, kElements, gpu.stream()), "fill");
    const void *const sources[] = {one.data(), two.data()};
    void *const destination = one.data();
    const mdist_gpu_reduction sum = {MDIST_UINT8, MDIST_SUM, 1, 2, 1, sources, &destination, kElements};
    gpu.require(gpu.api().reduce(gpu.device(), &sum, 1, gpu.stream()), "reduce");
    std::vector<unsigned char> found(std::size_t{1} << 26);
    std::size_t wrong = 0;
    for (std::size_t at = 0; at < kElements; at += found.size()) {
        const std::size_t bytes = std::min(found.size(), kElements - at);
        gpu.download(found.data(), one.data() + at, bytes);
        wrong += bytes - static_cast<std::size_t>(std::count(found.begin(), found.begin() + bytes, 7));
    }
    gpu.checks().check(wrong == 0, name, wrong == 0 ? "" : text(wrong, " wrong"));
}

void check_refusals(const Gpu &gpu) {
    const Memory memory(gpu, 256);
    const void *const source = memory.data();
    void *const destination = memory.data();
    const mdist_gpu_reduction mean = {MDIST_INT32, MDIST_MEAN, 2, 1, 1, &source, &destination, 4};
    const mdist_gpu_reduction type = {77, MDIST_SUM, 1, 1, 1, &source, &destination, 4};
    const auto refused = [&](int error) { return gpu.api().kind(error) == MDIST_GPU_INVALID; };
    gpu.checks().check(refused(gpu.api().reduce(gpu.device(), &mean, 1, gpu.stream())) &&
                           refused(gpu.api().reduce(gpu.device(), &type, 1, gpu.stream())),
                       "refuses what is no reduction", "");
    gpu.wait();
}

} // namespace
} // namespace mdist::gpu_test

SUBJECT(kernels) {
    using namespace mdist::gpu_test;
    const mdist::reduce::FloatEnvironment environment;
    Checks checks;
    const Gpu gpu(checks);
    const std::size_t most = option(argc, argv, "--most", gpu.is_fake() ? 4096 : std::size_t{1} << 27);
    mdist::Random random(2026);
    check_reductions(gpu, random, most);
    check_many(gpu, random);
    check_assign_and_divide(gpu, random);
    check_scale(gpu, random);
    check_casts(gpu, random);
    check_every_half(gpu);
    check_squares(gpu, random, most);
    check_copies(gpu, random);
    check_refusals(gpu);
    check_large(gpu, random, most);
    check_beyond_32_bits(gpu, most);
    return checks.finish();
}
