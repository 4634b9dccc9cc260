// SPDX-License-Identifier: Apache-2.0
// Objects that threads use to the very end of a process. Any thread.
#pragma once

#include <cstddef>
#include <new>

namespace mdist {

/// The one T of the process: made when first asked for, in room that is there already, so that asking cannot fail where
/// making cannot; never destroyed.
template <class T>
T &forever() noexcept(noexcept(T())) {
    alignas(T) static std::byte room[sizeof(T)];
    static T &only = *new (room) T();
    return only;
}

} // namespace mdist
