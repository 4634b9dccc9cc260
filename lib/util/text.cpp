// SPDX-License-Identifier: Apache-2.0
#include "util/text.h"

#include <charconv>

namespace mdist {

std::string joined(std::initializer_list<TextPart> parts) {
    using Kind = TextPart::Kind;
    std::string out;
    for (const TextPart &part : parts) {
        if (part.kind == Kind::kWords) out += part.words;
        if (part.kind == Kind::kCharacter) out += part.character;
        if (part.kind == Kind::kSigned) out += std::to_string(part.whole);
        if (part.kind == Kind::kUnsigned) out += std::to_string(part.natural);
        if (part.kind == Kind::kReal) out += std::to_string(part.real);
    }
    return out;
}

std::string exact_text(double number) {
    char digits[32];
    return std::string(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

std::string listed(const std::vector<uint64_t> &numbers) {
    return list_of(numbers, {}, 16, text(" ... (", numbers.size(), " in all)"));
}

} // namespace mdist
