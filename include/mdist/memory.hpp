// SPDX-License-Identifier: Apache-2.0
// Memory: vectors whose elements are aligned to 64 bytes, which the library prefers.
#pragma once

#include <mdist/mdist.h>

#include <limits>
#include <new>
#include <vector>

namespace mdist {

template <typename T>
struct Allocator {
    using value_type = T;

    Allocator() noexcept = default;
    template <typename Other>
    Allocator(const Allocator<Other> &) noexcept {}

    T *allocate(size_t count) {
        void *out = nullptr;
        if (count > std::numeric_limits<size_t>::max() / sizeof(T) ||
            mdist_alloc(nullptr, 0, count * sizeof(T), &out, nullptr) != MDIST_OK)
            throw std::bad_alloc();
        return static_cast<T *>(out);
    }
    void deallocate(T *memory, size_t) noexcept { mdist_free(memory); }

    friend bool operator==(const Allocator &, const Allocator &) noexcept { return true; }
    friend bool operator!=(const Allocator &, const Allocator &) noexcept { return false; }
};

template <typename T>
using Vector = std::vector<T, Allocator<T>>;

} // namespace mdist
