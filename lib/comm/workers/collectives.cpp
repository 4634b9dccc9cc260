// SPDX-License-Identifier: Apache-2.0
// The collectives of Workers. They stand above the operations, which know Workers.
#include "comm/workers/blobs.h"
#include "comm/workers/operation.h"
#include "comm/workers/parts.h"
#include "comm/workers/ways.h"

namespace mdist {

/// Ends the job if memory runs out. A worker cannot go on in the middle of a collective, and the others would wait for
/// it.
template <class Body>
auto Workers::guarded(Body body) {
    try {
        return body();
    } catch (const Failure &) {
        throw;
    } catch (const std::exception &) {
        fail(out_of_memory());
        link().close();
        throw;
    }
}

void Workers::perform(const Call *const *calls, uint64_t timeout_ns) {
    guarded([&] { workers::perform({*this, calls, timeout_ns}); });
}

void Workers::meet(const Call &call, uint64_t timeout_ns) {
    guarded([&] { WorkerOperation(*this, call, timeout_ns).agree(); });
}

ToldLengths Workers::tell_lengths(const Call *const *calls, uint64_t timeout_ns) {
    return guarded([&] { return workers::tell_lengths({*this, calls, timeout_ns}); });
}

Blobs Workers::gather(const Call &call, const void *data, std::size_t bytes, uint64_t timeout_ns) {
    return guarded([&] { return workers::gather_blobs(*this, call, data, bytes, timeout_ns); });
}

Blobs Workers::exchange(const Call &call, const std::vector<std::string> &blobs, uint64_t timeout_ns) {
    return guarded([&] { return workers::exchange_blobs(*this, call, blobs, timeout_ns); });
}

void Workers::broadcast(const Call &call, void *data, std::size_t bytes, uint64_t timeout_ns) {
    guarded([&] { workers::broadcast_blob(*this, call, data, bytes, timeout_ns); });
}

} // namespace mdist
