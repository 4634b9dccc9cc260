// SPDX-License-Identifier: Apache-2.0
// Across: a collective of several workers, or of GPUs, as one party of this worker takes part in it.
//
// All local parties meet; then one of them leads: it talks to the other workers, for all, while the others wait for it.
// On GPUs of one worker it gives the GPUs what they have to do, which takes no longer than a meeting.
// All leave with the same outcome. See perform.h for what a part is; total() is 1, the leading.
#pragma once

#include "comm/group.h"

#include <functional>

namespace mdist {

class Across {
  public:
    explicit Across(Group &group, uint64_t timeout_ns) : group_(group), timeout_ns_(timeout_ns) {}

    uint64_t total() const { return 1; }
    /// Leads, unless another party does.
    uint64_t run();
    /// The same without waiting: a thread of the library leads, counts the work as done, and calls `then`. With one
    /// worker the caller leads.
    uint64_t start(std::function<void()> then);
    /// When all is done: throws what went wrong.
    void check() const { group_.check_led(); }

  private:
    Group &group_;
    const uint64_t timeout_ns_;
};

/// A collective in one call.
void perform_across(Group &group, uint32_t party, const Call &call, uint64_t timeout_ns);

} // namespace mdist
