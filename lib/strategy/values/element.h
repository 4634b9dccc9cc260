// SPDX-License-Identifier: Apache-2.0
// Converts elements of datasets to values, which share the elements' memory.
#pragma once

#include "data/dataset.h"
#include "data/room.h"
#include "strategy/values/value.h"

#include <utility>
#include <vector>

namespace mdist {

/// Memory of the host for a record that becomes a value (Stream::next_into). Each record gets memory of its own.
class ValueRoom final : public Room {
  public:
    char *of(uint64_t bytes) override;
    /// Returns the record as a value. Its bytes must be in the memory that was offered last.
    ValuePointer value() && { return Value::plain(std::move(record_)); }

  private:
    Tensor record_;
};

/// Returns one value for each component: per-replica if the dataset is distributed, else plain.
std::vector<ValuePointer> values_of_element(const Dataset &dataset, const Element &element);
/// The same as one structure, with each component at its path. A single component without a name is returned as it is.
ValuePointer value_of_element(const Dataset &dataset, const Element &element);

} // namespace mdist
