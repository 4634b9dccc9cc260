// SPDX-License-Identifier: Apache-2.0
// OperationHeader: what workers tell each other of an operation before they believe each other's bytes.
//
// Every worker sends one to every other at the start of every operation. Two that differ in anything but the number of
// payload bytes are a MISMATCH, told in words on both sides. As it stands in memory it goes over the wire: workers of
// one job have one byte order, which is checked when they join.
#pragma once

#include "comm/call.h"

#include <cstdint>
#include <string>

namespace mdist {

struct OperationHeader {
    uint64_t sequence = 0; // of the job's operations, from 1
    uint64_t print = 0;    // fingerprint() of the call
    uint8_t kind = 0;      // CallKind; what follows is for people
    uint8_t op = 0;
    uint16_t subject_print = 0; // of the call's whole subject
    int16_t dtype = 0;          // of buffer 0
    uint16_t on_gpus = 0;       // whether buffers lie there
    uint32_t root = 0;
    uint32_t buffer_count = 0;
    uint64_t elements = 0;      // of buffer 0
    char subject[16] = {};      // the beginning of the call's subject_text
    uint64_t payload_bytes = 0; // what comes behind it

    static OperationHeader of(const Call &call, uint64_t sequence, uint64_t payload_bytes);
    /// "mdist_all_reduce(SUM, 2 buffers: float32 x 100, ...)"
    std::string text() const;
};
static_assert(sizeof(OperationHeader) == 64);

/// Throws MISMATCH, naming both workers, unless `theirs` is the same operation as `mine`.
void check_same(const OperationHeader &mine, uint32_t self, const OperationHeader &theirs, uint32_t worker);

} // namespace mdist
