// SPDX-License-Identifier: Apache-2.0
// Registry: steps and updates by name, so that workers of one program can speak of them. Any thread.
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

class Replica;
class Strategy;
class Variable;

using NamedStep = std::function<int32_t(Replica &)>;
/// Of a variable, or of what belongs to none (nullptr), on every local replica; gives the results.
using NamedUpdate =
    std::function<std::vector<ValuePointer>(Strategy &strategy, const Variable *variable,
                                            const std::vector<ValuePointer> &arguments, std::size_t result_count)>;

class Registry {
  public:
    /// The last of a name counts. Throws INVALID_ARGUMENT for an empty name, FAILED_PRECONDITION once it was closed.
    void add(std::string name, NamedStep step);
    void add(std::string name, NamedUpdate update);

    /// Throws NOT_FOUND, listing what there is.
    NamedStep step(const std::string &name) const;
    NamedUpdate update(const std::string &name) const;

    /// A line for each, "step \"train\"", in order. Nothing can be added from then on.
    std::vector<std::string> close();

  private:
    template <class Function>
    void put(std::map<std::string, Function> &functions, std::string name, Function function);

    mutable std::mutex mutex_;
    std::map<std::string, NamedStep> steps_;
    std::map<std::string, NamedUpdate> updates_;
    bool closed_ = false;
};

/// Throws MISMATCH, with the first line that not all have, unless all workers' lines are the same. By worker.
void require_same_lines(const std::vector<std::vector<std::string>> &lines);

} // namespace mdist
