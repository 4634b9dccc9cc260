// SPDX-License-Identifier: Apache-2.0
// Room: memory that whoever takes a record offers to whoever reads it. The bytes then go straight from the file's
// buffer to where they are needed, such as into a row of a batch.
//
// One thread at a time uses a room: the one that takes the elements.
#pragma once

#include <cstdint>

namespace mdist {

class Room {
  public:
    /// Returns memory for a record of `bytes` bytes, or null: the reader then allocates a tensor. A reader may ask
    /// again before it is done, for example if a corrupt record was left out; the last answer counts.
    virtual char *of(uint64_t bytes) = 0;

  protected:
    ~Room() = default;
};

} // namespace mdist
