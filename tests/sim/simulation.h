// SPDX-License-Identifier: Apache-2.0
// Simulation: hosts, connections and time for state machines that know the outside only as World, such as membership.
// It uses one thread. Everything that happens is an event at a virtual time, so a seed repeats a run.
//
// Connections behave like TCP:
// - Bytes arrive in order. Each piece has its own delay.
// - If a process is killed, its peers see the connections end. If a host loses power, they see nothing.
// - While two hosts are cut off, bytes wait. After the cut they wait until TCP's next attempt.
// - A connection that is watched ends if it has waited too long.
// - The connections of a stopped process are still accepted and filled. It sees everything when it resumes.
//
// A cut may affect one direction only. Datagrams are lost during a cut, and sometimes at other times.
#pragma once

#include "membership/net/world.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace mdist::test {

inline constexpr uint64_t kMillisecond = 1'000'000;

class Simulation;

/// A process on a host of its own. It runs the state machine that it is given, until it is killed.
class Process final : public World {
  public:
    Process(Simulation &simulation, uint32_t number, std::string host);

    void run(Machine *machine);
    /// Must be called after a call of the machine from outside: its next tick may have changed.
    void touched();
    bool alive() const { return alive_; }
    bool stopped() const { return stopped_; }
    uint32_t number() const { return number_; }
    const std::string &host() const { return host_; }
    /// Listens on the port, as a store does.
    void listen_at(uint16_t port) { port_ = port; }

    uint64_t now_ns() const override;
    void random(void *bytes, std::size_t count) override;
    ConnectionId connect(const Endpoint &to) override;
    Endpoint listen(ConnectionId like) override;
    void send_datagram(const Endpoint &to, std::string_view bytes) override;
    void send(ConnectionId connection, std::string_view bytes) override;
    void close(ConnectionId connection) override;
    void watch(ConnectionId connection, uint64_t silence_ns) override;
    int release(ConnectionId connection) override;

  private:
    friend class Simulation;
    Simulation &simulation_;
    uint32_t number_;
    std::string host_;
    Machine *machine_ = nullptr;
    uint16_t port_ = 0; // the port it listens on; 0: none
    bool alive_ = true;
    bool stopped_ = false;
    uint64_t busy_until_ns_ = 0;              // with what it sends and gets, as far as that has a cost
    uint64_t tick_at_ns_ = UINT64_MAX;        // the scheduled tick
    std::vector<std::function<void()>> held_; // events that happened while it is stopped
};

class Simulation {
  public:
    explicit Simulation(uint64_t seed, bool trace);
    ~Simulation();

    Process &add_process();
    /// Another process on the host of one that was killed.
    Process &add_process_in_place_of(const Process &dead);
    uint64_t now() const { return now_; }
    uint64_t random(uint64_t below) { return engine_() % below; }
    void at(uint64_t time, std::function<void()> event);
    void after(uint64_t delay, std::function<void()> event) { at(now_ + delay, std::move(event)); }
    /// Runs one event. Returns false if there is none before or at `limit`.
    bool step(uint64_t limit);
    /// Sets what to call after each event of a process.
    void when_told(std::function<void(Process &)> call) { when_told_ = std::move(call); }
    uint64_t events() const { return count_; }
    void trace(const std::string &what);

    /// What messages cost, in place of random delays: each end is busy for `message_ns` and `byte_ns` for each byte,
    /// one message after the other.
    struct Costs {
        uint64_t latency_ns = 0;
        uint64_t message_ns = 0;
        double byte_ns = 0;
    };
    void set_costs(const Costs &costs) { costs_ = costs; }

    // ---- Faults
    /// Ends the process. Its host closes the connections, so its peers notice.
    void kill(Process &process);
    /// Ends the host and the process. Peers get no message.
    void power_off(Process &process);
    void stop(Process &process);
    void go_on(Process &process);
    /// Loses everything that `from` sends to `to`, until mend().
    void cut_one_way(const Process &from, const Process &to) { cuts_.insert({from.number_, to.number_}); }
    void cut(const Process &a, const Process &b) {
        cut_one_way(a, b);
        cut_one_way(b, a);
    }
    void mend();
    /// Makes both ends of one of its connections fail.
    void reset_one(Process &process);

  private:
    friend class Process;
    struct End {
        Process *process = nullptr;
        ConnectionId id = 0;
        bool open = false;         // the process has not closed it
        uint64_t last_arrival = 0; // arrival time of the last event at this end; keeps the order
        uint64_t silence_ns = 0;   // time limit of a watched connection; 0: not watched
    };
    struct Link {
        End ends[2];
        std::vector<std::pair<int, std::function<void()>>> waiting; // events held back by a cut, by target end
        uint64_t waiting_since = 0;
    };
    using LinkPointer = std::shared_ptr<Link>;
    bool is_cut_one_way(const Process &from, const Process &to) const {
        return cuts_.count({from.number_, to.number_}) != 0;
    }
    bool is_cut(const Process &a, const Process &b) const { return is_cut_one_way(a, b) || is_cut_one_way(b, a); }
    bool is_cut(const Link &link) const;
    void send_again(const LinkPointer &link);
    uint64_t delay();
    void arrive(const LinkPointer &link, int to, std::function<void()> what, std::size_t bytes = 0);
    uint64_t when_done(Process &process, std::size_t bytes);
    void pass(const LinkPointer &link, int to, std::function<void()> what);
    void to_process(Process &process, std::function<void()> what);
    void open(const LinkPointer &link, Process &caller, Process &called);
    void deliver(const LinkPointer &link, int to, const std::string &bytes);
    void end(const LinkPointer &link, int which, int error);
    void give_up_if_watched(const LinkPointer &link);
    std::pair<LinkPointer, int> find(const Process &process, ConnectionId id);
    Process *listener(const Endpoint &at);
    Process &add_process_on(const std::string &host);
    void schedule_tick(Process &process);

    struct Event {
        uint64_t time;
        uint64_t order;
        std::function<void()> run;
        bool operator<(const Event &other) const {
            return time != other.time ? time > other.time : order > other.order;
        }
    };
    std::mt19937_64 engine_;
    std::function<void(Process &)> when_told_;
    bool trace_;
    std::optional<Costs> costs_;
    uint64_t now_ = 1'000'000'000;
    uint64_t count_ = 0;
    ConnectionId last_id_ = 0;
    std::priority_queue<Event> events_;
    std::vector<std::unique_ptr<Process>> processes_;
    std::map<std::string, std::vector<Process *>> on_host_;
    std::map<ConnectionId, std::pair<LinkPointer, int>> links_;
    std::vector<std::weak_ptr<Link>> waiting_;     // links that have ever had to wait
    std::set<std::pair<uint32_t, uint32_t>> cuts_; // from, to
};

} // namespace mdist::test
