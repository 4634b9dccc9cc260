// SPDX-License-Identifier: Apache-2.0
// JSON of files that may be damaged, or made to do harm. Any thread.
#pragma once

#include "util/failure.h"
#include "util/utf8.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace mdist {

using Json = nlohmann::json;

Failure bad_data(std::string message);

/// Throws DATA_LOSS for what is no JSON, nests deeper than files of ours do, or gives a key twice.
Json parse_json(std::string_view text);

/// How a value is shown in a sentence.
std::string shown(const Json &value);

} // namespace mdist
