// SPDX-License-Identifier: Apache-2.0
// How workers agree on input. Each worker first does its own part alone and without the turn, because that part may
// call the program's functions. Then all workers reach one outcome. ElementAgreement does this for each element of an
// iteration.
#pragma once

#include "comm/call/call.h"
#include "data/agreement.h"
#include "strategy/job/job.h"
#include "util/function_ref.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mdist {

/// Throws if the workers cannot communicate now: in a step, or while another thread has the turn.
void require_input_place(Job &job, CallKind kind);

/// Runs `part` and returns the results of all workers, by rank. If `part` threw on some worker, throws the failure of
/// the lowest such rank on all workers, in the same words; the workers' collectives stay usable. `call` must be the
/// same on all workers, or the job ends.
std::vector<std::string> on_all_workers(Job &job, const Call &call, FunctionRef<std::string()> part);

/// The same, and throws MISMATCH on all workers unless the results are equal; see require_same_texts().
void alike_on_all_workers(Job &job, const Call &call, FunctionRef<std::string()> part);

class ElementAgreement final : public Agreement {
  public:
    /// Stands for iterator number `iterator` of distributed dataset number `dataset`. Both numbers are the same on all
    /// workers.
    ElementAgreement(std::shared_ptr<Job> job, uint64_t dataset, uint64_t iterator)
        : job_(std::move(job)), dataset_(dataset), iterator_(iterator) {}

    void require_place() override;
    StepRows agree(FunctionRef<StepRows()> take) override;

  private:
    const std::shared_ptr<Job> job_;
    const uint64_t dataset_;
    const uint64_t iterator_;
    uint64_t element_ = 0; // number of the next element; not told in an elastic job, whose newcomers have taken fewer
};

} // namespace mdist
