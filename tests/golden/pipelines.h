// SPDX-License-Identifier: Apache-2.0
// The pipelines of pipelines.jsonl: made through the public API, and what their iterators give as JSON like
// TensorFlow's answers. One thread per process.
#pragma once

#include <mdist/mdist.h>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace golden {

using Json = nlohmann::json;

/// All lines of a file.
std::vector<Json> cases_in(const char *path);

/// What this worker gets of `spec`, as {"steps": [step][replica][component], "end": ...}; the end is "end", "max", or
/// the status of the call that failed and its reason, "MDIST_ERR_FAILED_PRECONDITION too_few_files".
Json dealt(mdist_strategy_t *strategy, const Json &spec, const std::string &folder);

} // namespace golden
