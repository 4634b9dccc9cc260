// SPDX-License-Identifier: Apache-2.0
// Together: how the workers of a job come to one outcome. Each does its part; what failed on one of them is thrown on
// all, in the same words, and nobody goes on as if it had not. The caller holds the turn.
#pragma once

#include "comm/call.h"
#include "comm/workers.h"
#include "strategy/strategy.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mdist {

class Together {
  public:
    Together(Strategy &strategy, CallKind kind, uint64_t timeout_ns);
    /// `call` says what for, where there is more to say than its kind; its text outlives this.
    Together(Strategy &strategy, const Call &call, uint64_t timeout_ns);

    bool is_chief() const { return workers_ == nullptr || workers_->self() == 0; }
    /// Does `part`, waits for all others', and returns what the chief's gave; or throws what the first of them by rank
    /// threw, with its rank. `subject` is text, a line for each thing that all must have alike.
    std::string agree(const std::string &subject, const std::function<std::string()> &part);
    /// The same, and returns what everybody's part gave, by rank.
    std::vector<std::string> gather(const std::string &subject, const std::function<std::string()> &part);
    /// The chief's bytes to all.
    void broadcast(void *data, std::size_t bytes);

  private:
    Workers *const workers_; // nullptr: this one is alone
    const Call call_;
    const uint64_t timeout_ns_;
};

/// Throws MISMATCH, alike on all, unless the workers' texts are one: names the first line in which two of them differ.
/// `rule` says that all workers do the same.
void require_same_texts(const Workers &workers, const std::vector<std::string> &texts, const char *rule);

} // namespace mdist
