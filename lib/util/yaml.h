// SPDX-License-Identifier: Apache-2.0
// YAML: the part of it that a configuration needs, read into a flat list of dotted keys.
//
// Nested mappings give the dots; a value is a scalar or a list of scalars, kept as text. Everything else (anchors,
// tags, lists in lists, several documents ...) is refused, and so is a key given twice. Time and memory are linear in
// the input, which is at most kMostBytes. The only user of libyaml. Pure function, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mdist::yaml {

inline constexpr std::size_t kMostBytes = 64 * 1024;
inline constexpr int kMostDepth = 32;
/// Of a dotted key. Bounds what nesting can multiply.
inline constexpr std::size_t kMostKeyBytes = 256;

/// Both counted from 1; columns are characters.
struct Place {
    std::size_t line = 0;
    std::size_t column = 0;
};

struct Entry {
    std::string key;
    std::vector<std::string> values; // one, unless is_list
    bool is_list = false;
    Place key_place;
    Place value_place;
};

/// In the order of the text. `name` stands for the text in messages: a file name, say. Failures are CONFIG with reason
/// "bad_yaml" and begin with `name:line:column: `.
std::vector<Entry> read(std::string_view text, std::string_view name);

/// "cluster.yaml:3:12"
std::string place_text(std::string_view name, Place place);

} // namespace mdist::yaml
