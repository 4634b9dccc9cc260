// SPDX-License-Identifier: Apache-2.0
// Whole: a joint operation on wholes made of everybody's pieces, once all know all their lengths and found them right.
#pragma once

#include "comm/joint/blobs.h"
#include "comm/joint/parts.h"

namespace mdist::joint {

class Whole {
  public:
    Whole(Workers &workers, const Call *const *calls, uint64_t timeout_ns);

    JointOperation &operation() { return operation_.operation(); }
    const Parts &parts() const { return parts_; }

  private:
    const std::vector<uint64_t> table_;
    BlobOperation operation_;
    const Parts parts_;
};

} // namespace mdist::joint
