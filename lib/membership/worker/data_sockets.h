// SPDX-License-Identifier: Apache-2.0
// DataSockets: makes the connections that carry data between workers, and gives their descriptors away. A connection is
// made when one of the two workers first asks for it. It belongs to a link: a number that is the same on all workers.
//
// Either side may connect, since only one of them may need the connection now. Mostly both ask together. So the lower
// rank gives the higher one some time to connect first. If both connect, the connection of the higher rank counts,
// unless that has not got as far as to prove itself.
//
// Who connects shows the key that worker 0 has told all workers over their control connections. So only the workers get
// in, also if somebody else has heard what one of them and the store have said. Pure state; one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "membership/protocol/dialer.h"
#include "membership/protocol/lobby.h"
#include "membership/worker/peers.h"

namespace mdist {

class DataSockets {
  public:
    /// A link, and the rank of the other worker.
    using Place = std::pair<uint32_t, uint32_t>;
    static constexpr int kNotYet = -1;
    static constexpr int kGone = -2; // that worker has left, and there will be no connection

    DataSockets(World &world, const MembershipOptions &options, Peers &peers);
    ~DataSockets();
    DataSockets(const DataSockets &) = delete;
    DataSockets &operator=(const DataSockets &) = delete;

    bool has(ConnectionId connection) const;
    std::size_t wanted(ConnectionId connection) const;
    void connected(ConnectionId connection);
    void received(ConnectionId connection, std::string_view bytes);
    void closed(ConnectionId connection, int error);
    /// A worker of the session, or somebody who knows the session, has connected.
    void arrived(Guest guest);
    void tick();
    uint64_t next_tick_ns() const;

    /// Asks for a connection. If there is none within options.join_timeout_ns, the job fails.
    void ask(const Place &place);
    /// Gives the descriptor away, once. The connection need not have been asked for.
    int take(const Place &place);
    /// Forgets what was asked for, and closes what nobody has taken.
    void forget(uint32_t link);
    /// Closes what nobody has taken, and makes no more connections.
    void give_up();
    /// The links for which take() may have news, since the last call.
    std::set<uint32_t> take_news() { return std::exchange(news_, {}); }

  private:
    struct Asked {
        uint64_t since_ns;
        uint64_t dials_ns; // when to connect, unless the other side has
        bool gone = false;
    };
    bool is_early(ConnectionId connection) const;
    bool can_dial(uint32_t rank) const { return peers_.key() && peers_.roster().knows(rank); }
    void dial(const Place &place);
    void let_in(Guest guest);
    void keep(const Place &place, ConnectionId connection);
    void drop_dialer(const Place &place);
    bool has_no_chance(const Place &place) const;
    void look_after(const Place &place, Asked &asked, uint64_t now);

    World &world_;
    const MembershipOptions &options_;
    Peers &peers_;
    std::map<Place, Asked> asked_; // and not connected
    std::map<Place, Dialer> dialers_;
    std::vector<Guest> early_; // that came before the key
    std::set<Place> made_;     // by this worker. An attempt of the other side may still arrive, that it has given up
    std::map<Place, int> ready_;
    std::set<uint32_t> news_;
};

} // namespace mdist
