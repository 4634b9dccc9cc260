// SPDX-License-Identifier: Apache-2.0
// Opens streams whose elements are made ahead of whoever takes them, by threads of the library.
#pragma once

#include "data/transforms/map_function.h"

#include <memory>

namespace mdist {

struct WorkAhead {
    const char *thread_name;
    std::size_t threads;
    uint64_t most;                    // elements that are being made, or made and not yet taken
    const MapFunction *map = nullptr; // what makes an element of one of the source's; nullptr: it is that one
    bool ordered = true;              // as the source's; else in the order in which they are ready
};

/// The elements of the dataset's source. What `how` points to belongs to the dataset.
std::unique_ptr<Stream> open_ahead(std::shared_ptr<const Transform> dataset, const WorkAhead &how,
                                   const Iteration &iteration);

} // namespace mdist
