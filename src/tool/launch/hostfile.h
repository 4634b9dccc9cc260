// SPDX-License-Identifier: Apache-2.0
// Reads the file of --hostfile, as Open MPI and MPICH write it. Any thread.
#pragma once

#include <istream>
#include <string>
#include <vector>

namespace mdist {

struct HostLine {
    std::string where; // "hosts.txt:3"
    std::string host;  // as in --hosts: "alpha:2"
};

/// The lines that name a host. `where` names the text in the UsageError that it throws.
std::vector<HostLine> host_lines(std::istream &text, const std::string &where);
/// Returns those of a file. Throws UsageError.
std::vector<HostLine> read_hostfile(const std::string &path);

} // namespace mdist
