// SPDX-License-Identifier: Apache-2.0
// Completions: programs for a shell that complete the command line of mdist. Main thread.
#pragma once

#include "help/page.h"

namespace mdist {

/// Bash, zsh or fish; another shell gives "". `pages` are the tool's own and then those of its commands.
std::string completions_for(const std::string &shell, const std::vector<Page> &pages);

} // namespace mdist
