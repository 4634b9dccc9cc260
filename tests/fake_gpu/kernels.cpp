// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"

#include "errors.h"
#include "memory.h"

#include "reduce/arithmetic.h"
#include "reduce/float_environment.h"
#include "reduce/half.h"
#include "reduce/reduce.h"
#include "util/dtype.h"

#include <chrono>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

namespace fake_gpu {
namespace {

void move(char *to, const char *from, std::size_t bytes) {
    if (to != from) std::memcpy(to, from, bytes);
}

/// A reduction with copies of its arrays of addresses, made when the stream was given the reduction.
struct KeptReduction {
    mdist::reduce::Operation operation;
    std::vector<const void *> sources;
    std::vector<void *> destinations;
    std::size_t elements;
};

int run_reduction(int32_t device, const KeptReduction &kept) {
    const std::size_t bytes = kept.elements * mdist::dtype_size(kept.operation.dtype);
    if (bytes == 0) return kOk;
    std::vector<const void *> sources;
    std::vector<void *> destinations;
    for (const void *source : kept.sources) {
        sources.push_back(for_kernel(device, source, bytes));
        if (sources.back() == nullptr) return kIllegalAddress;
    }
    for (void *destination : kept.destinations) {
        destinations.push_back(for_kernel(device, destination, bytes));
        if (destinations.back() == nullptr) return kIllegalAddress;
    }
    const mdist::reduce::FloatEnvironment environment;
    if (static_cast<int32_t>(kept.operation.op) == MDIST_GPU_DIFFERENCE) {
        std::vector<char> difference(bytes);
        std::memcpy(difference.data(), sources[0], bytes);
        mdist::reduce::subtract(kept.operation.dtype, difference.data(), sources[1], kept.elements);
        for (void *destination : destinations) std::memcpy(destination, difference.data(), bytes);
        return kOk;
    }
    mdist::reduce::reduce(kept.operation, sources.data(), sources.size(), destinations.data(), destinations.size(),
                          kept.elements);
    return kOk;
}

template <typename Number>
Number load(const char *data, uint64_t index) {
    Number number;
    std::memcpy(&number, data + index * sizeof number, sizeof number);
    return number;
}

template <typename Number>
void store(char *data, uint64_t index, Number number) {
    std::memcpy(data + index * sizeof number, &number, sizeof number);
}

double load_as_double(int32_t dtype, const char *data, uint64_t index) {
    switch (dtype) {
        case MDIST_FLOAT64:
            return load<double>(data, index);
        case MDIST_FLOAT16:
            return mdist::reduce::half_to_double(load<uint16_t>(data, index));
        case MDIST_BFLOAT16:
            return mdist::reduce::bfloat16_to_double(load<uint16_t>(data, index));
        default:
            return static_cast<double>(load<float>(data, index));
    }
}

void store_double(int32_t dtype, char *data, uint64_t index, double number) {
    if (number != number) number = std::numeric_limits<double>::quiet_NaN();
    switch (dtype) {
        case MDIST_FLOAT64:
            return store(data, index, number);
        case MDIST_FLOAT16:
            return store(data, index, mdist::reduce::double_to_half(number));
        case MDIST_BFLOAT16:
            return store(data, index, mdist::reduce::double_to_bfloat16(number));
        default:
            return store(data, index, static_cast<float>(number));
    }
}

/// Multiplies in float32, or in float64 if one of the two types is float64 (`wide`).
double times(double number, double factor, bool wide) {
    return wide ? number * factor : static_cast<double>(static_cast<float>(number) * static_cast<float>(factor));
}

} // namespace

Job copy_job(int32_t device, void *to, const void *from, std::size_t bytes) {
    return [=, to_use = use_pinned(device, to), from_use = use_pinned(device, from)] {
        if (bytes == 0) return kOk;
        char *destination = for_copy(to, bytes);
        const char *source = for_copy(from, bytes);
        if (destination == nullptr || source == nullptr) return kIllegalAddress;
        move(destination, source, bytes);
        return kOk;
    };
}

Job fill_job(int32_t device, void *to, int32_t byte, std::size_t bytes) {
    return [=] {
        if (bytes == 0) return kOk;
        char *destination = for_kernel(device, to, bytes);
        if (destination == nullptr) return kIllegalAddress;
        std::memset(destination, byte, bytes);
        return kOk;
    };
}

Job copy_many_job(int32_t device, const mdist_gpu_stretch *stretches, std::size_t count) {
    return [device, kept = std::vector<mdist_gpu_stretch>(stretches, stretches + count)] {
        for (const mdist_gpu_stretch &stretch : kept) {
            if (stretch.bytes == 0) continue;
            char *to = for_kernel(device, stretch.to, stretch.bytes);
            const char *from = for_kernel(device, stretch.from, stretch.bytes);
            if (to == nullptr || from == nullptr) return kIllegalAddress;
            move(to, from, stretch.bytes);
        }
        return kOk;
    };
}

Job reduce_job(int32_t device, const mdist_gpu_reduction *reductions, std::size_t count) {
    std::vector<KeptReduction> kept;
    for (std::size_t i = 0; i < count; ++i) {
        const mdist_gpu_reduction &one = reductions[i];
        kept.push_back({{one.dtype, static_cast<mdist::reduce::Op>(one.op), one.divisor},
                        std::vector<const void *>(one.sources, one.sources + one.source_count),
                        std::vector<void *>(one.destinations, one.destinations + one.destination_count),
                        one.elements});
    }
    return [device, kept = std::move(kept)] {
        for (const KeptReduction &one : kept)
            if (const int error = run_reduction(device, one)) return error;
        return static_cast<int>(kOk);
    };
}

Job divide_job(int32_t device, int32_t dtype, void *to, uint64_t divisor, uint64_t elements) {
    return [=] {
        const std::size_t bytes = elements * mdist::dtype_size(dtype);
        if (bytes == 0) return kOk;
        char *destination = for_kernel(device, to, bytes);
        if (destination == nullptr) return kIllegalAddress;
        const mdist::reduce::FloatEnvironment environment;
        mdist::reduce::divide(dtype, destination, divisor, elements);
        return kOk;
    };
}

Job squares_job(int32_t device, const mdist_gpu_squares *items, size_t count, void *room) {
    return [device, room, all = std::vector<mdist_gpu_squares>(items, items + count)] {
        const mdist::reduce::FloatEnvironment environment;
        char *const between = for_kernel(device, room, MDIST_GPU_SQUARES_ROOM);
        if (between == nullptr) return kIllegalAddress;
        std::memset(between, 0xCD, MDIST_GPU_SQUARES_ROOM);
        for (const mdist_gpu_squares &each : all) {
            const std::size_t bytes = each.elements * mdist::dtype_size(each.dtype);
            const char *source = bytes == 0 ? nullptr : for_kernel(device, each.from, bytes);
            char *destination = for_kernel(device, each.sum, sizeof *each.sum);
            if (destination == nullptr || (bytes != 0 && source == nullptr)) return kIllegalAddress;
            store(destination, 0, mdist::reduce::sum_of_squares(each.dtype, source, each.elements));
        }
        return kOk;
    };
}

Job cast_job(int32_t device, int32_t to_dtype, void *to, int32_t from_dtype, const void *from, double factor,
             uint64_t elements) {
    return [=] {
        if (elements == 0) return kOk;
        char *destination = for_kernel(device, to, elements * mdist::dtype_size(to_dtype));
        const char *source = for_kernel(device, from, elements * mdist::dtype_size(from_dtype));
        if (destination == nullptr || source == nullptr) return kIllegalAddress;
        const mdist::reduce::FloatEnvironment environment;
        const bool wide = to_dtype == MDIST_FLOAT64 || from_dtype == MDIST_FLOAT64;
        for (uint64_t i = 0; i < elements; ++i)
            store_double(to_dtype, destination, i, times(load_as_double(from_dtype, source, i), factor, wide));
        return kOk;
    };
}

Job spin_job(uint64_t microseconds) {
    return [microseconds] {
        std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
        return static_cast<int>(kOk);
    };
}

} // namespace fake_gpu
