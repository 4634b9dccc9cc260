// SPDX-License-Identifier: Apache-2.0
// Refuses sources with too few elements for all workers: at once if they can be counted, else when they are read.
#pragma once

#include "data/dataset.h"
#include "util/failure.h"

#include <functional>
#include <memory>

namespace mdist {

/// Iterators fail with `too_few(there)` at their first element if there are fewer than `least`. They take that many
/// elements before they give the first. A source without any element just ends if `or_none`.
std::shared_ptr<const Dataset> make_at_least(std::shared_ptr<const Dataset> source, uint64_t least, bool or_none,
                                             std::function<Failure(uint64_t there)> too_few);

/// Throws `too_few(there)` if it is known now that the source has fewer elements, but some. If their number is not
/// known, iterators of the result will throw.
std::shared_ptr<const Dataset> with_enough(const std::shared_ptr<const Dataset> &source, uint64_t least,
                                           const std::function<Failure(uint64_t there)> &too_few);

} // namespace mdist
