// SPDX-License-Identifier: Apache-2.0
// Nodelist: Slurm's short forms for many hosts and many counts, written out. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mdist {

inline constexpr std::size_t kMostHosts = 65536;

/// "rack[0-1]_blade[00-02],n5" is rack0_blade00 ... rack1_blade02, n5: zero padding, order and duplicates are kept.
/// What follows the last bracket of a name is no part of Slurm's language. Throws CONFIG, reason "bad_nodelist".
std::vector<std::string> expand_nodelist(std::string_view list);

/// "2(x3),1" is 2, 2, 2, 1. Throws CONFIG, reason "bad_nodelist".
std::vector<std::uint32_t> expand_counts(std::string_view list);

} // namespace mdist
