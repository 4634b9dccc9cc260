// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"

#include <mdist/collective.h>

#include <cmath>

#include "reduce/half.h"
#include "reduce/reduce.h"

namespace mdist::gpu_test {
namespace {

template <typename T>
T element(const void *array, std::size_t i) {
    T value;
    std::memcpy(&value, static_cast<const char *>(array) + i * sizeof value, sizeof value);
    return value;
}

double real(int32_t dtype, const void *array, std::size_t i) {
    switch (dtype) {
        case MDIST_FLOAT32:
            return static_cast<double>(element<float>(array, i));
        case MDIST_FLOAT64:
            return element<double>(array, i);
        case MDIST_FLOAT16:
            return reduce::half_to_double(element<uint16_t>(array, i));
        default:
            return reduce::bfloat16_to_double(element<uint16_t>(array, i));
    }
}

void store(int32_t dtype, void *array, std::size_t i, double value) {
    char *const to = static_cast<char *>(array) + i * dtype_size(dtype);
    if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
    const auto single = static_cast<float>(value);
    const uint16_t half = dtype == MDIST_FLOAT16 ? reduce::double_to_half(value) : reduce::double_to_bfloat16(value);
    if (dtype == MDIST_FLOAT32) std::memcpy(to, &single, sizeof single);
    if (dtype == MDIST_FLOAT64) std::memcpy(to, &value, sizeof value);
    if (dtype_size(dtype) == 2) std::memcpy(to, &half, sizeof half);
}

/// Has the host do it.
void reduce_on_host(Image &image, const ReductionCase &one, std::size_t first, uint64_t divisor) {
    std::vector<const void *> sources;
    for (uint32_t i = 0; i < one.count; ++i) sources.push_back(image.on_host(first + i));
    void *const destinations[] = {image.on_host(first + one.count - 1), image.on_host(first + one.count)};
    reduce::reduce({one.dtype, static_cast<reduce::Op>(one.op), divisor}, sources.data(), one.count, destinations, 2,
                   one.elements);
}

/// A reduction of arrays `first` to first + count.
struct OnGpu {
    std::vector<const void *> sources;
    std::vector<void *> destinations;

