// SPDX-License-Identifier: Apache-2.0
// Regrouping: what each local replica has for itself becomes one value, leaf by leaf.
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

/// What one replica has: a tensor with the path "", or leaves of a structure, sorted by path, or nothing.
using Part = std::vector<NamedTensor>;

/// Sorts, and of those with one path keeps the last.
Part sorted_part(Part leaves);

/// Throws MISMATCH unless two parts of `what` have the same paths. `a_where` and `b_where` say whose they are ("on
/// replica 3").
void require_same_paths(const std::string &what, const Part &a, const std::string &a_where, const Part &b,
                        const std::string &b_where);

/// How a part that is the same on all replicas comes out.
enum class Grouping : uint8_t {
    kPlainIfAlone, // plain with one local replica, else per-replica
    kPerReplica,
};

/// One part from each local replica, `first_id` the id of the first. nullptr where nobody has anything. Throws MISMATCH
/// naming the first path that one has and another has not, or whose dtypes differ, and INVALID_ARGUMENT where the paths
/// are no tree. `what` names it all ("result 2").
ValuePointer regroup(const std::string &what, std::vector<Part> parts, uint32_t first_id,
                     Grouping grouping = Grouping::kPlainIfAlone);

} // namespace mdist
