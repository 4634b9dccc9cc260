// SPDX-License-Identifier: Apache-2.0
// Turns an exception into a Failure, for streams that must remember it. Unlike a std::exception_ptr, a Failure can be
// handed from thread to thread and thrown again any number of times. Any thread.
#pragma once

#include "util/failure.h"

namespace mdist {

/// Returns the exception being handled. It must not be the unwinding of a thread that ends.
Failure current_failure() noexcept;

/// Returns the failure of an element whose thread ended while making it (pthread_exit or cancellation).
Failure thread_ended() noexcept;

} // namespace mdist
