// SPDX-License-Identifier: Apache-2.0
// Text from outside: is it UTF-8, and how is it shown inside a sentence. Messages are always valid UTF-8 on one line,
// whatever bytes a file or a variable held. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mdist {

/// Bytes of the character that `text` begins with; 0 where they are not UTF-8 (overlong forms and surrogates included).
std::size_t utf8_character(std::string_view text);

/// `text` in double quotes, with control and bad bytes as \xNN, cut off with "..." after about 80 bytes.
std::string quoted(std::string_view text);

} // namespace mdist
