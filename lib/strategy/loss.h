// SPDX-License-Identifier: Apache-2.0
// What replicas divide their losses by.
#pragma once

#include <cstdint>

namespace mdist {

class Replica;

/// The sum of what all replicas give; each calls it in its step.
uint64_t count_together(Replica &replica, uint64_t own, uint64_t timeout_ns);

} // namespace mdist
