// SPDX-License-Identifier: Apache-2.0
// RowSequence: the rows of all elements of a stream, as one sequence across the borders of elements. For one thread at
// a time.
#pragma once

#include "data/dataset.h"

#include <memory>
#include <vector>

namespace mdist {

/// Throws MISMATCH for a scalar, and for components whose numbers of rows are known and differ.
void check_has_rows(const std::vector<Spec> &spec);

class RowSequence {
  public:
    RowSequence(const Dataset &source, const Iteration &iteration)
        : upstream_(source.open(iteration)), rows_each_(source.spec()[0].shape.dims[0]) {}

    /// Tells whether a row is left. Reads elements as needed. Throws MISMATCH for one whose components differ in rows.
    bool more();
    /// Takes the next row. more() must have returned true before.
    void take(Element &out) { out.set_row_of(element_, next_++); }
    /// Does what Stream::replay does, for rows.
    uint64_t replay(uint64_t rows, Element &scratch);
    void restart();

  private:
    std::unique_ptr<Stream> upstream_;
    uint64_t rows_each_; // rows in every element, or Spec::kUnknown
    Element element_;    // the current element, as a whole
    uint64_t next_ = 0, count_ = 0;
};

} // namespace mdist
