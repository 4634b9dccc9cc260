// SPDX-License-Identifier: Apache-2.0
#include "launch/hostfile.h"

#include "launch/options.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace mdist {
namespace {

/// Returns the host as in --hosts, or "" for a line without one.
std::string host_of_line(const std::string &line, const std::string &where) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string host;
    words >> host;
    for (std::string word; words >> word;) {
        const std::size_t equals = word.find('=');
        const std::string name = word.substr(0, equals);
        if (name == "max_slots" || name == "max-slots") continue; // more than the slots are never used
        if (name != "slots" || equals == std::string::npos)
            throw UsageError(where + ": \"" + word + "\" is not known; write alpha, alpha:2 or alpha slots=2");
        if (host.front() != '[' && std::count(host.begin(), host.end(), ':') > 1) host = "[" + host + "]";
        host += ":" + word.substr(equals + 1);
    }
    return host;
}

} // namespace

std::vector<HostLine> host_lines(std::istream &text, const std::string &where) {
    std::vector<HostLine> lines;
    uint32_t number = 0;
    for (std::string line; std::getline(text, line);) {
        const std::string place = where + ":" + std::to_string(++number);
        if (const std::string host = host_of_line(line, place); !host.empty()) lines.push_back({place, host});
    }
    return lines;
}

std::vector<HostLine> read_hostfile(const std::string &path) {
    errno = 0;
    std::ifstream file(path);
    std::vector<HostLine> lines = host_lines(file, path);
    if (!file.is_open() || file.bad())
        throw UsageError("--hostfile " + path + " cannot be read: " + std::strerror(errno));
    if (lines.empty()) throw UsageError("--hostfile " + path + " names no host");
    return lines;
}

} // namespace mdist
