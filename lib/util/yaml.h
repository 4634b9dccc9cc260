// SPDX-License-Identifier: Apache-2.0
// YAML: reads the part of it that a configuration needs, into a list of dotted keys.
//
// Nested mappings make dotted keys. A value is a scalar or a list of scalars, kept as text. Everything else (anchors,
// tags, lists in lists, several documents ...) is an error, and so is a key given twice. Time and memory are linear in
// the input, which is at most kMostBytes. The only user of libyaml. Pure function, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mdist::yaml {

inline constexpr std::size_t kMostBytes = 64 * 1024;
inline constexpr int kMostDepth = 32;
/// The longest dotted key. It limits how much nesting can multiply the text.
inline constexpr std::size_t kMostKeyBytes = 256;

/// Line and column, both counted from 1. Columns count characters.
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

/// Returns the entries in the order of the text. `name` names the text in messages, for example a file name. Throws
/// CONFIG with reason "bad_yaml"; the message begins with `name:line:column: `.
std::vector<Entry> read(std::string_view text, std::string_view name);

/// "cluster.yaml:3:12"
std::string place_text(std::string_view name, Place place);

} // namespace mdist::yaml
