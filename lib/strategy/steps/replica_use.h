// SPDX-License-Identifier: Apache-2.0
// ReplicaUse: the right to call functions of replica context, checked for each call.
#pragma once

#include "strategy/steps/replica.h"

namespace mdist {

/// Holds that right as long as it lives. The thread that runs the replica's step has it. If the replica was entered,
/// any thread may have it, one at a time. Throws WRONG_CONTEXT on other threads, and FAILED_PRECONDITION while another
/// thread uses the replica.
class ReplicaUse {
  public:
    /// `merging`: the function is also allowed between mdist_merge_begin and mdist_merge_end.
    ReplicaUse(Replica &replica, const char *function, bool merging = false);
    ~ReplicaUse() { end(); }
    ReplicaUse(const ReplicaUse &) = delete;
    ReplicaUse &operator=(const ReplicaUse &) = delete;

    void end() noexcept;

  private:
    Replica *taken_ = nullptr; // the entered replica that this thread uses
};

} // namespace mdist
