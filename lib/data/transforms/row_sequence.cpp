// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/row_sequence.h"

#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

Failure uneven(std::size_t component, uint64_t rows, uint64_t first) {
    return Failure(MDIST_ERR_MISMATCH, text("component ", component, " of an element has ", rows,
                                            " rows and component 0 has ", first, "; all need the same number"));
}

/// Makes a whole element of one that is a row of something larger.
Element whole(const Element &element) {
    if (!element.is_row()) return element;
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < element.count(); ++i) tensors.push_back(element.tensor(i));
    return Element(std::move(tensors));
}

uint64_t checked_rows(const Element &element) {
    const uint64_t rows = element.shape(0).dims[0];
    for (std::size_t i = 1; i < element.count(); ++i)
        if (element.shape(i).dims[0] != rows) throw uneven(i, element.shape(i).dims[0], rows);
    return rows;
}

} // namespace

void check_has_rows(const std::vector<Spec> &spec) {
    for (std::size_t i = 0; i < spec.size(); ++i) {
        if (spec[i].shape.rank == 0)
            throw Failure(MDIST_ERR_MISMATCH, text("component ", i,
                                                   " of the dataset is a scalar and has no rows; give "
                                                   "it a batch first (mdist_dataset_batch)"));
        const uint64_t rows = spec[i].shape.dims[0], first = spec[0].shape.dims[0];
        if (rows != first && rows != Spec::kUnknown && first != Spec::kUnknown) throw uneven(i, rows, first);
    }
}

bool RowSequence::more() {
    while (next_ == count_) {
        Element element;
        element_ = Element();
        if (!upstream_->next(element)) return false;
        count_ = checked_rows(element);
        next_ = 0;
        element_ = whole(element);
    }
    return true;
}

uint64_t RowSequence::replay(uint64_t rows, Element &scratch) {
    uint64_t done = 0;
    while (done < rows) {
        if (next_ == count_ && rows_each_ != Spec::kUnknown && rows_each_ != 0)
            done += rows_each_ * upstream_->replay((rows - done) / rows_each_, scratch);
        if (done == rows || !more()) break;
        const uint64_t here = std::min(rows - done, count_ - next_);
        next_ += here;
        done += here;
    }
    return done;
}

void RowSequence::restart() {
    upstream_->restart();
    element_ = Element();
    next_ = count_ = 0;
}

} // namespace mdist
