// SPDX-License-Identifier: Apache-2.0
// Text: putting sentences together. `text("batch ", n, " of ", m)` joins whatever has an operator<<-like meaning here.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

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

} // namespace mdist
