// SPDX-License-Identifier: Apache-2.0
// Checks text from outside for UTF-8, and makes it fit to show in a sentence. Messages are always valid UTF-8, whatever
// bytes a file or a variable held. They are on one line, except for text that the program itself passes. Pure
// functions, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mdist {

/// Returns the length in bytes of the first character of `text`, or 0 if it is not UTF-8. Overlong forms and surrogates
/// are not UTF-8.
std::size_t utf8_character(std::string_view text);

/// Throws INVALID_ARGUMENT, naming `what`, unless `text` is UTF-8.
void require_utf8(const char *what, std::string_view text);

/// Returns `text` in double quotes, with control and bad bytes as \xNN. It is cut off with "..." after about 80 bytes.
std::string in_quotes(std::string_view text);

/// Returns `text` in at most `most` bytes (4 or more), with bad bytes as \xNN. "..." ends a text that was cut off.
std::string utf8_within(std::size_t most, std::string_view text);

} // namespace mdist
