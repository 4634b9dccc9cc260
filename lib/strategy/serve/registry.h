// SPDX-License-Identifier: Apache-2.0
// Registry: steps and updates by name, so that the workers of one program can refer to them. Any thread.
#pragma once

#include "strategy/values/value.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace mdist {

class Job;
class Replica;
class Variable;

using NamedStep = std::function<int32_t(Replica &)>;
/// Updates a variable, or something else (nullptr), on every local replica. Returns the results.
using NamedUpdate = std::function<std::vector<ValuePointer>(
    Job &job, const Variable *variable, const std::vector<ValuePointer> &arguments, std::size_t result_count)>;

class Registry {
  public:
    /// Adds or replaces. Throws INVALID_ARGUMENT for an empty name, FAILED_PRECONDITION after close().
    void add(std::string name, NamedStep step);
    void add(std::string name, NamedUpdate update);

    /// Throws NOT_FOUND, listing the registered names.
    NamedStep step(const std::string &name) const;
    NamedUpdate update(const std::string &name) const;

    /// Returns a line for each entry, "step \"train\"", in order. Nothing can be added afterwards.
    std::vector<std::string> close();

  private:
    template <class Function>
    void put(std::map<std::string, Function> &functions, std::string name, Function function);

    mutable std::mutex mutex_;
    std::map<std::string, NamedStep> steps_;
    std::map<std::string, NamedUpdate> updates_;
    bool closed_ = false;
};

/// Throws MISMATCH unless all workers' lines are equal. Names the first line that some worker lacks. `lines` is by
/// rank.
void require_same_lines(const std::vector<std::vector<std::string>> &lines);

} // namespace mdist
