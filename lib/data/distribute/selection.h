// SPDX-License-Identifier: Apache-2.0
// Selection: deals whole elements out to several takers in turn.
#pragma once

#include "data/dataset.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace mdist {

/// Keeps, of each `of` elements in a row, those numbered `own`. The numbers ascend.
std::shared_ptr<Dataset> make_selection(std::shared_ptr<const Dataset> source, uint64_t of, std::vector<uint64_t> own);

} // namespace mdist
