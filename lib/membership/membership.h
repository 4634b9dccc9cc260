// SPDX-License-Identifier: Apache-2.0
// Membership: this worker among the workers of its job, from joining to leaving.
//
//   all have joined --> READY --failure--> FAILED
//
// The workers meet at the store (store.h). Then control connections connect each with its neighbors (neighbors.h). They
// carry heartbeats, exchange(), and aborts. The worker that detects a failure first tells all others, so that all
// have the same first cause. All this runs on its own thread, so a worker whose program computes is not taken for dead.
// FAILED is final. To recover, a job of fixed size forms again, with new processes; an elastic job goes on with the
// membership of its next generation (elastic_membership.h).
//
// All functions: any thread. Nothing here waits without a deadline.
#pragma once

#include "membership/member_thread.h"
#include "membership/protocol/options.h"
#include "util/failure.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mdist {

class Membership {
  public:
    /// Joins the job. Returns when every worker has joined and all neighbors are connected. Throws
    ///   TIMEOUT              naming a missing worker
    ///   UNAUTHENTICATED
    ///   CONFIG               if agreements differ, with the lines that do
    ///   FAILED_PRECONDITION  `duplicate_rank`, `stale_session`
    ///   RESOURCE             `address_in_use`
    ///   NOT_FOUND            `name_resolution`
    explicit Membership(MembershipOptions options);
    /// That of an elastic job's generation. `thread`: its member is READY, or has failed since.
    explicit Membership(std::shared_ptr<MemberThread> thread);
    ~Membership();
    /// Says goodbye, if it has not yet. Peers that go on get PEER_LOST (`left`) in their next operation. Takes bounded
    /// time. After it nothing here calls back, exchanges or connects. Call it once, and not in when_failed().
    void leave() noexcept;
    Membership(const Membership &) = delete;
    Membership &operator=(const Membership &) = delete;

    uint32_t rank() const { return rank_; }
    uint32_t size() const { return size_; }
    /// "worker 1 (10.0.0.2:4400)"
    std::string name(uint32_t rank) const;

    /// Returns every worker's blob (up to 64 KiB), by rank. All workers must call it, in the same order.
    std::vector<std::string> exchange(const std::string &blob, uint64_t timeout_ns);

    // ---- Data connections: authenticated TCP connections, one for each link and pair of workers. The first of the two
    // that asks for it makes it. If it cannot be made within the time for joining, the job fails.

    /// Numbers a link. All workers call it in the same order, also those that the link does not serve.
    uint32_t number_link() noexcept { return links_++; }
    /// Sets a function to call when take_socket() may have news of the link. It runs on membership's thread, and must
    /// not wait.
    void when_connected(uint32_t link, std::function<void()> call);
    /// Asks for the connection with a worker. Does nothing after leave().
    void ask_for_socket(uint32_t link, uint32_t rank);
    /// Gives a descriptor away: non-blocking, CLOEXEC, with TCP_NODELAY, and listed for a forked child to close
    /// (descriptors.h). Returns DataSockets::kNotYet or kGone if there is none.
    int take_socket(uint32_t link, uint32_t rank);
    /// Ends the link. When this returns, no call for it is under way.
    void end_link(uint32_t link) noexcept;

    bool failed() const { return failed_.load(std::memory_order_acquire); }
    std::optional<Failure> failure() const;
    /// Makes the job FAILED, unless it has failed already, and tells every worker. TIMEOUT, MISMATCH, PEER_LOST,
    /// DATA_LOSS and ABORTED reach the others as they are. Any other status reaches them as ABORTED, with the same
    /// sentence and this worker's rank. After leave() it does nothing.
    void fail(const Failure &cause) noexcept;
    /// Sets a function to call once, soon after the job fails, with the first cause. It runs on membership's thread or
    /// on the thread in fail() or set_entered(), or at once if the job has failed already. It must not wait. Set it
    /// once.
    void when_failed(std::function<void(const Failure &)> call);

    /// Sets how many operations this worker has entered. Others show it in messages. Fails the job if a worker has left
    /// that this operation needs.
    void set_entered(uint64_t sequence) noexcept;
    /// Tells the number to all others, which may take a heartbeat's interval in a large job. For a worker that others
    /// may be waiting for.
    void announce() noexcept;
    /// Fails the job if that worker has left.
    void need(uint32_t rank) noexcept;

    /// Sends a notice (up to 1 KiB) to all other workers, whatever they do. It is lost if memory runs out.
    void tell(const std::string &notice) noexcept;
    /// Sets a function that is called for every notice of another worker, in order, on membership's thread or on the
    /// thread in this call. It must not wait. Set it once; notices that come before are kept.
    void when_told(std::function<void(uint32_t rank, const std::string &notice)> call);

    /// The number of operations that a worker last reported, as far as this one knows.
    uint64_t entered(uint32_t rank) const;

  private:
    void begin();
    void hear_news();
    void tell_links();
    void tell_failure();
    void hand_on_notices();
    /// Runs look(peers) with the lock held.
    template <class Look>
    auto with_peers(Look &&look) const {
        const std::lock_guard<std::mutex> hold(thread_->lock());
        return look(thread_->member().peers());
    }

    uint32_t rank_ = 0;
    uint32_t size_ = 0;
    std::atomic<bool> failed_{false};
    std::atomic<uint32_t> links_{0};
    std::function<void(const Failure &)> when_failed_; // with the lock
    bool left_ = false;                                // with the lock
    std::mutex telling_;                               // keeps notices in order; taken before the lock
    std::function<void(uint32_t, const std::string &)> when_told_;
    std::mutex telling_links_; // held while one of these runs; taken before the lock
    std::map<uint32_t, std::function<void()>> when_connected_;
    bool ends_thread_;       // in a job of fixed size
    Peers *peers_ = nullptr; // does not move
    std::shared_ptr<MemberThread> thread_;
};

} // namespace mdist
