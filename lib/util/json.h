// SPDX-License-Identifier: Apache-2.0
// JSON: reads objects, lists, texts and whole numbers. Every other value is kept as a word. Memory use is proportional
// to the text, and lack of memory throws bad_alloc. This is why nlohmann-json's own document type is not used. Any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace mdist {

struct Json {
    enum class Kind { kWord, kText, kNumber, kNumbers, kList, kObject };
    Kind kind = Kind::kWord;
    std::string text; // of a text, or a word: "null", "-1"
    uint64_t number = 0;
    std::vector<uint64_t> numbers;           // of a list that holds only whole numbers of at least 0
    std::vector<Json> members;               // of any other list, or an object
    std::map<std::string, std::size_t> keys; // of an object: the index of each key's member

    bool is(Kind other) const { return kind == other; }
    bool is_null() const { return kind == Kind::kWord && text == "null"; }
    /// Returns a member of an object, or nullptr if it has no such key.
    const Json *find(const std::string &key) const;
    /// The same, and nullptr if the member is of another kind.
    const Json *find(const std::string &key, Kind wanted) const;
    /// Returns the text that shows it in a sentence.
    std::string shown() const;
};

/// What is wrong with a text. The catcher adds which text it is.
struct JsonFault final : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Reads a text. Throws JsonFault if it is no JSON, has a number beyond every range, nests deeper than `deepest` lists
/// and objects, or gives a key twice.
Json parse_json(std::string_view text, std::size_t deepest);

/// Writes a text (UTF-8) or a list as JSON.
std::string json_of(std::string_view text);
std::string json_of(const std::vector<uint64_t> &numbers);

} // namespace mdist
