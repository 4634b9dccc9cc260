// SPDX-License-Identifier: Apache-2.0
// Replays the cases of semantics.jsonl through the public API. Results have the form of TensorFlow's answers: [numbers
// in nested lists, "float32"] is a tensor, and {"error": "WORD"} is a call that failed.
#pragma once

// Must come before cmocka's header, which defines macros with names that streams use.
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "mdist_test.h"

namespace golden {

using Json = nlohmann::json;

/// An array on the host. For integers, numbers are cut off towards zero, as the cases were made.
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

/// Converts a NumPy code to a dtype: f4, f8, i4, i8.
mdist_dtype_t dtype_of(const std::string &code);
Json shown(const mdist_tensor_t &tensor);
/// Returns the tensor of a plain value. Destroys the value.
Json shown(mdist_value_t *value);
/// Returns null for MDIST_OK, otherwise {"error": "WORD"}.
Json outcome(mdist_status_t status);

/// Returns a strategy with that many replicas. It is made once for all cases, and never destroyed.
mdist_strategy_t *strategy_of(uint32_t replicas);
/// Makes a per-replica value of one array for each replica.
mdist_value_t *per_replica(mdist_strategy_t *strategy, std::vector<Array> &arrays);
/// Runs `step` on every replica. The outcome is that of the first failure.
Json run(mdist_strategy_t *strategy, const std::function<mdist_status_t(mdist_replica_t *, uint32_t id)> &step);

Json replay_variable(const Json &given);
Json replay_rows(const Json &given);
Json replay_reduce(const Json &given);
Json replay_gather(const Json &given);
Json replay_all_reduce(const Json &given);
Json replay_loss(const Json &given);

/// Tells whether two answers agree. The last bits of floats may differ. Any two errors agree.
bool agree(const Json &here, const Json &tensorflow);

/// A way in which answers differ on purpose.
struct Deviation {
    const char *name;
    const char *reason;
    int count;
    std::function<bool(const Json &given, const Json &here, const Json &tensorflow)> explains;
};
const std::vector<Deviation> &deviations();

} // namespace golden
