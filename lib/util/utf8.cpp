// SPDX-License-Identifier: Apache-2.0
#include "util/utf8.h"

#include "util/failure.h"
#include "util/text.h"

#include <cstdint>

namespace mdist {
namespace {

void append_hex(std::string &out, char bad) {
    constexpr char kHex[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(bad);
    out += "\\x";
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
}

} // namespace

std::size_t utf8_character(std::string_view text) {
    auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
    if (text.empty()) return 0;
    std::uint32_t first = byte(0);
    if (first < 0x80) return 1;
    std::size_t length = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 && first < 0xf0 ? 3 : 2;
    if (first < 0xc2 || first >= 0xf5 || text.size() < length) return 0;
    std::uint32_t code = first & (0x7fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
        code = code << 6 | (byte(i) & 0x3f);
    }
    constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < kSmallest[length] || code > 0x10ffff || surrogate ? 0 : length;
}

void require_utf8(const char *what, std::string_view text) {
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t length = utf8_character(rest);
        if (length == 0) throw invalid(mdist::text(what, " ", in_quotes(text), " is not valid UTF-8"));
        rest.remove_prefix(length);
    }
}

std::string in_quotes(std::string_view text) {
    constexpr std::size_t kLongest = 80;
    std::string out = "\"";
    while (!text.empty()) {
        if (out.size() > kLongest) return out += "...\"";
        std::size_t length = utf8_character(text);
        auto byte = static_cast<unsigned char>(text[0]);
        if (length == 0 || byte < 0x20 || byte == 0x7f) {
            append_hex(out, text[0]);
            length = 1;
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(length);
    }
    return out += '"';
}

std::string utf8_within(std::size_t most, std::string_view text) {
    constexpr std::string_view kCut = "...";
    std::string out;
    std::size_t room_for_cut = 0; // the last length of `out` at which kCut still fits
    while (!text.empty()) {
        if (out.size() + kCut.size() <= most) room_for_cut = out.size();
        const std::size_t length = utf8_character(text);
        if (length == 0)
            append_hex(out, text[0]);
        else
            out += text.substr(0, length);
        if (out.size() > most) return out.replace(room_for_cut, std::string::npos, kCut);
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return out;
}

} // namespace mdist
