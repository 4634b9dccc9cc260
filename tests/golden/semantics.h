// SPDX-License-Identifier: Apache-2.0
// Replays the cases of semantics.jsonl through the public API. What comes out has the form of TensorFlow's answers:
// [numbers in nested lists, "float32"] is a tensor, {"error": "WORD"} a call that failed.
#pragma once

// Before cmocka's: it makes macros of words that streams use.
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "mdist_test.h"

namespace golden {

using Json = nlohmann::json;

/// An array on the host. Numbers are cut off towards zero for integers, as the cases were made.
class Array {
  public:
    Array(const std::string &code, std::vector<uint64_t> shape, const std::vector<double> &numbers);
    mdist_tensor_t tensor();
    mdist_buffer_t buffer();

  private:
    mdist_dtype_t dtype_;
    std::vector<uint64_t> shape_;
    std::vector<char> bytes_;
};

/// Of NumPy's codes: f4, f8, i4, i8.
mdist_dtype_t dtype_of(const std::string &code);
Json shown(const mdist_tensor_t &tensor);
/// The tensor of a plain value, which is destroyed.
Json shown(mdist_value_t *value);
/// null, or {"error": "WORD"}.
Json outcome(mdist_status_t status);

/// As many replicas, made once for all cases; never destroyed before the program ends.
mdist_strategy_t *strategy_of(uint32_t replicas);
/// One for each replica: made, used, destroyed.
mdist_value_t *per_replica(mdist_strategy_t *strategy, std::vector<Array> &arrays);
/// Runs `step` on every replica; the step's first failure is the outcome.
Json run(mdist_strategy_t *strategy, const std::function<mdist_status_t(mdist_replica_t *, uint32_t id)> &step);

Json replay_variable(const Json &given);
Json replay_rows(const Json &given);
Json replay_reduce(const Json &given);
Json replay_gather(const Json &given);
Json replay_all_reduce(const Json &given);
Json replay_loss(const Json &given);

/// Equal up to the last bits of a float; an error is one, whatever its class.
bool agree(const Json &here, const Json &tensorflow);

/// A way in which answers differ on purpose: how many do, and what is right here.
struct Deviation {
    const char *name;
    const char *reason;
    int count;
    std::function<bool(const Json &given, const Json &here, const Json &tensorflow)> explains;
};
const std::vector<Deviation> &deviations();

} // namespace golden
