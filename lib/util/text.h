// SPDX-License-Identifier: Apache-2.0
// Text: builds sentences. `text("batch ", n, " of ", m)` joins strings, characters and numbers.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace mdist {

inline void append_text(std::string &out, std::string_view part) {
    out += part;
}
inline void append_text(std::string &out, char part) {
    out += part;
}

template <typename Number, typename = std::enable_if_t<std::is_arithmetic_v<Number> && !std::is_same_v<Number, char>>>
void append_text(std::string &out, Number part) {
    out += std::to_string(part);
}

template <typename... Parts>
std::string text(const Parts &...parts) {
    std::string out;
    (append_text(out, parts), ...);
    return out;
}

/// Returns the shortest text that reads back as the same number.
inline std::string exact_text(double number) {
    char digits[32];
    return std::string(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

/// Returns "1, 2, 3". For more than 16 numbers, returns the first 16 and the count.
inline std::string listed(const std::vector<uint64_t> &numbers) {
    constexpr std::size_t kShown = 16;
    std::string all;
    for (std::size_t i = 0; i < numbers.size() && i < kShown; ++i) all += text(i == 0 ? "" : ", ", numbers[i]);
    return numbers.size() > kShown ? text(all, " ... (", numbers.size(), " in all)") : all;
}

} // namespace mdist
