// SPDX-License-Identifier: Apache-2.0
// JSON as far as files of ours are made of it: objects, texts, whole numbers and lists of these. What else there may be
// is kept as a word. Reading takes memory in proportion to the text, and without memory it fails as everything does,
// for which a document of nlohmann-json's own is not made. Any thread.
#pragma once

#include "util/failure.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mdist {

struct Json {
    enum class Kind { kWord, kText, kNumber, kNumbers, kObject };
    Kind kind = Kind::kWord;
    std::string text; // of a text, or a word: "null", "-1"
    uint64_t number = 0;
    std::vector<uint64_t> numbers;
    std::map<std::string, std::size_t> keys; // of an object: which of the members
    std::vector<Json> members;

    bool is(Kind other) const { return kind == other; }
    /// Of an object; nullptr if there is none of that name and kind.
    const Json *find(const std::string &key, Kind wanted) const;
    /// How it is shown in a sentence.
    std::string shown() const;
};

Failure bad_data(std::string message);

/// Throws DATA_LOSS for what is no JSON, nests deeper than files of ours do, gives a key twice, or has a list of
/// anything but whole numbers from 0.
Json parse_json(std::string_view text);

/// What a text (UTF-8), and a list, look like in JSON.
std::string json_of(std::string_view text);
std::string json_of(const std::vector<uint64_t> &numbers);

} // namespace mdist
