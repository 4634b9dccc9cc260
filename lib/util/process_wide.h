// SPDX-License-Identifier: Apache-2.0
// Objects that threads use until the very end of the process. Any thread.
#pragma once

#include <cstddef>
#include <new>

namespace mdist {

/// Returns the one T of the process. The first call makes it, in static memory, so the call fails only if T's
/// constructor does. It is never destroyed.
template <class T>
T &process_wide() noexcept(noexcept(T())) {
    alignas(T) static std::byte room[sizeof(T)];
    static T &only = *new (room) T();
    return only;
}

} // namespace mdist
