// SPDX-License-Identifier: Apache-2.0
// Starting threads of the library.
#pragma once

#include <pthread.h>

namespace mdist {

/// pthread_create, with all signals blocked in the new thread: the program's handlers must not run on threads it does
/// not know of. Except those that a fault raises in the thread itself: blocked, they would end the process without its
/// handlers. Returns 0 or the error.
int start_thread(pthread_t *thread, void *(*function)(void *), void *argument, const char *name) noexcept;

} // namespace mdist
