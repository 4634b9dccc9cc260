// SPDX-License-Identifier: Apache-2.0
// Session: an in-graph job. Worker 0, the client, gives commands. All workers, the client included, carry out each
// command on their own replicas. Inside a command they work as in any job of several workers.
//
//   client   agree once;  send the command to each worker;       do its own part;  collect the results
//   server   agree once;  receive it, or that the client left;   do its own part;  return the results
//
// A failure on any worker during a command ends the job for all. An error that the client finds before it sends the
// command does not. Needs the turn, except for drop().
#pragma once

#include "strategy/serve/command.h"
#include "strategy/serve/registry.h"
#include "strategy/steps/runs.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mdist {

class Session final : public VariableCommands {
  public:
    Session(Runs &runs, std::shared_ptr<VariableStore> variables, Registry &registry)
        : job_(runs.job()), runs_(runs), variables_(std::move(variables)), registry_(registry) {}

    // For the client. Values have a tensor for each replica of the job.
    void run(const std::string &step, std::vector<ValuePointer> arguments, std::vector<ValuePointer> &results,
             uint64_t timeout_ns);
    void update(const std::string &update, const Variable *variable, std::vector<ValuePointer> arguments,
                std::vector<ValuePointer> &results);
    std::shared_ptr<Variable> create(VariableSpec spec, const Tensor &initial);
    void assign(Variable &variable, int32_t assign, const ValuePointer &value) override;
    Tensor read(const Variable &variable, uint64_t timeout_ns) override;
    void spread(const Variable &variable, uint64_t timeout_ns) override;
    void drop(const std::string &name) noexcept override;

    /// For the other workers: carries out commands until the client leaves. `timeout_ns` limits each wait for a
    /// command.
    void serve(uint64_t timeout_ns);

  private:
    std::vector<ValuePointer> perform(Command command, const Tensor &initial = Tensor());
    std::vector<ValuePointer> attempt(FunctionRef<std::vector<ValuePointer>()> part);
    std::vector<ValuePointer> carry_out(const Command &part, const Tensor &initial);
    std::shared_ptr<Variable> variable_of(const Command &command) const;
    void agree(Workers &others, uint64_t timeout_ns);
    void send(Workers &others, Command &command);
    std::vector<ValuePointer> collect(Workers &others, std::vector<ValuePointer> own, const Command &command);

    Job &job_;
    Runs &runs_;
    const std::shared_ptr<VariableStore> variables_;
    Registry &registry_;
    bool agreed_ = false;
    std::map<std::string, std::shared_ptr<Variable>> created_; // by commands; on the client, until create() returns
    std::mutex dropped_mutex_;
    std::vector<std::string> dropped_; // names of variables gone since the last command
};

} // namespace mdist
