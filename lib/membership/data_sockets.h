// SPDX-License-Identifier: Apache-2.0
// DataSockets: makes the connections that carry data between workers, and gives their descriptors away. Both sides
// count the connections of a pair, so that the n-th here is the n-th there.
//
// For each connection the lower rank makes a random token and offers it to the higher rank over their control
// connection. The higher rank then connects and shows the token. A connection that does not show the token of an
// awaited connection is closed. So only the peer gets in, with or without a secret. The token is valid until the
// connection is taken. Pure state; one thread at a time.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "membership/dialer.h"
#include "membership/lobby.h"
#include "membership/peers.h"

namespace mdist {

class DataSockets {
  public:
    DataSockets(World &world, const MembershipOptions &options, Peers &peers);
    ~DataSockets();
    DataSockets(const DataSockets &) = delete;
    DataSockets &operator=(const DataSockets &) = delete;

    bool has(ConnectionId connection) const { return dialer_of(connection) != nullptr; }
    std::size_t wanted(ConnectionId connection) const;
    void connected(ConnectionId connection);
    void received(ConnectionId connection, std::string_view bytes);
    void closed(ConnectionId connection, int error);
    void arrived(Guest guest);
    /// Connects to the lower ranks whose awaited offers have come.
    void look_for_offers();
    void tick();
    uint64_t next_tick_ns() const;

    /// The connections asked for, as (rank, number).
    using Wanted = std::vector<std::pair<uint32_t, uint32_t>>;
    Wanted begin(const std::vector<uint32_t> &ranks);
    /// Returns the descriptors in the order asked for, once all are connected.
    std::optional<std::vector<int>> take(const Wanted &wanted);
    /// Returns the rank of the first of `wanted` that is not connected yet, and why.
    std::pair<uint32_t, std::string> awaited(const Wanted &wanted) const;
    void cancel(const Wanted &wanted);

  private:
    using Place = std::pair<uint32_t, uint32_t>; // rank, number
    const Dialer *dialer_of(ConnectionId connection) const;
    void dial(const Place &place, const Digest &token);

    World &world_;
    const MembershipOptions &options_;
    Peers &peers_;
    std::vector<uint32_t> asked_;    // by rank: connections asked for
    std::map<Place, Digest> tokens_; // offered to higher ranks
    std::set<Place> awaits_offer_;   // from lower ranks
    std::map<Place, Dialer> dialers_;
    std::map<Place, int> ready_;
};

} // namespace mdist
