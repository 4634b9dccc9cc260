// SPDX-License-Identifier: Apache-2.0
// OperationHeader: what workers tell each other about an operation before they trust each other's bytes.
//
// At the start of every operation, every worker sends one to every other worker, or to a few who pass on what they
// know. Two headers that differ in anything but the number of payload bytes are a MISMATCH, and both workers describe
// it in words. A header goes over the wire as it is in memory: the workers of a job have one byte order, which is
// checked when they join.
#pragma once

#include "comm/call/call.h"
#include "util/failure.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mdist {

struct OperationHeader {
    uint64_t sequence = 0;      // of the job's operations, from 1
    uint64_t print = 0;         // fingerprint() of the call; the rest, except payload_bytes, is for messages
    uint64_t function = 0;      // CallFunction::hash()
    uint64_t elements = 0;      // of buffer 0
    uint32_t payload_bytes = 0; // length of the payload that follows
    uint32_t root = 0;
    uint32_t buffer_count = 0;
    uint8_t op = 0;
    uint8_t dtype : 7 = 0;      // of buffer 0
    uint8_t on_gpus : 1 = 0;    // whether the buffers lie on GPUs
    uint16_t subject_print = 0; // of the call's whole subject
    char subject[16] = {};      // the beginning of the call's subject_text

    /// Makes the header of a call. A payload too long for the field is given as UINT32_MAX bytes, more than any worker
    /// accepts.
    static OperationHeader of(const Call &call, uint64_t sequence, uint64_t payload_bytes);
    /// Whether the worker has refused the call (refusal_of).
    bool refuses() const;
    /// "mdist_all_reduce"; "?" if this process has no such function.
    const char *name() const;
    /// "mdist_all_reduce(SUM, 2 buffers: float32 x 100, ...)"
    std::string text() const;
};
static_assert(sizeof(OperationHeader) == 64);

/// The reason of a MISMATCH with a worker that has refused its call. That worker tells all why.
inline constexpr const char *kRefusedCall = "refused_call";

/// The reason of every other MISMATCH.
inline constexpr const char *kDifferentCalls = "different_calls";

/// Throws MISMATCH, naming both workers, unless `theirs` is the same operation as `mine`; DATA_LOSS if it is no header.
void check_same(const OperationHeader &mine, uint32_t self, const OperationHeader &theirs, uint32_t worker);

/// The same, if more than half of the workers are in one operation: it says so, and names a worker that is not.
/// `headers[worker]` is nullptr if it is not known. Otherwise none.
std::optional<Failure> odd_one_out(const std::vector<const OperationHeader *> &headers,
                                   const std::function<uint32_t(uint32_t worker)> &rank);

} // namespace mdist
