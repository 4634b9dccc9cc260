// SPDX-License-Identifier: Apache-2.0
// Whether a sanitizer watches memory. Memory that the library keeps for reuse would hide uses after free from it.
// And a way to tell it what is read and written by code that is compiled without it. Any thread.
#pragma once

#include <cstddef>

#if defined(__has_feature) // clang's
#define MDIST_SANITIZED_BY(name) __has_feature(name##_sanitizer)
#else
#define MDIST_SANITIZED_BY(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) // gcc's
#define MDIST_WATCHES_ADDRESSES 1
#else
#define MDIST_WATCHES_ADDRESSES MDIST_SANITIZED_BY(address)
#endif
#if defined(__SANITIZE_THREAD__)
#define MDIST_WATCHES_THREADS 1
#else
#define MDIST_WATCHES_THREADS MDIST_SANITIZED_BY(thread)
#endif
#define MDIST_SANITIZED (MDIST_WATCHES_ADDRESSES || MDIST_WATCHES_THREADS || MDIST_SANITIZED_BY(memory))

#if MDIST_WATCHES_THREADS
extern "C" void __tsan_read_range(void *address, unsigned long bytes);
extern "C" void __tsan_write_range(void *address, unsigned long bytes);
#elif MDIST_WATCHES_ADDRESSES
extern "C" void *__asan_region_is_poisoned(void *address, std::size_t bytes);
#endif

namespace mdist {

/// Checks these bytes as if this thread read them here. Does nothing without a sanitizer that can be told.
inline void announce_read([[maybe_unused]] const void *from, [[maybe_unused]] std::size_t bytes) noexcept {
#if MDIST_WATCHES_THREADS
    __tsan_read_range(const_cast<void *>(from), bytes);
#elif MDIST_WATCHES_ADDRESSES
    void *const bad = bytes == 0 ? nullptr : __asan_region_is_poisoned(const_cast<void *>(from), bytes);
    if (bad != nullptr) [[maybe_unused]]
        const char reported = *static_cast<volatile const char *>(bad);
#endif
}

/// The same for writing.
inline void announce_write([[maybe_unused]] void *to, [[maybe_unused]] std::size_t bytes) noexcept {
#if MDIST_WATCHES_THREADS
    __tsan_write_range(to, bytes);
#elif MDIST_WATCHES_ADDRESSES
    void *const bad = bytes == 0 ? nullptr : __asan_region_is_poisoned(to, bytes);
    if (bad != nullptr) *static_cast<volatile char *>(bad) = 0;
#endif
}

} // namespace mdist
