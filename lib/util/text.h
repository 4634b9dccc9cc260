// SPDX-License-Identifier: Apache-2.0
// Text: builds sentences. `text("batch ", n, " of ", m)` joins strings, characters and numbers.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace mdist {

/// A string, which must outlive it, a character or a number. Constructors convert, so that parts are written like
/// arguments.
struct TextPart {
    enum class Kind : uint8_t { kWords, kCharacter, kSigned, kUnsigned, kReal };

    TextPart(std::string_view part) : kind(Kind::kWords), words(part) {}
    TextPart(const std::string &part) : TextPart(std::string_view(part)) {}
    TextPart(const char *part) : TextPart(std::string_view(part)) {}
    TextPart(char part) : kind(Kind::kCharacter), character(part) {}
    template <std::signed_integral Number>
    TextPart(Number part) : kind(Kind::kSigned), whole(part) {}
    template <std::unsigned_integral Number>
    TextPart(Number part) : kind(Kind::kUnsigned), natural(part) {}
    template <std::floating_point Number>
    TextPart(Number part) : kind(Kind::kReal), real(part) {}

    Kind kind;
    union {
        std::string_view words;
        char character;
        int64_t whole;
        uint64_t natural;
        double real;
    };
};

std::string joined(std::initializer_list<TextPart> parts);

// Only fills an array: to be expanded at each of a thousand calls, it must be short.
template <typename... Parts>
std::string text(const Parts &...parts) {
    return joined({TextPart(parts)...});
}

/// Returns the shortest text that reads back as the same number.
std::string exact_text(double number);

/// Returns what `text_of` makes of each, with ", " in between. Of more than `most`, the first ones and `rest`.
template <typename Range, typename TextOf = std::identity>
std::string list_of(const Range &all, TextOf text_of = {}, std::size_t most = SIZE_MAX,
                    std::string_view rest = " ...") {
    std::string out;
    std::size_t count = 0;
    for (const auto &one : all) {
        if (count == most) return out.append(rest);
        out += text(count++ == 0 ? "" : ", ", text_of(one));
    }
    return out;
}

/// Returns "1, 2, 3". For more than 16 numbers, returns the first 16 and the count.
std::string listed(const std::vector<uint64_t> &numbers);

} // namespace mdist
