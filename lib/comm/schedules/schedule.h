// SPDX-License-Identifier: Apache-2.0
// Schedule: the steps of a collective over a link, as a state machine that never waits.
//
// Create it (which posts the first operations), then call advance() until it is true; between two calls, wait on the
// link. One thread at a time. What it was given must outlive it. A schedule that is given up leaves operations posted:
// close the link before its memory goes.
#pragma once

namespace mdist {

class Schedule {
  public:
    virtual ~Schedule() = default;
    /// True when done; false when only the link can bring it further. Throws what the link throws, or what is found
    /// wrong.
    virtual bool advance() = 0;
};

} // namespace mdist
