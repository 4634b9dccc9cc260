// SPDX-License-Identifier: Apache-2.0
// Suggests the word that a user probably meant. Pure function; any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace mdist {

/// The edit distance: how many letters to insert, remove or change to turn one word into the other.
inline std::size_t letters_apart(const std::string &one, const std::string &other) {
    std::vector<std::size_t> row(other.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < one.size(); ++i) {
        std::size_t corner = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < other.size(); ++j) {
            const std::size_t changed = corner + (one[i] == other[j] ? 0 : 1);
            corner = row[j + 1];
            row[j + 1] = std::min({changed, row[j] + 1, corner + 1});
        }
    }
    return row.back();
}

/// Returns the nearest candidate; "" if there is none. It may differ from `word` by a third of its letters, or by one
/// letter if it is short.
inline std::string nearest(const std::string &word, const std::vector<std::string> &candidates) {
    std::string best;
    std::size_t least = 0;
    for (const std::string &candidate : candidates) {
        const std::size_t apart = letters_apart(word, candidate);
        const std::size_t allowed = std::max<std::size_t>(1, candidate.size() / 3);
        if (apart > allowed || (!best.empty() && apart >= least)) continue;
        best = candidate;
        least = apart;
    }
    return best;
}

} // namespace mdist
