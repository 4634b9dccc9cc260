// SPDX-License-Identifier: Apache-2.0
// BlobOperation: an operation among workers that begins by exchanging a blob of bytes from each worker. Each blob may
// have its own length.
//
// A worker believes another worker's length only if that worker's payload agrees with it, and if this host could hold
// all blobs.
#pragma once

#include "comm/workers/operation.h"

namespace mdist::workers {

class BlobOperation {
  public:
    BlobOperation(WorkerGroup &workers, const Call &call, const void *data, std::size_t bytes, uint64_t timeout_ns);

    /// The operation, for the schedules that follow.
    WorkerOperation &operation() { return operation_; }
    /// Every worker's blob, by worker, including this one's.
    Blobs &blobs() { return blobs_; }

  private:
    uint64_t length_of(uint32_t worker) const;
    std::vector<uint64_t> checked_lengths();

    const std::vector<char> payload_; // the length, and also the bytes if they fit
    WorkerOperation operation_;
    Blobs blobs_;
};

/// These implement gather(), exchange() and broadcast() of Workers.
Blobs gather_blobs(WorkerGroup &workers, const Call &call, const void *data, std::size_t bytes, uint64_t timeout_ns);
Blobs exchange_blobs(WorkerGroup &workers, const Call &call, const std::vector<std::string> &blobs,
                     uint64_t timeout_ns);
void broadcast_blob(WorkerGroup &workers, const Call &call, void *data, std::size_t bytes, uint64_t timeout_ns);

} // namespace mdist::workers
