// SPDX-License-Identifier: Apache-2.0
// Doorbells: how a worker that sleeps in poll(), where no futex reaches it, is woken by its mates. A pipe that they
// open by its number in the owner's process, as they do the segment; what stands in it means nothing. The one thing
// that a worker writes into another, and it does no harm. Any thread.
#pragma once

#include "comm/shm/segment.h"

namespace mdist {

class OwnDoorbell {
  public:
    /// Throws RESOURCE.
    OwnDoorbell();
    ~OwnDoorbell();
    OwnDoorbell(const OwnDoorbell &) = delete;
    OwnDoorbell &operator=(const OwnDoorbell &) = delete;

    /// Readable when it has been rung.
    int descriptor() const { return read_; }
    /// What mates open.
    int number() const { return write_; }
    void ring() const noexcept;
    void silence() const noexcept;

  private:
    int read_ = -1;
    int write_ = -1;
};

class MateDoorbell {
  public:
    /// `number` in the process that owns the segment. Throws UNSUPPORTED, with the reason, where it cannot be had.
    MateDoorbell(const MateSegment &segment, int number);
    ~MateDoorbell();
    MateDoorbell(const MateDoorbell &) = delete;
    MateDoorbell &operator=(const MateDoorbell &) = delete;

    void ring() const noexcept;

  private:
    int file_ = -1;
};

} // namespace mdist
