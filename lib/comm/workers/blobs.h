// SPDX-License-Identifier: Apache-2.0
// Blobs: bytes that each worker gives to all others, of any length, in the agreement of an operation or right behind
// it.
//
// A worker believes another worker's length only if that worker's payload agrees with it, and if this host could hold
// all blobs.
#pragma once

#include "comm/workers/operation.h"

#include <string_view>

namespace mdist::workers {

/// The longest blob that travels with the headers, if the workers agree directly or by relays.
std::size_t most_inline(const Workers &workers, bool directly);

/// Agrees, and returns every worker's blob, by worker. None may be longer than `longest` bytes. If `send` is given, the
/// workers agree directly, and it posts what follows the blob; only a worker whose blob is inline may send anything.
Blobs agree_with_blobs(WorkerOperation &operation, Workers &workers, std::string_view own,
                       uint64_t longest = UINT64_MAX, const FunctionRef<void()> *send = nullptr);

} // namespace mdist::workers
