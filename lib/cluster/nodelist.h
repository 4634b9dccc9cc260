// SPDX-License-Identifier: Apache-2.0
// Nodelist: expands Slurm's short forms for lists of hosts and counts. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mdist {

inline constexpr std::size_t kMostHosts = 65536;

/// Expands "rack[0-1]_blade[00-02],n5" to rack0_blade00 ... rack1_blade02, n5. Keeps zero padding, order and
/// duplicates. Throws CONFIG, reason "bad_nodelist", also for text behind the last bracket of a name, which Slurm does
/// not have.
std::vector<std::string> expand_nodelist(std::string_view list);

/// Expands "2(x3),1" to 2, 2, 2, 1. Throws CONFIG, reason "bad_nodelist".
std::vector<std::uint32_t> expand_counts(std::string_view list);

} // namespace mdist
