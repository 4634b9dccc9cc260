// SPDX-License-Identifier: Apache-2.0
// Doorbells: how mates wake a worker that sleeps in poll(), which a futex cannot do. A doorbell is a pipe. Mates open
// it by its number in the owner's process, as they do the segment. Its content means nothing. It is the only thing that
// a worker writes into another worker, and it can do no harm. Any thread.
#pragma once

#include "comm/shm/segment.h"
#include "util/open_file.h"

namespace mdist {

class OwnDoorbell {
  public:
    /// Throws RESOURCE.
    OwnDoorbell();

    /// Readable once it has been rung.
    int descriptor() const { return read_.get(); }
    /// The number by which mates open it.
    int number() const { return write_.get(); }
    void ring() const noexcept;
    void silence() const noexcept;

  private:
    OpenFile read_, write_;
};

class MateDoorbell {
  public:
    /// `number` is OwnDoorbell::number() in the process that owns the segment. Throws UNSUPPORTED, with the reason, if
    /// it cannot be opened.
    MateDoorbell(const MateSegment &segment, int number);
    void ring() const noexcept;

  private:
    OpenFile file_;
};

} // namespace mdist
