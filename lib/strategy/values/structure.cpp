// SPDX-License-Identifier: Apache-2.0
#include "strategy/values/structure.h"

#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

/// Cuts off the first component. A checked path has no empty components, so an empty rest is the end.
std::string_view cut(std::string_view &rest) {
    const std::size_t dot = rest.find('.');
    const std::string_view component = rest.substr(0, dot);
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
    return component;
}

bool is_position(std::string_view component) {
    return std::all_of(component.begin(), component.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Returns a negative number, 0 or a positive number.
int compare_components(std::string_view a, std::string_view b) {
    const bool position = is_position(a);
    if (position != is_position(b)) return position ? -1 : 1;
    if (position && a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
    return a.compare(b);
}

/// The place of `component` in `path`, for error messages.
std::string place_of(std::string_view path, std::string_view component) {
    const auto before = static_cast<std::size_t>(component.data() - path.data());
    return before == 0 ? "the value" : text('"', path.substr(0, before - 1), '"');
}

void check_position(std::string_view path, std::string_view component, const std::string &expected) {
    if (is_position(component) && component != expected)
        throw invalid(text("path \"", path, "\": positions in ", place_of(path, component),
                           " go up from 0 without gaps, so the next is ", expected, ", not ", component));
}

/// Checks `path` against `before`, the path before it in a list that fits so far; nullptr: it is the first.
void check_fits(const std::string *before, std::string_view path) {
    std::string_view rest = path;
    std::string_view other = before == nullptr ? std::string_view() : *before;
    std::string_view component = cut(rest);
    std::string_view sibling = cut(other);
    while (component == sibling && !rest.empty() && !other.empty()) {
        component = cut(rest);
        sibling = cut(other);
    }
    if (before != nullptr && component == sibling)
        throw invalid(rest.empty() ? text("path \"", path, "\" is given twice")
                                   : text("path \"", path, "\" lies below \"", *before, "\", which is a leaf"));
    if (before != nullptr && is_position(sibling) != is_position(component))
        throw invalid(text("path \"", path, "\": ", place_of(path, component),
                           " cannot have both names and positions, and \"", *before, "\" exists already"));
    const bool next = before != nullptr && is_position(sibling);
    check_position(path, component, next ? std::to_string(std::stoull(std::string(sibling)) + 1) : "0");
    while (!rest.empty()) check_position(path, cut(rest), "0");
}

/// The range [first, last) of leaves at `path` or below it.
std::pair<std::size_t, std::size_t> range_of(const std::vector<Leaf> &leaves, std::string_view path) {
    const auto first = std::lower_bound(leaves.begin(), leaves.end(), path,
                                        [](const Leaf &leaf, std::string_view p) { return path_before(leaf.path, p); });
    const std::string below = text(path, '.');
    const auto last = std::find_if(first, leaves.end(), [&](const Leaf &leaf) {
        return leaf.path != path && leaf.path.compare(0, below.size(), below) != 0;
    });
    return {static_cast<std::size_t>(first - leaves.begin()), static_cast<std::size_t>(last - leaves.begin())};
}

Failure not_found(const Value &value, std::string_view path, const std::string &what) {
    return {MDIST_ERR_NOT_FOUND,
            value.is_structure() ? text(what, " has no \"", path, "\"; it has ", leaves_text(value.leaves()))
                                 : text(what, " is not a structure, so it has no \"", path, "\"; its path is \"\"")};
}

} // namespace

void check_path(std::string_view path) {
    std::size_t begin = 0;
    while (!path.empty() && begin <= path.size()) {
        const std::size_t dot = std::min(path.find('.', begin), path.size());
        if (dot == begin)
            throw invalid(text("path \"", path,
                               "\" has an empty name in it; a path is names and positions joined by "
                               "dots, such as \"grads.0\""));
        begin = dot + 1;
    }
}

bool path_before(std::string_view a, std::string_view b) {
    while (!a.empty() && !b.empty()) {
        const int order = compare_components(cut(a), cut(b));
        if (order != 0) return order < 0;
    }
    return a.empty() && !b.empty();
}

void check_tree(std::vector<std::string> paths) {
    for (const std::string &path : paths) check_path(path);
    std::sort(paths.begin(), paths.end(), path_before);
    for (std::size_t i = 0; i < paths.size(); ++i) check_fits(i == 0 ? nullptr : &paths[i - 1], paths[i]);
}

ValuePointer structure_of(std::vector<Leaf> leaves) {
    if (leaves.size() == 1 && leaves[0].path.empty()) return std::move(leaves[0].value);
    std::vector<Leaf> flat;
    for (Leaf &leaf : leaves) {
        check_path(leaf.path);
        if (leaf.path.empty()) throw invalid("path \"\" is the whole value, so no other leaf can be beside it");
        if (!leaf.value->is_structure()) {
            flat.push_back(std::move(leaf));
            continue;
        }
        for (const Leaf &inner : leaf.value->leaves()) flat.push_back({text(leaf.path, '.', inner.path), inner.value});
    }
    std::sort(flat.begin(), flat.end(), [](const Leaf &a, const Leaf &b) { return path_before(a.path, b.path); });
    for (std::size_t i = 0; i < flat.size(); ++i) check_fits(i == 0 ? nullptr : &flat[i - 1].path, flat[i].path);
    return std::make_shared<Value>(std::move(flat));
}

std::size_t leaf_count(const Value &value) {
    return value.is_structure() ? value.leaves().size() : 1;
}

const std::string &leaf_path(const Value &value, std::size_t index) {
    static const std::string whole;
    return index < value.leaves().size() ? value.leaves()[index].path : whole;
}

ValuePointer part_of(const ValuePointer &value, std::string_view path) {
    if (path.empty()) return value;
    check_path(path);
    const std::vector<Leaf> &leaves = value->leaves();
    const auto [first, last] = range_of(leaves, path);
    if (first == last) throw not_found(*value, path, "the value");
    if (leaves[first].path == path) return leaves[first].value;
    std::vector<Leaf> part;
    for (std::size_t i = first; i < last; ++i)
        part.push_back({leaves[i].path.substr(path.size() + 1), leaves[i].value});
    return std::make_shared<Value>(std::move(part));
}

const Value &leaf_of(const Value &value, std::string_view path, const std::string &what) {
    if (path.empty()) {
        if (value.is_structure()) throw value.refused(what);
        return value;
    }
    check_path(path);
    const std::vector<Leaf> &leaves = value.leaves();
    const auto [first, last] = range_of(leaves, path);
    if (first == last) throw not_found(value, path, what);
    if (leaves[first].path == path) return *leaves[first].value;
    throw invalid(text(what, " has no tensor at \"", path, "\", but ", last - first,
                       " leaves below it, beginning with \"", leaves[first].path, "\""));
}

void check_arguments(const std::vector<ValuePointer> &arguments, std::size_t replicas) {
    for (std::size_t i = 0; i < arguments.size(); ++i)
        visit_leaves(*arguments[i], [&](const Value &leaf, std::size_t) {
            leaf.check_count(replicas, static_cast<std::ptrdiff_t>(i));
            leaf.check_no_rows(static_cast<std::ptrdiff_t>(i));
        });
}

} // namespace mdist
