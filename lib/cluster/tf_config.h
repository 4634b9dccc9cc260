// SPDX-License-Identifier: Apache-2.0
// TF_CONFIG: TensorFlow's description of a cluster and a task, as JSON.
//
// Read with TensorFlow's rules: unknown keys are passed over, a missing or empty cluster is local mode and its task
// ignored, lists may be objects {"index": "host:port"}, an index may be a decimal text. Stricter than TensorFlow: a key
// given twice is refused, and addresses have to be some. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cluster/cluster.h"

namespace mdist {

inline constexpr std::size_t kMostTfConfigBytes = 1024 * 1024;
inline constexpr std::size_t kMostTfConfigDepth = 32;

/// Empty where it names no cluster. With one, the cluster has its own task and is checked. Throws CONFIG, reasons
/// "bad_json", "too_large" and "bad_cluster"; sentences begin with `name` and say where.
Cluster parse_tf_config(std::string_view json, std::string_view name);

} // namespace mdist
