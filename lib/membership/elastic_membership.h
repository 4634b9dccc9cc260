// SPDX-License-Identifier: Apache-2.0
// ElasticMembership: this worker in an elastic job, over all generations. It lets callers wait for the
// next generation. Of each generation it makes a Membership, as a job of fixed size has one.
//
// next() and membership() are for one thread at a time; the others for any thread.
#pragma once

#include <memory>
#include <optional>

#include "membership/membership.h"

namespace mdist {

class ElasticMembership {
  public:
    /// Connects with the store, and returns when that has let this worker in. `id`: 0 draws one at random. Throws
    /// TIMEOUT, UNAUTHENTICATED, CONFIG, or whatever else the store refuses it with.
    ElasticMembership(const MembershipOptions &options, WorkerId id);
    ~ElasticMembership();
    ElasticMembership(const ElasticMembership &) = delete;
    ElasticMembership &operator=(const ElasticMembership &) = delete;

    /// Whether a generation without this worker is at work.
    bool is_newcomer() const;
    /// Asks for the first generation. Returns it when all of its members are connected, or none if it has formed
    /// without this worker, which is a newcomer now. Throws as next().
    std::optional<Generation> first(uint64_t timeout_ns);
    /// Leaves the current generation and asks for the next. Returns it when all of its members are connected. `held`:
    /// the commits that this worker has parts of. `leaves`: it says that it would leave the job. Throws ABORTED
    /// (`no_store`, `old_generation`, `unreachable`), TIMEOUT, DATA_LOSS and what else ends a job; then this worker is
    /// out of it for good. The Membership of the generation before must have left.
    Generation next(Holdings held, uint64_t timeout_ns, bool leaves);
    /// Of the generation that next() has returned.
    std::unique_ptr<Membership> membership();
    /// This worker has marked a commit. The store hears it, so that a launcher knows whether something is lost.
    void note_commit() noexcept;
    /// How many workers wait to enter, as the store said last.
    uint32_t newcomers() const;
    /// Whether a worker of the job is to leave it.
    bool any_leaves() const;
    /// Leaves the job, once.
    void leave() noexcept;

  private:
    std::optional<Generation> ask(const Holdings &held, uint64_t timeout_ns, bool first, bool leaves);
    Failure why_ended() const;

    const std::shared_ptr<MemberThread> thread_;
};

} // namespace mdist
