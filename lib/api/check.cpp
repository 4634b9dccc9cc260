// SPDX-License-Identifier: Apache-2.0
#include "api/check.h"

#include "util/failure.h"
#include "util/text.h"
#include "util/utf8.h"

namespace mdist {
namespace {

// Larger than any version of any struct. A greater size was never filled in.
constexpr uint32_t kLargestStruct = 4096;

} // namespace

void need(const void *pointer, const char *name) {
    if (pointer == nullptr) throw invalid(text(name, " is NULL"));
}

void need_text(const char *text, const char *name) {
    need(text, name);
    require_utf8(name, text);
}

void need_array(const void *pointer, std::size_t count, const char *name) {
    if (pointer == nullptr && count != 0) throw invalid(text(name, " is NULL with count ", count));
}

void need_zero(uint64_t field, const char *name) {
    if (field != 0) throw invalid(text(name, " is ", field, "; it must be 0"));
}

void check_number(uint64_t number, const char *name, Reserved meant) {
    constexpr uint64_t kFirst = 0x7fffffffffffff00, kLast = 0x7fffffffffffffff;
    if (number < kFirst || number > kLast || number == meant.number) return;
    throw invalid(text(name, " is ", number, "; the numbers from 2^63 - 256 on have a meaning elsewhere. Use ",
                       meant.name, " or a smaller number"));
}

void check_struct_size(const void *options, std::size_t first_size, std::size_t known_size, const char *name) {
    uint32_t size;
    std::memcpy(&size, options, sizeof size);
    if (size < first_size || size > kLargestStruct)
        throw invalid(text(name, " has struct_size ", size, "; set it to sizeof the struct, which is ", known_size));
    const auto *bytes = static_cast<const unsigned char *>(options);
    for (std::size_t i = known_size; i < size; ++i)
        if (bytes[i] != 0)
            throw Failure(MDIST_ERR_UNSUPPORTED, text(name, " sets a field beyond the first ", known_size,
                                                      " bytes, which are all that this version of the library knows. "
                                                      "Clear that field, or use a newer library"));
}

void copy_text(std::string_view from, char *text, std::size_t capacity, std::size_t *needed) {
    need_array(text, capacity, "text");
    if (needed != nullptr) *needed = from.size() + 1;
    if (capacity == 0) return;
    std::size_t length = from.size();
    if (length >= capacity) {
        length = capacity - 1;
        // from[length] is the first byte left out. Inside a character it is a continuation byte, 10xxxxxx.
        while (length > 0 && (static_cast<unsigned char>(from[length]) & 0xc0) == 0x80) --length;
    }
    std::memcpy(text, from.data(), length);
    text[length] = '\0';
}

} // namespace mdist
