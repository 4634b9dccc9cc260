// SPDX-License-Identifier: Apache-2.0
// Packs: how a reduction of many buffers is cut into operations, one for each pack.
//
// Unless somebody asks for packs, all buffers of a call are one operation, whatever their types. Packs are of one type:
// first those of the type of the first buffer, and so on. The results' bits do not depend on packs. No state; any
// thread.
#pragma once

#include "comm/group.h"

#include <mdist/tensor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mdist {

/// What was configured, or asked of one call.
struct Packing {
    /// A pack that has become larger takes no further buffer (TensorFlow: CommunicationOptions); 0: no limit.
    uint64_t bytes = 0;
    /// All elements of one type, end to end, in so many parts of equal length, but that the last takes the rest
    /// (TensorFlow: NcclAllReduce); 0: each buffer by itself. Where `bytes` is 0.
    uint32_t count = 1;

    bool one_operation() const { return bytes == 0 && count == 1; }
};

/// Elements begin to begin + elements - 1 of a buffer.
struct Slice {
    std::size_t buffer;
    uint64_t begin;
    uint64_t elements;
};

using Pack = std::vector<Slice>;

/// Together they are all elements; none is empty, unless there are no elements at all: then there is one pack. For a
/// packing that is not one_operation().
std::vector<Pack> packs_of(const mdist_buffer_t *buffers, std::size_t count, const Packing &packing);

/// The buffers of a pack, in these.
std::vector<mdist_buffer_t> cut(const mdist_buffer_t *buffers, const Pack &pack);

/// What the operation of a pack has to agree in beside its own buffers, so that nobody takes it for one of another
/// call: which of how many it is, and of what.
struct PackSubject {
    uint64_t hash;
    std::string text; // "pack 1 of 2 of 5 buffers, "
};
PackSubject subject_of(const mdist_buffer_t *buffers, std::size_t count, std::size_t index, std::size_t packs);

/// A line in the log, for who wants to see what became of a call.
void log_pack(const char *function, std::size_t index, std::size_t count, const std::vector<mdist_buffer_t> &buffers);

/// all_reduce (collectives.h) of a checked call, pack by pack.
void all_reduce_packs(Group &group, uint32_t party, const Call &call, const Packing &packing, uint64_t timeout_ns);

} // namespace mdist
