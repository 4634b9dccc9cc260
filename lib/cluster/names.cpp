// SPDX-License-Identifier: Apache-2.0
#include "cluster/names.h"

#include <algorithm>

namespace mdist {

namespace {

/// A longer name is no typing mistake. The limit also bounds the work.
constexpr std::size_t kLongestName = 64;

/// Counts the letters to change, add, drop, or swap with their neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        before.swap(last);
        last.swap(row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
    }
    return row[b.size()];
}

std::string_view last_part(std::string_view name) {
    return name.substr(name.rfind('.') + 1);
}

} // namespace

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kSpace = " \t\r\n";
    auto begin = text.find_first_not_of(kSpace);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string lower_case(std::string_view text) {
    std::string out(text);
    for (char &c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
    return out;
}

std::vector<std::string> split_list(std::string_view text) {
    std::vector<std::string> items;
    if (trimmed(text).empty()) return items;
    for (;;) {
        auto comma = text.find(',');
        items.emplace_back(trimmed(text.substr(0, comma)));
        if (comma == std::string_view::npos) return items;
        text.remove_prefix(comma + 1);
    }
}

std::string_view nearest_name(std::string_view wrong, std::span<const std::string> names) {
    if (wrong.empty() || wrong.size() > kLongestName) return {};
    std::string_view best;
    std::size_t allowed = std::clamp<std::size_t>(wrong.size() / 3, 1, 3);
    std::size_t best_distance = allowed + 1;
    for (const std::string &name : names) {
        std::size_t distance = std::min(edit_distance(wrong, name), edit_distance(wrong, last_part(name)));
        if (distance < best_distance) {
            best = name;
            best_distance = distance;
        }
    }
    return best;
}

} // namespace mdist
