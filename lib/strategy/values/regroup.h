// SPDX-License-Identifier: Apache-2.0
// Regrouping: makes one value of what each local replica has, leaf by leaf.
#pragma once

#include "strategy/values/value.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mdist {

struct NamedTensor {
    std::string path;
    Tensor tensor;
};

/// What one replica has: a tensor with the path "", the leaves of a structure sorted by path, or nothing.
using Part = std::vector<NamedTensor>;

/// Sorts by path. If a path occurs several times, keeps the last leaf.
Part sorted_part(Part leaves);

/// Throws MISMATCH unless two parts of `what` have the same paths. `a_where` and `b_where` name their origins ("on
/// replica 3").
void require_same_paths(const std::string &what, const Part &a, const std::string &a_where, const Part &b,
                        const std::string &b_where);

/// Regroups one part from each replica of Reach::view, whose ids begin at `first_id`. Returns nullptr if no replica has
/// anything. Throws MISMATCH, naming the first path that only one of two parts has or whose dtypes differ. Throws
/// INVALID_ARGUMENT if the paths do not make a tree. `what` names the whole ("result 2").
ValuePointer regroup(const std::string &what, std::vector<Part> parts, uint32_t first_id);

} // namespace mdist
