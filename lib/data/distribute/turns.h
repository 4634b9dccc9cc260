// SPDX-License-Identifier: Apache-2.0
// Whole elements that several take in turns.
#pragma once

#include "data/dataset.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace mdist {

/// Of each `of` elements in a row those numbered `own`, which ascend.
std::shared_ptr<Dataset> make_turns(std::shared_ptr<const Dataset> source, uint64_t of, std::vector<uint64_t> own);

} // namespace mdist
