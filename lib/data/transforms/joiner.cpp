// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/joiner.h"

#include "util/text.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mdist {
namespace {

/// Prefetches the first cache lines of a row. The processor prefetches the rest of a longer row by itself.
void fetch_ahead(const char *row, std::size_t bytes) {
    for (std::size_t at = 0; at < std::min<std::size_t>(bytes, 8 * 64); at += 64) __builtin_prefetch(row + at);
}

} // namespace

Element Joiner::join() {
    check_shapes();
    const Element &first = runs_[0].first;
    std::vector<Tensor> joined(first.count());
    for (std::size_t component = 0; component < joined.size(); ++component) {
        Tensor &tensor = joined[component];
        tensor = Tensor::allocate(*host(), first.dtype(component), first.shape(component).with_first(count_));
        gather(component, static_cast<char *>(tensor.data()));
    }
    clear();
    return Element(std::move(joined));
}

void Joiner::check_shapes() const {
    uint64_t row = 0;
    for (std::size_t i = 0; i < used_; row += runs_[i++].count)
        if (!runs_[i].first.same_rows(runs_[0].first)) check_shapes(runs_[i].first, row);
}

void Joiner::check_shapes(const Element &element, uint64_t row) const {
    const Element &first = runs_[0].first;
    for (std::size_t component = 0; component < element.count(); ++component)
        if (!(element.shape(component) == first.shape(component)))
            throw different_shapes(component, row, element.shape(component), first.shape(component));
}

Failure different_shapes(std::size_t component, uint64_t row, const Shape &shape, const Shape &first) {
    return Failure(MDIST_ERR_MISMATCH,
                   text("component ", component, " of element ", row, " of a batch has shape ", shape.text(),
                        " and that of element 0 has ", first.text(), "; elements of one batch need equal shapes"));
}

void Joiner::gather(std::size_t component, char *to) const {
    const std::size_t bytes = runs_[0].first.bytes(component);
    if (bytes == 0) return;
    for (std::size_t i = 0; i < used_; ++i) {
        // Rows may come in random order: the processor cannot guess where the next but one begins.
        if (i + 2 < used_) fetch_ahead(runs_[i + 2].first.data(component), bytes);
        const std::size_t length = runs_[i].count * bytes;
        std::memcpy(to, runs_[i].first.data(component), length);
        to += length;
    }
}

/// Forgets the elements. Rows of kept arrays stay until the next ones overwrite them, which counts no references.
/// Elements with memory of their own are released at once.
void Joiner::clear() {
    for (std::size_t i = 0; i < used_; ++i)
        if (!runs_[i].first.is_row()) runs_[i].first = Element();
    used_ = 0;
    count_ = 0;
}

} // namespace mdist
