// SPDX-License-Identifier: Apache-2.0
// Elastic: what a strategy does in an elastic job: it keeps commits of the program's state, and restores one when the
// job goes on with other workers. docs/how-to/elastic.md describes both.
//
// A commit (commit.cpp) is made in a spare buffer while the last one stays. Parts go to their holders (holders.h).
// Then all workers tell each other whether that went well. Whoever has heard all knows that all parts are in place, and
// marks the commit. Whoever passes the barrier that follows knows that all have marked it, and drops the last one. If
// something failed on one worker, such as a callback of the program, the commit fails on all of them. Nobody is lost.
//
// A regroup (regroup.cpp) asks for the next generation until it has one in which the commit that the store chose is
// restored and kept anew by all.
//
// Needs the turn, outside of steps and merges.
#pragma once

#include "data/iterator.h"
#include "strategy/elastic/blob.h"
#include "strategy/elastic/kept_commit.h"
#include "strategy/job/job.h"
#include "strategy/steps/graphs.h"
#include "strategy/steps/runs.h"
#include "strategy/variables/store.h"
#include "util/failure.h"
#include "util/function_ref.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mdist {

class Workers;

class Elastic {
  public:
    Elastic(Job &job, VariableStore &variables, Runs &runs, Graphs &graphs);

    /// Keeps the state of all workers, as of the program's step `step`.
    void commit(uint64_t step, uint64_t timeout_ns);
    /// Enters the next generation and restores the commit. Returns the step of that commit. Throws FAILED_PRECONDITION
    /// (`not_a_loss`), or why this worker is out of the job.
    uint64_t regroup(uint64_t timeout_ns);

    /// Registers state of the program. Throws INVALID_ARGUMENT for a name that is taken. Any thread.
    void add(const std::shared_ptr<Blob> &blob);
    /// Registers an iterator whose elements belong to replica ids. Any thread.
    void add(const std::shared_ptr<Iterator> &iterator);

  private:
    using Variables = std::vector<std::shared_ptr<Variable>>;
    /// All that commits keep, in the order in which they keep it.
    struct State {
        Variables mirrored; // by name
        Variables own;      // sync-on-read, by name
        std::vector<std::shared_ptr<Iterator>> iterators;
        std::vector<std::shared_ptr<Blob>> blobs; // by name

        bool has_parts() const { return !own.empty() || !blobs.empty(); }
        /// A line for each; must be the same on all workers.
        std::string text() const;
    };
    State state() const;
    void copy(const State &state, bool begins, KeptCommit &into) const;
    std::string part_of(const State &state, uint32_t local) const;
    void write_back(const State &state, const KeptCommit &from) const;
    void write_part_back(const State &state, uint32_t local, const std::string &part) const;

    void begin_with_first_run();
    void keep(CommitId id, uint64_t step, uint64_t timeout_ns);
    void attempt(std::optional<Failure> &failed, FunctionRef<void()> part) const;
    void mark(const Call &call, const std::optional<Failure> &failed, uint64_t timeout_ns);
    void send_parts(Workers &others, const Call &call, KeptCommit &made, uint64_t timeout_ns) const;
    void find_holders(Workers &others, const Call &call, uint64_t timeout_ns);

    void check_is_loss() const;
    void finish_gpus() const;
    Holdings holdings() const;
    Generation next(uint64_t timeout_ns);
    bool enter(const Generation &next);
    void drop_out(const Failure &failure);
    void restore(const Generation &next, uint64_t timeout_ns);
    void take_from_others(Workers &others, const Call &call, CommitId id, const State &state, uint64_t timeout_ns);
    void forget_input(const State &state) const;
    KeptCommit *find(CommitId id);

    Job &job_;
    VariableStore &variables_;
    Runs &runs_;
    Graphs &graphs_;
    std::vector<KeptCommit> commits_; // two at most, older first
    KeptCommit spare_;                // the last one's memory, for the next
    const bool newcomer_;             // came to a job that was at work
    std::vector<uint32_t> holders_;   // of this worker's parts
    uint32_t holders_of_generation_ = 0;
    uint32_t losses_ = 0;      // since the program's last commit
    mutable std::mutex mutex_; // guards the two below
    std::vector<std::weak_ptr<Blob>> blobs_;
    std::vector<std::weak_ptr<Iterator>> iterators_;
};

} // namespace mdist
