// SPDX-License-Identifier: Apache-2.0
// Consensus: lets all workers of a job reach one outcome. Each worker does its part. If a part fails on one worker, the
// same failure is thrown on all, in the same words, so no worker continues alone. The caller holds the turn.
#pragma once

#include "comm/call/call.h"
#include "comm/workers/workers.h"
#include "strategy/job/job.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdist {

class Consensus {
  public:
    Consensus(Job &job, CallKind kind, uint64_t timeout_ns);
    /// `call` describes the purpose where its kind alone is not enough. Its text must outlive this object.
    Consensus(Job &job, const Call &call, uint64_t timeout_ns);

    bool is_chief() const { return workers_ == nullptr || workers_->self() == 0; }
    /// Runs `part`, waits for all other workers, and returns what the chief's part returned. If parts failed, throws
    /// the failure of the lowest rank, with its rank. `subject` is text with one line for each thing that must be the
    /// same on all workers.
    std::string agree(const std::string &subject, const std::function<std::string()> &part);
    /// The same, but returns the results of all workers, by rank.
    std::vector<std::string> gather(const std::string &subject, const std::function<std::string()> &part);
    /// Sends the chief's bytes to all workers.
    void broadcast(void *data, std::size_t bytes);

  private:
    Workers *const workers_; // nullptr: this worker is alone
    const Call call_;
    const uint64_t timeout_ns_;
};

/// Throws MISMATCH on all workers unless their texts are equal. The error names the first line in which two workers
/// differ. `rule` is the sentence that tells all workers to do the same.
void require_same_texts(const Workers &workers, const std::vector<std::string> &texts, const char *rule);
/// The first line in which two texts differ, from each.
std::pair<std::string, std::string> first_difference(std::string_view a, std::string_view b);

} // namespace mdist