    mdist_gpu_reduction reduction(const Image &image, const ReductionCase &one, std::size_t first, uint64_t divisor) {
        for (uint32_t i = 0; i < one.count; ++i) sources.push_back(image.on_gpu(first + i));
        destinations = {image.on_gpu(first + one.count - 1), image.on_gpu(first + one.count)};
        return {one.dtype, one.op, divisor, one.count, 2, sources.data(), destinations.data(), one.elements};
    }
};

double squares_at(const Gpu &gpu, int32_t dtype, const void *from, std::size_t elements) {
    const Memory sum(gpu, sizeof(double));
    const mdist_gpu_squares item = {dtype, from, elements, static_cast<double *>(static_cast<void *>(sum.data()))};
    const Memory room(gpu, MDIST_GPU_SQUARES_ROOM);
    gpu.require(gpu.api().squares(gpu.device(), &item, 1, room.data(), gpu.stream()), "squares");
    double found = -1;
    gpu.download(&found, sum.data(), sizeof found);
    return found;
}

/// The same sum as the 71st of 150, and others of several types and lengths beside it.
double squares_among_many(const Gpu &gpu, int32_t dtype, const void *from, std::size_t elements) {
    constexpr std::size_t kSums = 150, kOwn = 70;
    const Memory sums(gpu, kSums * sizeof(double));
    auto *const first = static_cast<double *>(static_cast<void *>(sums.data()));
    std::vector<mdist_gpu_squares> items;
    for (std::size_t i = 0; i < kSums; ++i)
        items.push_back(
            {i % 50 == 49 ? MDIST_BFLOAT16 : dtype, from, i == kOwn ? elements : elements / 3 * (i % 3), first + i});
    const Memory room(gpu, MDIST_GPU_SQUARES_ROOM);
    gpu.require(gpu.api().squares(gpu.device(), items.data(), kSums, room.data(), gpu.stream()), "squares");
    double found = -1;
    gpu.download(&found, first + kOwn, sizeof found);
    return found;
}

} // namespace

std::string reduction_difference(const Gpu &gpu, Random &random, const ReductionCase &one) {
    Image image(gpu, random, one.lie);
    for (uint32_t i = 0; i < one.count + 1; ++i) image.add(one.dtype, one.elements);
    image.upload();
    const uint64_t divisor = one.count + random() % 2;
    OnGpu arrays;
    const mdist_gpu_reduction reduction = arrays.reduction(image, one, 0, divisor);
    gpu.require(gpu.api().reduce(gpu.device(), &reduction, 1, gpu.stream()), "reduce");
    reduce_on_host(image, one, 0, divisor);
    return image.difference();
}

std::string many_reductions_difference(const Gpu &gpu, Random &random, std::size_t count) {
    Image image(gpu, random, Lie::kAlike);
    std::vector<ReductionCase> cases;
    std::vector<std::size_t> firsts;
    for (std::size_t i = 0; i < count; ++i) {
        const int32_t dtype = i % 40 == 0 ? MDIST_INT32 : MDIST_FLOAT32;
        cases.push_back({dtype, MDIST_SUM, 4, random() % 3000, Lie::kAlike});
        firsts.push_back(5 * i);
        for (int array = 0; array < 5; ++array) image.add(dtype, cases.back().elements);
    }
    image.upload();
    std::vector<OnGpu> arrays(count);
    std::vector<mdist_gpu_reduction> reductions;
    for (std::size_t i = 0; i < count; ++i) reductions.push_back(arrays[i].reduction(image, cases[i], firsts[i], 1));
    gpu.require(gpu.api().reduce(gpu.device(), reductions.data(), count, gpu.stream()), "reduce");
    for (std::size_t i = 0; i < count; ++i) reduce_on_host(image, cases[i], firsts[i], 1);
    return image.difference();
}

std::string cast_difference(const Gpu &gpu, Random &random, const CastCase &one) {
    Image image(gpu, random, one.lie);
    const std::size_t elements = 1 + random() % 4000;
    image.add(one.to, elements);
    image.add(one.from, elements);
    image.upload();
    gpu.require(gpu.api().cast(gpu.device(), one.to, image.on_gpu(0), one.from, image.on_gpu(1), one.factor, elements,
                               gpu.stream()),
                "cast");
    const bool wide = one.from == MDIST_FLOAT64 || one.to == MDIST_FLOAT64;
    for (std::size_t i = 0; i < elements; ++i) {
        const double value = real(one.from, image.on_host(1), i);
        const float product = static_cast<float>(value) * static_cast<float>(one.factor);
        store(one.to, image.on_host(0), i, wide ? value * one.factor : static_cast<double>(product));
    }
    return image.difference();
}

std::string squares_difference(const Gpu &gpu, Random &random, int32_t dtype, std::size_t elements) {
    const std::size_t bytes = elements * dtype_size(dtype);
    std::vector<unsigned char> numbers(bytes);
    for (std::size_t i = 0; i < elements; ++i)
        store(dtype, numbers.data(), i, static_cast<double>(static_cast<int64_t>(random())) * 0x1p-63);
    const Memory memory(gpu, 2 * bytes + 256);
    char *const apart = memory.data() + bytes + dtype_size(dtype);
    gpu.upload(memory.data(), numbers.data(), bytes);
    gpu.upload(apart, numbers.data(), bytes);
    const double sum = squares_at(gpu, dtype, memory.data(), elements);
    if (sum != squares_at(gpu, dtype, apart, elements)) return text(elements, " elements: another place, another sum");
    if (sum != squares_at(gpu, dtype, memory.data(), elements)) return text(elements, " elements: another sum again");
    if (sum != squares_among_many(gpu, dtype, memory.data(), elements))
        return text(elements, " elements: another sum beside others");
    const double other = reduce::sum_of_squares(dtype, numbers.data(), elements);
    if (std::fabs(sum - other) <= 1e-12 * other) return "";
    return text(elements, " elements: ", exact_text(sum), ", on the CPU ", exact_text(other));
}

} // namespace mdist::gpu_test
