// SPDX-License-Identifier: Apache-2.0
// KeptCommit: one commit in the memory of a worker. `shared` is the same on all workers: mirrored variables and the
// positions of iterators. A part is what one replica has for itself: its copies of sync-on-read variables, and its
// blobs. A worker has the parts of its own replicas and of those that it is a holder for. Plain data.
#pragma once

#include "membership/protocol/generation.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mdist {

struct KeptCommit {
    CommitId id;
    bool marked = false;
    uint64_t step = 0; // of the program
    std::string shared;
    std::vector<uint64_t> taken; // by iterator: the elements before its position; not sent
    bool has_parts = false; // else nothing belongs to one replica
    std::map<uint32_t, std::string> parts;

    /// What the store is told of it, in a job of so many replicas.
    HeldCommit held(uint32_t replicas) const;
};

/// Parts on their way between workers, with a checksum. Also `shared`, if it is not empty.
class Shipment {
  public:
    Shipment() = default;
    void add_shared(const std::string &shared);
    void add(uint32_t replica, const std::string &part);
    std::string take();

    /// Unpacks what take() returned. Throws DATA_LOSS (`corrupt`).
    static void unpack(std::string_view bytes, uint32_t from, KeptCommit &into);

  private:
    std::string bytes_;
};

} // namespace mdist
