// SPDX-License-Identifier: Apache-2.0
// Writes the files that pipelines read. README.md describes the sets.
#pragma once

#include <string>
#include <vector>

namespace golden {

void write_files(const std::string &folder);
void remove_files(const std::string &folder);

/// Returns the paths of the files of a set.
std::vector<std::string> names_of(const std::string &folder, const std::string &kind, const std::string &set);

} // namespace golden
