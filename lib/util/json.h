// SPDX-License-Identifier: Apache-2.0
// JSON as far as it is met here: objects, lists, texts and whole numbers. What else there may be is kept as a word.
// Reading takes memory in proportion to the text, and without memory it fails as everything does, for which a document
// of nlohmann-json's own is not made. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdist {

struct Json {
    enum class Kind { kWord, kText, kNumber, kNumbers, kList, kObject };
    Kind kind = Kind::kWord;
    std::string text; // of a text, or a word: "null", "-1"
    uint64_t number = 0;
    std::vector<uint64_t> numbers;           // of a list of nothing but whole numbers from 0
    std::vector<Json> members;               // of another list, or an object
    std::map<std::string, std::size_t> keys; // of an object: which of the members

    bool is(Kind other) const { return kind == other; }
    bool is_null() const { return kind == Kind::kWord && text == "null"; }
    /// Of an object; nullptr if there is none of that name.
    const Json *find(const std::string &key) const;
    /// And of that kind.
    const Json *find(const std::string &key, Kind wanted) const;
    /// How it is shown in a sentence.
    std::string shown() const;
};

/// What is wrong with a text, for sentences that say whose it is.
struct JsonFault final : std::exception {
    enum class Kind { kSyntax, kTooLarge, kTooDeep, kTwice };
    Kind kind;
    std::size_t byte; // kSyntax: how many were read, the one that does not belong included
    std::string message;

    JsonFault(Kind what_kind, std::size_t at, std::string sentence)
        : kind(what_kind), byte(at), message(std::move(sentence)) {}
    const char *what() const noexcept override { return message.c_str(); }
};

/// Throws JsonFault for what is no JSON, has a number past every range, nests deeper than `deepest` lists and objects,
/// or gives a key twice.
Json parse_json(std::string_view text, std::size_t deepest);

/// What a text (UTF-8), and a list, look like in JSON.
std::string json_of(std::string_view text);
std::string json_of(const std::vector<uint64_t> &numbers);

} // namespace mdist
