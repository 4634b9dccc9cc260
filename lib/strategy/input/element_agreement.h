// SPDX-License-Identifier: Apache-2.0
// ElementAgreement: the workers of a strategy agree on each element of one iteration.
#pragma once

#include "data/agreement.h"
#include "strategy/strategy.h"

#include <cstdint>
#include <memory>

namespace mdist {

class ElementAgreement final : public Agreement {
  public:
    /// The `iterator`-th of the `dataset`-th distributed dataset, on all workers.
    ElementAgreement(std::shared_ptr<Strategy> strategy, uint64_t dataset, uint64_t iterator)
        : strategy_(std::move(strategy)), dataset_(dataset), iterator_(iterator) {}

    void require_place() override;
    StepRows agree(FunctionRef<StepRows()> take) override;

  private:
    const std::shared_ptr<Strategy> strategy_;
    const uint64_t dataset_;
    const uint64_t iterator_;
    uint64_t element_ = 0; // the next one
};

} // namespace mdist
