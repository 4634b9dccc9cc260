// SPDX-License-Identifier: Apache-2.0
// Membership: this worker among the workers of its job, from joining to leaving.
//
//   FORMING --all have joined--> READY --failure--> FAILED --> CLOSED
//
// Forming meets at the store (store.h), then connects every pair of workers by a control connection. Over those go
// heartbeats, exchange(), and abort: who detects a failure first tells everybody, and everybody has the same first
// cause. A thread of its own does all that, so a worker whose program computes is not taken for dead. FAILED is for
// ever: recovery is to close all and form again.
// All functions: any thread. Nothing here waits without a deadline.
#pragma once

#include "util/failure.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mdist {

/// Names one forming of one job; a stale worker cannot know it.
using SessionId = std::array<unsigned char, 16>;

struct MembershipOptions {
    uint32_t rank = 0;
    uint32_t size = 1;
    std::string store;              // host:port
    bool serves_store = false;      // this worker is where the store is: it binds that address
    std::string job;                // name of the job; workers of another are refused
    uint32_t restart = 0;           // how often the launcher has started the job again; others are stale
    std::string secret;             // empty: none
    std::string agreement;          // what must be the same text on all workers, one "key = value" per line
    std::vector<std::string> names; // for messages, by rank: "worker 1 (10.0.0.2:4400)"; may be empty
    uint64_t join_timeout_ns = 0;
    uint64_t heartbeat_timeout_ns = 0;
};

class Membership {
  public:
    /// Returns when every worker has joined and every pair is connected. Throws TIMEOUT naming who is missing,
    /// UNAUTHENTICATED, CONFIG where agreements differ (with the lines that do), FAILED_PRECONDITION (`duplicate_rank`,
    /// `stale_session`), RESOURCE (`address_in_use`), NOT_FOUND (`name_resolution`).
    explicit Membership(MembershipOptions options);
    ~Membership();
    /// Says goodbye, if that was not done before: to peers that go on, this is PEER_LOST (`left`) in their next
    /// operation. Bounded. From then on nothing here calls out, exchanges or connects. Once, not in when_failed().
    void leave() noexcept;
    Membership(const Membership &) = delete;
    Membership &operator=(const Membership &) = delete;

    uint32_t rank() const;
    uint32_t size() const;
    const SessionId &session() const;
    /// "worker 1 (10.0.0.2:4400)"
    std::string name(uint32_t rank) const;
    /// The numeric address under which peers reach a worker, without a port.
    std::string host(uint32_t rank) const;

    /// All workers call it in the same order; gives every worker's blob (up to 64 KiB), by rank.
    std::vector<std::string> exchange(const std::string &blob, uint64_t timeout_ns);

    /// An authenticated TCP connection with each of `ranks`, which all do the same: non-blocking, CLOEXEC, without
    /// delay. The caller's to close; listed for a forked child to close.
    std::vector<int> connect(const std::vector<uint32_t> &ranks, uint64_t timeout_ns);

    bool failed() const;
    std::optional<Failure> failure() const;
    /// Makes the job FAILED, unless it is, and tells every worker. TIMEOUT, MISMATCH, PEER_LOST and DATA_LOSS reach the
    /// others as they are; all else as ABORTED with the same sentence, naming this worker.
    void fail(const Failure &cause) noexcept;
    /// Called once, soon after the job fails, with its first cause, on the membership's thread or the one in fail();
    /// at once if it has failed already. Must not wait. Set once.
    void when_failed(std::function<void(const Failure &)> call);

    /// Operations that this worker has entered, for others' messages.
    void set_entered(uint64_t sequence) noexcept;
    /// Tells all others of them now, where a heartbeat would only later: for who may be waited for.
    void announce() noexcept;
    /// What a worker last said about itself.
    uint64_t entered(uint32_t rank) const;

  private:
    class Body;
    std::unique_ptr<Body> body_;
};

} // namespace mdist
