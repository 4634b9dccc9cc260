// SPDX-License-Identifier: Apache-2.0
// Strategy: what the library's user works with. It is a job plus what this worker does in it: steps, variables, inputs,
// and the commands of a client.
#pragma once

#include "strategy/elastic/elastic.h"
#include "strategy/input/distribute.h"
#include "strategy/serve/registry.h"
#include "strategy/steps/graphs.h"
#include "strategy/steps/open_runs.h"
#include "strategy/variables/store.h"

#include <memory>
#include <vector>

namespace mdist {

class Session;

class Strategy final : public Job {
  public:
    explicit Strategy(const Config &config);
    ~Strategy() override;

    const std::shared_ptr<VariableStore> &variables() const { return variables_; }
    Inputs &inputs() { return inputs_; }
    Runs &runs() { return runs_; }
    /// Runs on the caller's own threads.
    OpenRuns &open_runs() { return open_runs_; }
    /// The recorded graphs of the replicas' steps.
    Graphs &graphs() { return graphs_; }
    /// The registered steps and updates.
    Registry &registry() { return registry_; }
    /// What it does in an elastic job; nullptr in other jobs.
    Elastic *elastic_part() const { return elastic_part_.get(); }
    /// The session of an in-graph job, even of one with a single worker; nullptr for other jobs.
    Session *session() const { return session_.get(); }
    /// The same if this thread would give commands, else nullptr.
    Session *commanding() const { return reach.commands() ? session_.get() : nullptr; }

    /// Called by each local replica in its step. Each gets its own part of the results in `merged`.
    void merge(Replica &replica, const Merge &merge, std::vector<Part> arguments, std::size_t result_count,
               uint64_t timeout_ns);
    /// Called when the handle is gone. Aborts, and stops the threads as soon as no run is under way.
    void close() noexcept;

  private:
    void stopped() noexcept override;

    const std::shared_ptr<VariableStore> variables_;
    Inputs inputs_;
    Runs runs_{*this};
    OpenRuns open_runs_{runs_};
    Registry registry_;
    std::unique_ptr<Elastic> elastic_part_;
    std::unique_ptr<Session> session_;
    Graphs graphs_{replicas.local_count()}; // NCCL frees its communicators only when they are destroyed
};

} // namespace mdist
