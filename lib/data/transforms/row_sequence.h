// SPDX-License-Identifier: Apache-2.0
// RowSequence: the rows of all elements of a stream, one sequence whatever the elements' borders. By one thread at a
// time.
#pragma once

#include "data/dataset.h"

#include <memory>
#include <vector>

namespace mdist {

/// Throws MISMATCH for a scalar, and for components whose numbers of rows are known and differ.
void check_has_rows(const std::vector<Spec> &spec);

class RowSequence {
  public:
    explicit RowSequence(std::unique_ptr<Stream> upstream) : upstream_(std::move(upstream)) {}

    /// Whether there is a row left; reads elements as needed. Throws MISMATCH for one whose components differ in rows.
    bool more();
    /// The next row; more() said that there is one.
    void take(Element &out) { out.set_row_of(element_, next_++); }
    void restart();

  private:
    std::unique_ptr<Stream> upstream_;
    Element element_; // whole
    uint64_t next_ = 0, count_ = 0;
};

} // namespace mdist
