// SPDX-License-Identifier: Apache-2.0
// Collectives among the parties of one group, straight from each other's memory.
//
// Each function is called by every party with its own Call (already checked by check_call) and returns, or throws,
// alike on all. Cost per party of n with b bytes, in memory traffic:
//   all_reduce      b up to some KiB: copy b, meet, read n*b, write b. Beyond: meet, read b, write b, finish
//                   (each party reduces 1/n of all inputs into 1/n of all outputs)
//   reduce_scatter  meet, read b, write b/n, finish
//   others          meet, read what the party receives, write it, finish
// Each comes in two forms: one call, and Operation (operation.h) for those that do not wait.
#pragma once

#include "comm/group.h"

namespace mdist {

/// all_reduce, reduce_to_root.
void all_reduce(Group &group, uint32_t party, const Call &call, uint64_t timeout_ns);
/// broadcast, all_gather, reduce_scatter, all_to_all, gather_to_root, scatter: the call says which.
void exchange(Group &group, uint32_t party, const Call &call, uint64_t timeout_ns);
void barrier(Group &group, uint32_t party, const Call &call, uint64_t timeout_ns);

/// all_reduce for parties that need not meet, since one thread has already seen all their calls: parties only share the
/// work. Everybody's call must have been compared, and posted by post(); whoever posted waits for the parties to
/// return.
void all_reduce_posted(Group &group, uint32_t party);

/// Calls finish() on the way out: what stands between meet() and finish() may return, or throw alike on all parties.
class Finish {
  public:
    explicit Finish(Group &group) : group_(group) {}
    ~Finish() { group_.finish(); }
    Finish(const Finish &) = delete;
    Finish &operator=(const Finish &) = delete;

  private:
    Group &group_;
};

} // namespace mdist
