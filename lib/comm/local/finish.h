// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/local/group.h"

namespace mdist {

/// Calls finish() when it goes out of scope. Code between meet() and finish() may then return early, or throw if it
/// throws the same on all parties.
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
