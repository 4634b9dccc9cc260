// SPDX-License-Identifier: Apache-2.0
// Reads the file of --hostfile, as Open MPI and MPICH write it. Any thread.
#pragma once

#include <string>
#include <vector>

namespace mdist {

struct HostLine {
    std::string where; // "hosts.txt:3"
    std::string host;  // as in --hosts: "alpha:2"
};

/// Returns the lines that name a host. Throws UsageError.
std::vector<HostLine> read_hostfile(const std::string &path);

} // namespace mdist
