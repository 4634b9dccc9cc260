// SPDX-License-Identifier: Apache-2.0
// Session: an in-graph job. Worker 0, the client, gives commands; all workers carry each of them out on their own
// replicas, the client too, so that what they do together is what it is in any job of several workers.
//
//   client   agree once;  send the command to each;  own part;                  collect the results
//   server   agree once;  receive it, or hear that the client has left;  part;  give the results
//
// What fails on one worker while a command is under way ends the job for all. What the client finds wrong before it
// sends anything does not. With the turn, but for drop().
#pragma once

#include "strategy/serve/command.h"
#include "strategy/serve/registry.h"
#include "util/function_ref.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mdist {

/// Whether this is how a session ends when all is well.
bool client_has_left(const Failure &failure);

class Session {
  public:
    explicit Session(Strategy &strategy) : strategy_(strategy) {}

    /// What each worker has one of for each replica, in the order of replicas; when all have joined.
    std::vector<std::string> everybodys(const std::vector<std::string> &own);

    // The client's. Values have a tensor for each replica of the job.
    void run(const std::string &step, std::vector<ValuePointer> arguments, std::vector<ValuePointer> &results,
             uint64_t timeout_ns);
    void update(const std::string &update, const Variable *variable, std::vector<ValuePointer> arguments,
                std::vector<ValuePointer> &results);
    std::shared_ptr<Variable> create(VariableSpec spec, const Tensor &initial);
    void assign(Variable &variable, int32_t assign, const ValuePointer &value);
    Tensor read(const Variable &variable, uint64_t timeout_ns);
    /// What the client's first copy has, into all copies of all workers.
    void spread(const Variable &variable, uint64_t timeout_ns);
    /// A variable that create() made is gone. Any thread.
    void drop(const std::string &name) noexcept;

    /// The others': does what the client asks until it leaves. `timeout_ns` is for each wait for it.
    void serve(uint64_t timeout_ns);

  private:
    std::vector<ValuePointer> perform(Command command, const Tensor &initial = Tensor());
    std::vector<ValuePointer> attempt(FunctionRef<std::vector<ValuePointer>()> part);
    std::vector<ValuePointer> carry_out(const Command &part, const Tensor &initial);
    std::shared_ptr<Variable> variable_of(const Command &command) const;
    void agree(Workers &others, uint64_t timeout_ns);
    void send(Workers &others, Command &command);
    std::vector<ValuePointer> collect(Workers &others, std::vector<ValuePointer> own, const Command &command);

    Strategy &strategy_;
    bool agreed_ = false;
    std::map<std::string, std::shared_ptr<Variable>> created_; // by commands; the client gives them away
    std::mutex dropped_mutex_;
    std::vector<std::string> dropped_; // since the last command
};

} // namespace mdist
