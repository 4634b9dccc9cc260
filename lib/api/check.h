// SPDX-License-Identifier: Apache-2.0
// Argument checks that every exported function makes before anything else. Each throws INVALID_ARGUMENT naming the
// argument, unless its comment says otherwise. No state; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <mdist/base.h>

namespace mdist {

/// Refuses NULL: "out is NULL".
void need(const void *pointer, const char *name);
/// Refuses NULL, and what is not UTF-8. For names, paths and other text that a program gives.
void need_text(const char *text, const char *name);
/// Refuses NULL unless the count is 0.
void need_array(const void *pointer, std::size_t count, const char *name);
/// Refuses a nonzero flag or reserved field that this version does not know.
void need_zero(uint64_t field, const char *name);

/// A macro of those that are larger than any count, and what it is called.
struct Reserved {
    uint64_t number;
    const char *name;
};
/// Refuses the numbers from 2^63 - 256 to 2^63 - 1, but for `meant`: they are macros for other places (MDIST_FOREVER,
/// MDIST_LATEST ...).
void check_number(uint64_t number, const char *name, Reserved meant = {MDIST_FOREVER, "MDIST_FOREVER"});

/// Checks a caller's `struct_size`. It must be at least `first_size`, and all bytes past `known_size` must be zero.
/// Else throws UNSUPPORTED, since a newer caller asks for something that this version lacks.
void check_struct_size(const void *options, std::size_t first_size, std::size_t known_size, const char *name);

/// Returns the caller's options, filled up with zeros; all zeros for NULL. `first_size` is the size of the struct's
/// first version.
template <class Options>
Options read_options(const Options *options, const char *name, std::size_t first_size = sizeof(Options)) {
    Options known = {};
    if (options == nullptr) return known;
    check_struct_size(options, first_size, sizeof known, name);
    std::memcpy(&known, options, options->struct_size < sizeof known ? options->struct_size : sizeof known);
    return known;
}

/// Writes `from` and a NUL into `text` of `capacity` bytes. Text that does not fit is cut off between characters.
/// Writes the full size to `needed` unless that is NULL. `text` may be NULL if the capacity is 0.
void copy_text(std::string_view from, char *text, std::size_t capacity, std::size_t *needed);

} // namespace mdist
