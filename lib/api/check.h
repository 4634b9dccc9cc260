// SPDX-License-Identifier: Apache-2.0
// Check: what every exported function asks of its arguments before it does anything. Each throws INVALID_ARGUMENT
// naming the argument, unless it says otherwise. No state; any thread.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

#include <mdist/base.h>

namespace mdist {

/// NULL is refused: "out is NULL".
void need(const void *pointer, const char *name);
/// NULL is refused unless the count is 0.
void need_array(const void *pointer, std::size_t count, const char *name);
/// A flag or reserved field that this version knows nothing for.
void need_zero(uint64_t field, const char *name);

/// What the caller gave as `struct_size` must be at least `first_size`, and all bytes past `known_size` zero, else
/// UNSUPPORTED: a newer caller asks for what this version lacks.
void check_struct_size(const void *options, std::size_t first_size, std::size_t known_size, const char *name);

/// The caller's options, completed by zeros; all zeros for NULL. `first_size` is the struct's size when it was new.
template <class Options>
Options read_options(const Options *options, const char *name, std::size_t first_size = sizeof(Options)) {
    Options known = {};
    if (options == nullptr) return known;
    check_struct_size(options, first_size, sizeof known, name);
    std::memcpy(&known, options, options->struct_size < sizeof known ? options->struct_size : sizeof known);
    return known;
}

/// Writes `from` and a NUL into `text` of `capacity` bytes, cut off between characters where it does not fit, and the
/// full size to `needed` if that is not NULL. NULL for `text` goes with capacity 0.
void copy_text(std::string_view from, char *text, std::size_t capacity, std::size_t *needed);

} // namespace mdist
