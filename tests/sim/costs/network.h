// SPDX-License-Identifier: Apache-2.0
// Network: the links of a job in virtual time. It charges what each message costs the threads, the ports of the hosts
// and the wires (model.h). Workers of one host use shared memory. Only messages of up to `read` bytes have content.
//
// A worker runs in turns. A turn begins when a core of its host is free, does all that it can do, and takes as long as
// what it was charged for. Between turns the worker sleeps until something comes.
//
// A port sends one piece of up to kPiece bytes at a time, of all its messages in turn. So the messages of several peers
// share it evenly. The port of the receiver takes pieces in the order in which they come.
#pragma once

#include "comm/links/link.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <unordered_map>
#include <vector>

#include "model.h"

namespace mdist::costs {

class Network {
  public:
    static constexpr std::size_t kPiece = 65536;

    Network(const Machine &machine, const Wire &wire, const Layout &layout, std::size_t read);
    ~Network();

    Link &link(uint32_t worker);
    /// Runs all workers from now on, until all are done. `turn(worker)` is the worker's turn; it returns whether the
    /// worker is done. Returns when the last one was done. Throws if they wait for each other.
    double run(const std::function<bool(uint32_t worker)> &turn);
    /// Charges the worker whose turn it is.
    void charge(double ns) { charged_ += ns; }
    uint64_t messages() const { return messages_; }

  private:
    class End;
    struct Message {
        uint32_t from, to;
        uint64_t tag;
        std::size_t bytes;
        std::size_t unsent;
        std::vector<char> content;
        Pending *pending; // of the sender; nullptr: it has been counted off
    };
    struct Receive {
        uint64_t tag;
        void *data;
        std::size_t bytes;
        Pending *pending;
    };
    struct Way {                                     // from one worker to another
        std::deque<std::shared_ptr<Message>> posted; // to the port, in order
        std::deque<std::shared_ptr<Message>> come;
        std::deque<Receive> receives;
    };
    struct Worker {
        bool done = false;
        bool planned = false; // a turn is planned
        double busy_until = 0;
        std::vector<uint64_t> news; // ways on which something may be taken
        std::vector<Pending *> sent;
    };
    struct Host {
        struct Core {
            double free_at = 0;
            uint32_t worker = UINT32_MAX; // that it worked for last
        };
        std::vector<Core> cores;
        std::deque<uint64_t> sending; // the ways with something posted, in turn
        bool sends = false;
        double takes_until = 0;
    };
    struct Event {
        double at;
        uint64_t number;
        std::function<void()> happen;
        bool operator<(const Event &other) const { return at != other.at ? at > other.at : number > other.number; }
    };

    uint64_t key(uint32_t from, uint32_t to) const { return uint64_t{from} * layout_.workers() + to; }
    uint32_t host_of(uint32_t worker) const { return worker / layout_.per_host; }
    double now() const { return now_ + charged_; }
    void at(double time, std::function<void()> happen);
    void wake(uint32_t worker);
    void plan_turn(uint32_t worker, double time);
    void take_turn(uint32_t worker);
    Host::Core &core_for(uint32_t worker, Host &host) const;
    void send(uint32_t from, uint32_t to, uint64_t tag, const void *data, std::size_t bytes, Pending &pending);
    void send_piece(uint32_t host);
    void arrive(const std::shared_ptr<Message> &message);
    void progress(uint32_t worker);
    void take(Way &way, bool near);

    const Machine machine_;
    const Wire wire_;
    const Layout layout_;
    const std::size_t read_;
    std::vector<std::unique_ptr<End>> ends_;
    std::vector<Worker> workers_;
    std::vector<Host> hosts_;
    std::unordered_map<uint64_t, Way> ways_;
    std::priority_queue<Event> events_;
    std::function<bool(uint32_t)> turn_;
    double now_ = 0;
    double charged_ = 0; // in this turn
    double last_ = 0;
    uint64_t number_ = 0, messages_ = 0;
};

} // namespace mdist::costs
