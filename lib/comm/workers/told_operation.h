// SPDX-License-Identifier: Apache-2.0
// ToldOperation: an operation among workers that begins by exchanging the lengths of every replica's pieces. It is
// constructed once all workers have found the lengths right.
#pragma once

#include "comm/plan/lengths.h"
#include "comm/workers/blobs.h"
#include "comm/workers/collective.h"

#include <utility>
#include <vector>

namespace mdist::workers {

/// Throws MISMATCH if the lengths do not fit together, or INVALID_ARGUMENT if a local buffer works in place elsewhere.
void check_told(const Lengths &lengths, const Collective &asked);

/// The lengths that the workers have told, from each worker's table.
ToldLengths told_lengths(const Collective &asked, const Blobs &tables);
/// Whether all workers' tables together are small enough to travel with data. The same on all workers.
bool has_small_tables(const Collective &asked);

class ToldOperation {
  public:
    explicit ToldOperation(const Collective &asked);

    /// The operation, for the schedules that follow.
    WorkerOperation &operation() { return blobs_.operation(); }
    const Lengths &lengths() const { return lengths_; }
    ToldLengths take_lengths() { return std::move(lengths_); }

  private:
    const std::vector<uint64_t> table_;
    BlobOperation blobs_;
    ToldLengths lengths_;
};

} // namespace mdist::workers
