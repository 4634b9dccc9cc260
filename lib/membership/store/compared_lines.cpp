// SPDX-License-Identifier: Apache-2.0
#include "membership/store/compared_lines.h"

#include "util/text.h"
#include "util/utf8.h"

#include <set>
#include <sstream>

namespace mdist {
namespace {

constexpr std::size_t kMostLines = 16;

std::set<std::string> lines_of(const std::string &text) {
    std::set<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        if (!line.empty()) lines.insert(line);
    return lines;
}

std::string_view key_of(std::string_view line) {
    return line.substr(0, line.find(" = "));
}

std::string listed(const std::set<std::string> &lines, const std::set<std::string> &but) {
    std::string out;
    std::size_t count = 0;
    for (const std::string &line : lines) {
        if (but.count(line) != 0) continue;
        if (++count > kMostLines) return out + " ...";
        out += text(out.empty() ? "" : ", ", in_quotes(line));
    }
    return out.empty() ? "no such line" : out;
}

} // namespace

std::string line_of(const std::string &text, std::string_view name) {
    for (const std::string &line : lines_of(text))
        if (key_of(line) == name) return line;
    return "";
}

std::string differing_lines(const std::string &there, const std::string &here) {
    auto theirs = lines_of(there);
    const auto ours = lines_of(here);
    std::set<std::string_view> asked;
    for (const std::string &line : ours) asked.insert(key_of(line));
    std::erase_if(theirs, [&](const std::string &line) { return asked.count(key_of(line)) == 0; });
    return text(listed(theirs, ours), " there, ", listed(ours, theirs), " here");
}

std::string different_run(const std::string &a, const std::string &b) {
    for (const std::string &line : lines_of(a)) {
        const std::string other = line_of(b, key_of(line));
        if (!other.empty() && other != line) return std::string(key_of(line));
    }
    return "";
}

} // namespace mdist
