// SPDX-License-Identifier: Apache-2.0
// Structure: a value whose leaves are values, each at a path of names and positions joined by dots ("grads.0").
//
// Leaves are stored in one list, sorted by path, and no leaf is a structure. The paths make one tree: each place is a
// leaf, a list (positions from 0 without gaps) or a set of names. A value that is not a structure counts as one leaf
// with the path "". No state; any thread.
#pragma once

#include "strategy/values/value.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mdist {

/// Throws INVALID_ARGUMENT for an invalid path. "" stands for the whole value.
void check_path(std::string_view path);
/// Throws INVALID_ARGUMENT, naming the path, unless leaves at these paths make one tree.
void check_tree(std::vector<std::string> paths);
/// Orders leaves: component by component, positions by number.
bool path_before(std::string_view a, std::string_view b);

/// Makes a structure. A leaf that is a structure adds its own leaves below its path. A single leaf with the path "" is
/// returned as it is. Throws INVALID_ARGUMENT, naming the path, unless the leaves make one tree.
ValuePointer structure_of(std::vector<Leaf> leaves);

std::size_t leaf_count(const Value &value);
/// Returns "" if there is no such index, or if the value is not a structure.
const std::string &leaf_path(const Value &value, std::size_t index);
/// Returns a leaf, or everything below a path as a structure. Throws NOT_FOUND, listing the existing paths.
ValuePointer part_of(const ValuePointer &value, std::string_view path);
/// Returns the leaf at exactly this path. If only leaves below it exist, throws INVALID_ARGUMENT; else throws as
/// part_of() does. The message begins with `what`.
const Value &leaf_of(const Value &value, std::string_view path, const std::string &what);

/// Throws INVALID_ARGUMENT or UNSUPPORTED, with the argument's number, unless each leaf has whole tensors (not rows):
/// one for all replicas, or one for each of `replicas`.
void check_arguments(const std::vector<ValuePointer> &arguments, std::size_t replicas);

/// Calls `visit(const Value &leaf, std::size_t index)` for each leaf of a structure, or for a value that is not a
/// structure. An exception for a leaf names that leaf.
template <class Visit>
void visit_leaves(const Value &value, Visit &&visit) {
    if (!value.is_structure()) return visit(value, 0);
    for (const Leaf &leaf : value.leaves()) {
        try {
            visit(*leaf.value, static_cast<std::size_t>(&leaf - value.leaves().data()));
        } catch (Failure &failure) {
            throw std::move(failure).about("leaf \"" + leaf.path + "\"");
        }
    }
}

/// Makes a structure of what `make` returns for each leaf. For a value that is not a structure, returns what `make`
/// returns.
template <class Make>
ValuePointer map_leaves(const Value &value, Make &&make) {
    if (!value.is_structure()) return make(value, std::size_t(0));
    std::vector<Leaf> made;
    made.reserve(value.leaves().size());
    visit_leaves(value, [&](const Value &leaf, std::size_t index) {
        made.push_back({leaf_path(value, index), make(leaf, index)});
    });
    return std::make_shared<Value>(std::move(made));
}

} // namespace mdist
