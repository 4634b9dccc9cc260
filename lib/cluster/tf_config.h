// SPDX-License-Identifier: Apache-2.0
// TF_CONFIG: TensorFlow's description of a cluster and a task, as JSON.
//
// The rules are TensorFlow's:
//   - unknown keys are ignored
//   - a missing or empty cluster means local mode, and its task is ignored
//   - lists may be objects {"index": "host:port"}
//   - an index may be a decimal text
// It is stricter than TensorFlow in two ways: a key given twice is refused, and addresses must be well-formed. Pure
// functions, any thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "cluster/cluster.h"

namespace mdist {

inline constexpr std::size_t kMostTfConfigBytes = 1024 * 1024;
inline constexpr std::size_t kMostTfConfigDepth = 32;

/// Returns an empty cluster if the text names none. Otherwise the cluster has its own task and is checked. Throws
/// CONFIG, reasons "bad_json", "too_large" and "bad_cluster". Messages begin with `name` and say where the fault is.
Cluster parse_tf_config(std::string_view json, std::string_view name);

} // namespace mdist
