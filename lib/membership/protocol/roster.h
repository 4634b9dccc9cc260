// SPDX-License-Identifier: Apache-2.0
// Roster: where the workers of a session listen, by rank. A worker of a large job knows its neighbors first, and later
// one table of all. The table is immutable, and all members of one process share it (tests/sim has thousands). One
// thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "membership/net/endpoint.h"

namespace mdist {

class Roster {
  public:
    Roster() = default;
    /// All of them.
    Roster(const std::vector<Endpoint> &by_rank);
    /// Some of `size` workers.
    Roster(uint32_t size, std::map<uint32_t, Endpoint> some) : size_(size), some_(std::move(some)) {}

    uint32_t size() const { return size_; }
    /// None if it is not known, or not yet.
    std::optional<Endpoint> find(uint32_t rank) const;
    bool knows(uint32_t rank) const { return rank < size_ && (table_ || some_.count(rank) != 0); }
    /// All endpoints, as the other workers can read them. Only if it knows all.
    const std::string &table() const { return table_->bytes; }
    /// From now on it knows all. Returns false, and changes nothing, if these bytes are no table of so many workers.
    bool learn(std::string table);

  private:
    struct Table {
        std::string bytes;
        std::vector<uint32_t> begins; // by rank
    };
    static std::shared_ptr<const Table> read(std::string bytes, uint32_t size);

    uint32_t size_ = 0;
    std::map<uint32_t, Endpoint> some_; // while there is no table
    std::shared_ptr<const Table> table_;
};

} // namespace mdist
