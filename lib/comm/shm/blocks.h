// SPDX-License-Identifier: Apache-2.0
// Blocks: which workers of a host share memory with each other: blocks of up to kMostMates. So no worker maps the
// memory of more, however many a host has. Workers of different blocks are to each other as on different hosts. Plain
// data, the same on all workers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mdist {

class ShmBlocks {
  public:
    static constexpr uint32_t kMostMates = 64;

    /// `hosts`: by rank, the host's identity, or "" if it is not known.
    explicit ShmBlocks(const std::vector<std::string> &hosts);

    /// In ascending order; the worker is one of them.
    const std::vector<uint32_t> &members(uint32_t rank) const { return blocks_[places_[rank].block]; }
    bool together(uint32_t a, uint32_t b) const { return places_[a].block == places_[b].block; }
    /// The worker's index in its block.
    uint32_t index(uint32_t rank) const { return places_[rank].index; }

    // opened[rank] has a '1' for each member of its block whose memory that worker has; also for itself.
    /// Whether two workers have opened each other's memory.
    bool share(const std::vector<std::string> &opened, uint32_t a, uint32_t b) const;
    /// How many consecutive workers share memory, if the whole job consists of rows of that length; otherwise 1.
    uint32_t length_of_rows(const std::vector<std::string> &opened) const;

  private:
    struct Place {
        uint32_t block = 0;
        uint32_t index = 0;
    };
    std::vector<Place> places_; // by rank
    std::vector<std::vector<uint32_t>> blocks_;
};

} // namespace mdist
