// SPDX-License-Identifier: Apache-2.0
// Structure: a value whose leaves are values, each at a path of names and positions joined by dots ("grads.0").
//
// Flat: leaves lie in one list, sorted by path, and none of them is a structure. Their paths make one tree: what is at
// a place is a leaf, a list (positions from 0 without gaps) or has names. A value that is no structure is one leaf
// with the path "". No state; any thread.
#pragma once

#include "strategy/values/value.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mdist {

/// Throws INVALID_ARGUMENT for a path that no leaf can have. "" is the whole.
void check_path(std::string_view path);
/// Throws INVALID_ARGUMENT, naming the path, unless leaves at these paths make one tree.
void check_tree(std::vector<std::string> paths);
/// The order of leaves: component by component, positions by number.
bool path_before(std::string_view a, std::string_view b);

/// Throws INVALID_ARGUMENT, naming the path, unless they make one tree. A leaf that is a structure brings its own
/// leaves, below its path. One leaf with the path "" is that value itself.
ValuePointer structure_of(std::vector<Leaf> leaves);

std::size_t leaf_count(const Value &value);
/// "" for an index that it does not have, and where there is no structure.
const std::string &leaf_path(const Value &value, std::size_t index);
/// A leaf, or everything below a path as a structure of its own. Throws NOT_FOUND, listing what there is.
ValuePointer part_of(const ValuePointer &value, std::string_view path);
/// The leaf at exactly this path; else throws as part_of(), or INVALID_ARGUMENT if there are others below it. The
/// sentence begins with `what`.
const Value &leaf_of(const Value &value, std::string_view path, const std::string &what);
/// "a", "b.0" and 3 more
std::string leaves_text(const std::vector<Leaf> &leaves);

/// Each leaf of a structure in turn, by `visit(const Value &leaf, std::size_t index)`; of another value, itself. What
/// is thrown for a leaf names it.
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

/// A structure with what `make`, called likewise, makes of each leaf; of another value, that itself.
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
