// SPDX-License-Identifier: Apache-2.0
// DataSockets: connections between workers that are given away, to be links. For each the higher rank calls the lower,
// and both count the connections of a pair, so that the n-th here is the n-th there. A connection that comes before it
// is asked for waits. Pure state; one thread at a time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/membership/dialer.h"
#include "comm/membership/lobby.h"

namespace mdist {

class DataSockets {
  public:
    DataSockets(World &world, const MembershipOptions &options, const SessionId &session,
                const std::vector<Endpoint> &roster);
    ~DataSockets();
    DataSockets(const DataSockets &) = delete;
    DataSockets &operator=(const DataSockets &) = delete;

    bool has(ConnectionId connection) const { return dialer_of(connection) != nullptr; }
    std::size_t wanted(ConnectionId connection) const;
    void connected(ConnectionId connection);
    void received(ConnectionId connection, std::string_view bytes);
    void closed(ConnectionId connection, int error);
    void arrived(Guest guest);
    void tick();
    uint64_t next_tick_ns() const;

    /// Which connection with each of `ranks`: (rank, number).
    using Wanted = std::vector<std::pair<uint32_t, uint32_t>>;
    Wanted begin(const std::vector<uint32_t> &ranks);
    /// The descriptors in the order asked for, once all are there.
    std::optional<std::vector<int>> take(const Wanted &wanted);
    /// Of `wanted`, the first that is not there yet, and why.
    std::pair<uint32_t, std::string> awaited(const Wanted &wanted) const;
    void cancel(const Wanted &wanted);

  private:
    const Dialer *dialer_of(ConnectionId connection) const;
    void dial(uint32_t rank, uint32_t number);

    World &world_;
    const MembershipOptions &options_;
    SessionId session_;
    const std::vector<Endpoint> &roster_;
    std::vector<uint32_t> asked_; // by rank: connections asked for
    std::map<std::pair<uint32_t, uint32_t>, Dialer> dialers_;
    std::map<std::pair<uint32_t, uint32_t>, int> ready_;
};

} // namespace mdist
