// SPDX-License-Identifier: Apache-2.0
// Intruder: plays another program on this host that tries to get into a job over TCP. It knows:
// - the store's address and the job's name;
// - the ports that the workers listen on (everybody can read them in /proc/net/tcp);
// - whatever the store and the workers tell it;
// - what a relay between one worker and the store has seen: the session, and a handshake to replay.
#pragma once

#include "membership/protocol/handshake.h"
#include "membership/net/world.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace mdist::test {

struct Prey {
    Endpoint store;
    std::vector<int> pids; // the workers' process ids, by rank
    std::string job;
    bool may_join = false; // false: the job has a secret or has formed, so even a proper join must fail
};

/// What a relay has seen while one worker joined.
struct Overheard {
    SessionId session = {};
    std::string said; // the bytes that the worker sent
};

class Intruder {
  public:
    explicit Intruder(Prey prey);
    /// Adds what a relay overheard to what the intruder knows.
    void learn(const Overheard &overheard);
    /// Runs one round: tries each way in, on the store and on each worker.
    void attack();

    uint64_t attempts() const { return attempts_; }
    /// Counts how often it was let in.
    uint64_t entered() const { return entered_; }
    /// Counts the sessions that the store or a worker has told it.
    std::size_t told() const { return told_; }

  private:
    struct Attempt {
        int descriptor;
        FrameReader reader{1 << 20};
    };
    void find_ports();
    void say(const Endpoint &to, const std::string &words);
    void attack_store();
    void attack_worker(uint32_t rank, uint16_t port);
    void hear();
    bool listen_to(Attempt &attempt);

    Prey prey_;
    std::vector<uint16_t> ports_; // by rank; 0: not known yet
    std::set<SessionId> sessions_;
    std::vector<std::string> replays_;
    std::vector<Attempt> open_;
    uint64_t attempts_ = 0;
    uint64_t entered_ = 0;
    std::size_t told_ = 0;
    uint32_t number_ = 0;
};

/// A relay between one worker and the store. It keeps what passes, and holds GO back. So the other workers run already
/// and wait for this worker's connections.
class Relay {
  public:
    /// Listens on a free port of 127.0.0.1. `release` is a descriptor that becomes readable when GO may pass.
    Relay(const Endpoint &store, int release);
    uint16_t port() const { return port_; }
    /// Waits for the next bytes or the next connection, and passes them on.
    void carry();
    bool holds_go() const { return go_at_ != std::string::npos && !released_; }
    const Overheard &overheard() const { return overheard_; }

  private:
    void look_at_frames();

    Endpoint store_;
    int release_;
    bool released_ = false;
    std::size_t passed_ = 0; // bytes of heard_ that were passed on
    std::size_t go_at_ = std::string::npos;
    int listener_ = -1, near_ = -1, far_ = -1;
    uint16_t port_ = 0;
    std::string heard_; // the bytes that the store sent
    Overheard overheard_;
};

} // namespace mdist::test
