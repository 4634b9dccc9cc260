// SPDX-License-Identifier: Apache-2.0
// IteratorState: the position of an iteration, converted to printable text and back. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mdist {

struct IteratorState {
    std::string dataset;               // Dataset::description, short_description()
    std::string layout = {};           // Dataset::layout
    uint64_t taken = 0;                // elements
    std::vector<uint64_t> orders = {}; // Series::numbers

    bool operator==(const IteratorState &) const = default;
};

/// Returns the description itself or, if it is long, its beginning and a checksum.
std::string short_description(const std::string &description);

/// {"mdist.iterator":"1","dataset":"range(9 numbers from 0, step 1) | batch(2)","layout":"","taken":3,"orders":[0],
/// "crc32c":123}
std::string encode_iterator_state(const IteratorState &state);

/// Throws DATA_LOSS, reason "corrupt", if the text is not a state or its checksum is wrong.
IteratorState parse_iterator_state(std::string_view text);

} // namespace mdist
