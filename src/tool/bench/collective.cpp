// SPDX-License-Identifier: Apache-2.0
#include "bench/collective.h"

#include "bench/element.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mdist {
namespace {

/// Numbers for collectives that copy: whole numbers that every dtype holds. Neighbouring places and replicas get
/// different ones.
uint64_t copied(uint32_t id, uint64_t index) {
    return (index * 31 + id * 17) % 101;
}

/// Numbers for reductions, small enough that sums and products of many stay exact.
uint64_t reduced(const Case &what, uint32_t id, uint64_t index) {
    const uint64_t digit = (index % 5 + id) % 3;
    if (what.dtype == MDIST_BOOL) return digit % 2;
    if (what.op != MDIST_PROD) return digit;
    return id < 4 ? 1 + digit % 2 : 1;
}

double reduction(const Case &what, uint64_t index) {
    auto result = static_cast<double>(reduced(what, 0, index));
    for (uint32_t id = 1; id < what.replicas; ++id) {
        const auto next = static_cast<double>(reduced(what, id, index));
        switch (what.op) {
            case MDIST_MIN:
                result = std::min(result, next);
                break;
            case MDIST_MAX:
                result = std::max(result, next);
                break;
            case MDIST_PROD:
                result *= next;
                break;
            case MDIST_AND:
                result = static_cast<double>(static_cast<uint64_t>(result) & static_cast<uint64_t>(next));
                break;
            case MDIST_OR:
                result = static_cast<double>(static_cast<uint64_t>(result) | static_cast<uint64_t>(next));
                break;
            case MDIST_XOR:
                result = static_cast<double>(static_cast<uint64_t>(result) ^ static_cast<uint64_t>(next));
                break;
            default:
                result += next;
        }
    }
    return what.op == MDIST_MEAN ? result / what.replicas : wrapped(what.dtype, result);
}

double copy(uint32_t id, uint64_t index) {
    return static_cast<double>(copied(id, index));
}

mdist_buffer_t input_of(const Operands &operands) {
    const Case &what = operands.what;
    const uint64_t part_bytes = what.part() * mdist_dtype_size(what.dtype);
    if (what.collective->part_in) return {operands.data + operands.id * part_bytes, what.part(), what.dtype, 0};
    return {operands.data, what.elements, what.dtype, 0};
}

mdist_buffer_t output_of(const Operands &operands) {
    const Case &what = operands.what;
    const uint64_t part_bytes = what.part() * mdist_dtype_size(what.dtype);
    if (what.collective->part_out) return {operands.data + operands.id * part_bytes, what.part(), what.dtype, 0};
    return {what.collective->apart ? operands.apart : operands.data, what.elements, what.dtype, 0};
}

Collective all_reduce() {
    return {.name = "all_reduce",
            .reduces = true,
            .call =
                [](const Operands &operands, const mdist_buffer_t &input, const mdist_buffer_t &output,
                   mdist_error_t **error) {
                    return mdist_all_reduce(operands.replica, operands.what.op, &input, &output, 1, nullptr, error);
                },
            .wanted = [](const Case &what, uint32_t, uint64_t index) { return reduction(what, index); },
            .bus_factor = [](double replicas) { return 2 * (replicas - 1) / replicas; }};
}

Collective broadcast() {
    return {
        .name = "broadcast",
        .has_root = true,
        .call =
            [](const Operands &operands, const mdist_buffer_t &input, const mdist_buffer_t &, mdist_error_t **error) {
                return mdist_broadcast(operands.replica, operands.what.root, &input, 1, nullptr, error);
            },
        .wanted = [](const Case &what, uint32_t, uint64_t index) { return copy(what.root, index); },
        .bus_factor = [](double) { return 1.0; }};
}

Collective all_gather() {
    return {
        .name = "all_gather",
        .part_in = true,
        .call =
            [](const Operands &operands, const mdist_buffer_t &input, const mdist_buffer_t &output,
               mdist_error_t **error) {
                return mdist_all_gather(operands.replica, &input, &output, 1, nullptr, error);
            },
        .wanted = [](const Case &what, uint32_t,
                     uint64_t index) { return copy(static_cast<uint32_t>(index / what.part()), index % what.part()); },
        .bus_factor = [](double replicas) { return (replicas - 1) / replicas; }};
}

Collective reduce_scatter() {
    return {.name = "reduce_scatter",
            .reduces = true,
            .part_out = true,
            .call =
                [](const Operands &operands, const mdist_buffer_t &input, const mdist_buffer_t &output,
                   mdist_error_t **error) {
                    return mdist_reduce_scatter(operands.replica, operands.what.op, &input, &output, 1, nullptr, error);
                },
            .wanted = [](const Case &what, uint32_t id,
                         uint64_t index) { return reduction(what, id * what.part() + index); },
            .bus_factor = [](double replicas) { return (replicas - 1) / replicas; }};
}

Collective all_to_all() {
    return {.name = "all_to_all",
            .apart = true,
            .call =
                [](const Operands &operands, const mdist_buffer_t &input, const mdist_buffer_t &output,
                   mdist_error_t **error) {
                    return mdist_all_to_all(operands.replica, &input, &output, 1, nullptr, error);
                },
            .wanted =
                [](const Case &what, uint32_t id, uint64_t index) {
                    return copy(static_cast<uint32_t>(index / what.part()), id * what.part() + index % what.part());
                },
            .bus_factor = [](double replicas) { return (replicas - 1) / replicas; }};
}

Collective barrier() {
    return {.name = "barrier",
            .call = [](const Operands &operands, const mdist_buffer_t &, const mdist_buffer_t &,
                       mdist_error_t **error) { return mdist_barrier(operands.replica, nullptr, error); }};
}

} // namespace

uint64_t Case::count() const {
    return collective->part_in || collective->part_out || collective->apart ? part() : elements;
}

const std::vector<Collective> &collectives() {
    static const std::vector<Collective> all = {all_reduce(),     broadcast(),  all_gather(),
                                                reduce_scatter(), all_to_all(), barrier()};
    return all;
}

void fill(const Operands &operands) {
    const Case &what = operands.what;
    std::memset(operands.data, 0, what.bytes());
    if (what.collective->apart) std::memset(operands.apart, 0, what.bytes());
    const mdist_buffer_t input = input_of(operands);
    for (uint64_t i = 0; i < input.elements; ++i) {
        store_element(what.dtype, input.data, i,
                      what.collective->reduces ? reduced(what, operands.id, i) : copied(operands.id, i));
    }
}

uint64_t count_wrong(const Operands &operands) {
    const Case &what = operands.what;
    if (!what.collective->has_data()) return 0;
    const mdist_buffer_t output = output_of(operands);
    const bool divided = what.collective->reduces && what.op == MDIST_MEAN;
    const double tolerance = divided ? half_digit(what.dtype) : 0;
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < output.elements; ++i) {
        const double wanted = what.collective->wanted(what, operands.id, i);
        const double found = load_element(what.dtype, output.data, i);
        if (!(std::fabs(found - wanted) <= tolerance * std::fabs(wanted))) ++wrong;
    }
    return wrong;
}

mdist_status_t call(const Operands &operands, mdist_error_t **error) {
    return operands.what.collective->call(operands, input_of(operands), output_of(operands), error);
}

} // namespace mdist
