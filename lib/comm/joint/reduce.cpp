// SPDX-License-Identifier: Apache-2.0
#include "comm/flat.h"
#include "comm/joint/collectives.h"
#include "comm/joint/operation.h"
#include "comm/schedules/all_reduce.h"
#include "comm/schedules/rails.h"
#include "reduce/float_environment.h"
#include "util/dtype.h"
#include "util/text.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace mdist::joint {
namespace {

/// The calls' buffers, one row per dtype.
std::vector<Flat> rows_of(const Workers &workers, const Call *const *calls) {
    std::vector<Flat> rows;
    for (const int32_t dtype : dtypes_of(*calls[0]))
        rows.emplace_back(calls, workers.replicas_per_worker(), dtype, workers.cut(), workers.self());
    return rows;
}

/// Bytes of all rows' partials that one worker sends.
std::size_t bytes_of(const std::vector<Flat> &rows, const reduce::Cut &cut, uint32_t worker) {
    std::size_t bytes = 0;
    for (const Flat &row : rows) bytes += cut.count(worker) * row.elements() * row.partial_size();
    return bytes;
}

/// Whether all partials go with the headers, one trip for all: if they fit, and while that is quicker than the longer
/// way of fewer bytes. By figures that are the same on every worker, since all must decide alike.
bool is_small(const std::vector<Flat> &rows, const Workers &workers) {
    // What a host may send: some 0.8 ms on a 1 Gbit/s wire, where the two ways take equally long (docs/performance.md).
    constexpr std::size_t kHostBytes = 98304;
    std::size_t most = 0;
    for (uint32_t worker = 0; worker < workers.count(); ++worker)
        most = std::max(most, bytes_of(rows, workers.cut(), worker));
    const std::size_t crossing = std::size_t{workers.per_host()} * (workers.count() - workers.per_host());
    return most <= SmallExchange::kPayloadLimit && most * crossing <= kHostBytes;
}

void write_partials(const std::vector<Flat> &rows, char *to) {
    for (const Flat &row : rows) {
        for (uint32_t i = 0; i < row.partial_count(); ++i) {
            row.partial(i, 0, row.elements(), to);
            to += row.elements() * row.partial_size();
        }
    }
}

/// Evaluates the whole tree from everybody's payloads, in which row after row lies.
void combine(const std::vector<Flat> &rows, const reduce::Cut &cut, std::vector<const char *> payloads) {
    std::vector<char> results;
    std::vector<const void *> partials;
    for (const Flat &row : rows) {
        partials.clear();
        for (uint32_t worker = 0; worker < payloads.size(); ++worker) {
            for (uint32_t i = 0; i < cut.count(worker); ++i) {
                partials.push_back(payloads[worker]);
                payloads[worker] += row.elements() * row.partial_size();
            }
        }
        results.resize(row.elements() * dtype_size(row.dtype()));
        void *destination = results.data();
        reduce::combine_partials(row.operation(), cut, partials.data(), &destination, 1, row.elements());
        row.store(0, row.elements(), results.data());
    }
}

} // namespace

void all_reduce(Workers &workers, const Call *const *calls, uint64_t timeout_ns) {
    if (workers.all_share()) return JointOperation::all_reduce_shared(workers, calls, timeout_ns);
    const reduce::FloatEnvironment environment;
    const std::vector<Flat> rows = rows_of(workers, calls);
    const bool small = is_small(rows, workers);
    std::vector<char> payload(small ? bytes_of(rows, workers.cut(), workers.self()) : 0);
    if (small) write_partials(rows, payload.data());

    JointOperation operation(workers, *calls[0], payload.data(), payload.size(), timeout_ns);
    if (small) {
        std::vector<const char *> payloads;
        for (uint32_t worker = 0; worker < workers.count(); ++worker) {
            if (operation.payload_bytes(worker) != bytes_of(rows, workers.cut(), worker))
                operation.fail(Failure(MDIST_ERR_INTERNAL,
                                       text(workers.name(worker), " sent ", operation.payload_bytes(worker),
                                            " bytes, and ", bytes_of(rows, workers.cut(), worker), " were due")));
            payloads.push_back(operation.payload(worker));
        }
        return combine(rows, workers.cut(), std::move(payloads));
    }
    for (const Flat &row : rows) {
        if (row.elements() == 0) continue;
        if (workers.per_host() > 1) {
            operation.run<Rails>(operation.tag(), row, workers.per_host(), operation.scratch());
        } else {
            operation.run<AllReduce>(operation.tag(), row, operation.scratch());
        }
    }
}

} // namespace mdist::joint
