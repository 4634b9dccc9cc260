// SPDX-License-Identifier: Apache-2.0
// BlobOperation: a joint operation that begins with everybody's bytes, as many as each likes.
//
// A length that another worker tells is believed only if its payload agrees with it and this host could hold all.
#pragma once

#include "comm/joint/operation.h"

namespace mdist::joint {

class BlobOperation {
  public:
    BlobOperation(Workers &workers, const Call &call, const void *data, std::size_t bytes, uint64_t timeout_ns);

    /// For what comes after.
    JointOperation &operation() { return operation_; }
    /// By worker, this one's too.
    Workers::Blobs &blobs() { return blobs_; }

  private:
    uint64_t length_of(uint32_t worker) const;
    std::vector<uint64_t> checked_lengths();

    const std::vector<char> payload_; // the length, and the bytes themselves if they fit
    JointOperation operation_;
    Workers::Blobs blobs_;
};

} // namespace mdist::joint
