// SPDX-License-Identifier: Apache-2.0
// Packs: how a reduction of many buffers is cut into several operations, one per pack.
//
// By default all buffers of a call are one operation, whatever their types. A pack holds buffers of one type. The packs
// of the first buffer's type come first, then those of the next type. Packs do not change the bits of the results. No
// state; any thread.
#pragma once

#include "comm/executors.h"
#include "util/function_ref.h"

#include <mdist/tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mdist {

/// How to cut, from the configuration or from one call's options.
struct Packing {
    /// A pack that has grown beyond this takes no further buffer (TensorFlow: CommunicationOptions). 0: no limit.
    uint64_t bytes = 0;
    /// Cuts all elements of one type, end to end, into this many parts of equal length; the last part also takes the
    /// remainder (TensorFlow: NcclAllReduce). 0: one pack per buffer. Used only if `bytes` is 0.
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

/// The packs of these buffers, for a packing that is not one_operation(). Together they hold all elements. No pack is
/// empty, except that a call without elements has one empty pack.
std::vector<Pack> packs_of(const mdist_buffer_t *buffers, std::size_t count, const Packing &packing);

/// The buffers of a pack, as slices of `buffers`.
std::vector<mdist_buffer_t> cut(const mdist_buffer_t *buffers, const Pack &pack);

/// Runs the calls of one or more replicas, which are to reduce the same buffers, as the operations of one pack after
/// another. With a name of the function, also logs the packs, for users who want to see how a call was cut.
void for_packs(std::vector<Call> &calls, const Packing &packing, const char *function,
               FunctionRef<void(std::vector<Call> &)> run);

/// Performs a checked call (collectives.h), an all-reduce pack by pack.
void perform_packs(Executors &executors, uint32_t party, const Call &call, const Packing &packing, uint64_t timeout_ns);

} // namespace mdist
