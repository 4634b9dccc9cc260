// SPDX-License-Identifier: Apache-2.0
// What workers compare when they join, as texts with a line for each thing: "SLURM_JOB_ID = 17". Any thread.
#pragma once

#include <string>
#include <string_view>

namespace mdist {

/// The line of a text with that name; "" if there is none.
std::string line_of(const std::string &text, std::string_view name);
/// Lists the lines that differ between two texts: "`a = 1` there, `a = 2` here". Leaves out keys that only `there` has.
std::string differing_lines(const std::string &there, const std::string &here);
/// The name of the first line that both texts have with different values: "SLURM_JOB_ID". Empty if there is none.
std::string different_run(const std::string &a, const std::string &b);

} // namespace mdist
