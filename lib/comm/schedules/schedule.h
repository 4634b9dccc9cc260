// SPDX-License-Identifier: Apache-2.0
// Schedule: the steps of a collective over a link, as a state machine that never waits.
//
// The constructor posts the first operations. Then call advance() until it returns true, and wait on the link between
// two calls. Use it from one thread at a time. Its arguments must outlive it. A schedule that is given up leaves
// operations posted: close the link before freeing its memory.
#pragma once

namespace mdist {

class Schedule {
  public:
    virtual ~Schedule() = default;
    /// Returns true when done, false when only the link can bring it further. Throws what the link throws, or a failure
    /// that it finds itself.
    virtual bool advance() = 0;
};

/// When a schedule may receive what its peers send: at once, or only when they have told, by headers in front of it,
/// that they are in the same operation. What it sends goes out at once in both cases.
enum class Start { kNow, kBehindHeaders };

} // namespace mdist
