// SPDX-License-Identifier: Apache-2.0
// Collectives of device memory through the public API, with numbers whose results are exact in every type and order.
#include <algorithm>
#include <bit>
#include <cstring>

#include "reduce/half.h"
#include "reduce_support.h"
#include "strategy.h"
#include "util/dtype.h"
#include "util/text.h"

namespace mdist::gpu_test {
namespace {

using Bytes = std::vector<unsigned char>;

constexpr std::size_t kElements = 5003;
constexpr struct {
    mdist_reduce_op_t op;
    const char *name;
} kOps[] = {{MDIST_SUM, "sum"}, {MDIST_MIN, "min"}, {MDIST_MAX, "max"}, {MDIST_PROD, "prod"},
           {MDIST_AND, "and"}, {MDIST_OR, "or"},   {MDIST_XOR, "xor"}, {MDIST_MEAN, "mean"}};

/// 1 or 2; of a bool, 0 or 1.
double number_of(int32_t dtype, uint32_t replica, std::size_t i) {
    return (dtype == MDIST_BOOL ? 0 : 1) + static_cast<double>((i >> (replica % 8)) % 2);
}

void encode(int32_t dtype, double number, unsigned char *to) {
    const auto single = static_cast<float>(number);
    const auto whole = static_cast<int64_t>(number);
    const uint16_t half = dtype == MDIST_FLOAT16 ? reduce::double_to_half(number) : reduce::double_to_bfloat16(number);
    if (dtype == MDIST_FLOAT32)
        std::memcpy(to, &single, sizeof single);
    else if (dtype == MDIST_FLOAT64)
        std::memcpy(to, &number, sizeof number);
    else if (dtype == MDIST_FLOAT16 || dtype == MDIST_BFLOAT16)
        std::memcpy(to, &half, sizeof half);
    else
        std::memcpy(to, &whole, dtype_size(dtype)); // little-endian; a number that is too large wraps around
}

double combined(mdist_reduce_op_t op, double a, double b) {
    switch (op) {
        case MDIST_MIN:
            return std::min(a, b);
        case MDIST_MAX:
            return std::max(a, b);
        case MDIST_PROD:
            return a * b;
        case MDIST_AND:
            return static_cast<double>(static_cast<int>(a) & static_cast<int>(b));
        case MDIST_OR:
            return static_cast<double>(static_cast<int>(a) | static_cast<int>(b));
        case MDIST_XOR:
            return static_cast<double>(static_cast<int>(a) ^ static_cast<int>(b));
        default:
            return a + b;
    }
}

Bytes numbers(int32_t dtype, uint32_t replica) {
    Bytes bytes(kElements * dtype_size(dtype));
    for (std::size_t i = 0; i < kElements; ++i) encode(dtype, number_of(dtype, replica, i), &bytes[i * dtype_size(dtype)]);
    return bytes;
}

Bytes result(int32_t dtype, mdist_reduce_op_t op, uint32_t replicas) {
    Bytes bytes(kElements * dtype_size(dtype));
    for (std::size_t i = 0; i < kElements; ++i) {
        double all = number_of(dtype, 0, i);
        for (uint32_t r = 1; r < replicas; ++r) all = combined(op, all, number_of(dtype, r, i));
        encode(dtype, op == MDIST_MEAN ? all / replicas : all, &bytes[i * dtype_size(dtype)]);
    }
    return bytes;
}

void check_type(const Strategy &strategy, int32_t dtype, mdist_reduce_op_t op, const char *name) {
    std::vector<Array> in, out;
    for (uint32_t r = 0; r < strategy.replicas(); ++r) {
        in.push_back(strategy.allocate(r, kElements * dtype_size(dtype)));
        out.push_back(strategy.allocate(r, kElements * dtype_size(dtype)));
        in[r].upload(numbers(dtype, r));
    }
    strategy.run([&](mdist_replica_t *replica, uint32_t r) {
        all_reduce(replica, op, {in[r].data(), kElements, dtype, 0}, {out[r].data(), kElements, dtype, 0});
    });
    const Bytes wanted = result(dtype, op, strategy.replicas());
    for (uint32_t r = 0; r < strategy.replicas(); ++r)
        if (out[r].download(wanted.size()) != wanted)
            throw std::runtime_error(text(name, ": replica ", r, " is wrong"));
}

Bytes int32s(const std::vector<int32_t> &values) {
    Bytes bytes(4 * values.size());
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

/// The memory of a replica: its number, then room for the numbers of all replicas, twice.
struct Exchange {
    Array own, all, turned;
};

void exchange(mdist_replica_t *replica, uint32_t n, const Exchange &mine) {
    const mdist_buffer_t own = {mine.own.data(), 1, MDIST_INT32, 0};
    const mdist_buffer_t all = {mine.all.data(), n, MDIST_INT32, 0}, turned = {mine.turned.data(), n, MDIST_INT32, 0};
    mdist_error_t *error = nullptr;
    well(mdist_all_gather(replica, &own, &all, 1, nullptr, &error), error);                   // 0, 1, ..., n - 1
    well(mdist_all_to_all(replica, &all, &turned, 1, nullptr, &error), error);                // r, r, ..., r
    well(mdist_reduce_scatter(replica, MDIST_SUM, &turned, &own, 1, nullptr, &error), error); // 0 + 1 + ...
    well(mdist_broadcast(replica, n - 1, &turned, 1, nullptr, &error), error);                // n - 1, ...
}

void check_exchange(const Strategy &strategy) {
    const uint32_t n = strategy.replicas();
    std::vector<Exchange> parts;
    std::vector<int32_t> counting;
    for (uint32_t r = 0; r < n; ++r) {
        parts.push_back({strategy.allocate(r, 4), strategy.allocate(r, 4 * n), strategy.allocate(r, 4 * n)});
        parts[r].own.upload(int32s({static_cast<int32_t>(r)}));
        counting.push_back(static_cast<int32_t>(r));
    }
    strategy.run([&](mdist_replica_t *replica, uint32_t r) { exchange(replica, n, parts[r]); });
    const auto last = static_cast<int32_t>(n) - 1;
    for (const Exchange &each : parts) {
        if (each.all.download(4 * n) != int32s(counting)) throw std::runtime_error("all_gather or what it is for");
        if (each.own.download(4) != int32s({last * (last + 1) / 2})) throw std::runtime_error("reduce_scatter");
        if (each.turned.download(4 * n) != int32s(std::vector<int32_t>(n, last))) throw std::runtime_error("broadcast");
    }
}

} // namespace

void check_types(Checks &checks, const Strategy &strategy, const std::string &name) {
    for (int32_t dtype = MDIST_FLOAT32; dtype <= MDIST_BOOL; ++dtype) {
        std::string wrong;
        try {
            for (const auto &[op, op_name] : kOps) {
                const bool exact = op != MDIST_MEAN || std::has_single_bit(strategy.replicas());
                if (exact && takes(op, dtype)) check_type(strategy, dtype, op, op_name);
            }
        } catch (const std::exception &failure) {
            wrong = failure.what();
        }
        checks.check(wrong.empty(), text(name, " all_reduce ", dtype_name(dtype)), wrong);
    }
}

void check_exchanges(Checks &checks, const Strategy &strategy, const std::string &name) {
    std::string wrong;
    try {
        check_exchange(strategy);
    } catch (const std::exception &failure) {
        wrong = failure.what();
    }
    checks.check(wrong.empty(), name + " exchanges", wrong);
}

} // namespace mdist::gpu_test
