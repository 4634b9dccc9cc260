// SPDX-License-Identifier: Apache-2.0
// Makes the pipelines of pipelines.jsonl through the public API, and converts what their iterators give to JSON in the
// form of TensorFlow's answers. One thread per process.
#pragma once

#include <mdist/mdist.h>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace golden {

using Json = nlohmann::json;

/// Parses all lines of a file.
std::vector<Json> cases_in(const char *path);

/// Returns what this worker gets from `spec`, as {"steps": [step][replica][component], "end": ...}. The end is "end",
/// "max", or the status and reason of the call that failed, such as "MDIST_ERR_FAILED_PRECONDITION too_few_files".
Json dealt(mdist_strategy_t *strategy, const Json &spec, const std::string &folder);

} // namespace golden
