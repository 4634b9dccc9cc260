// SPDX-License-Identifier: Apache-2.0
// Parts: how all_gather's output and reduce_scatter's input are made up of the pieces of all replicas of the job, one
// behind another in replica order.
#pragma once

#include "comm/workers.h"

#include <cstdint>
#include <vector>

namespace mdist::joint {

class Parts {
  public:
    /// The lengths of the local replicas' pieces and of their wholes, as other workers are told.
    static std::vector<uint64_t> table_of(const Call *const *calls, uint32_t replicas);
    /// `tables`: everybody's, by worker.
    Parts(const Workers::Blobs &tables, uint32_t replicas_per_worker, std::size_t buffers);

    uint64_t offset(uint32_t replica, std::size_t buffer) const { return offsets_[replica * buffers_ + buffer]; }
    uint64_t length(uint32_t replica, std::size_t buffer) const {
        return offset(replica + 1, buffer) - offset(replica, buffer);
    }

    /// Throws MISMATCH, alike on all workers, where some replica's whole is not what the pieces add up to.
    void check(const Call &call) const;

  private:
    std::size_t buffers_;
    uint32_t replicas_;
    std::vector<uint64_t> offsets_;
    std::vector<uint64_t> wholes_;
};

} // namespace mdist::joint
