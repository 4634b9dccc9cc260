// SPDX-License-Identifier: Apache-2.0
// What a stream that must remember a failure makes of an exception: a Failure, which unlike std::exception_ptr can be
// handed from thread to thread and thrown again any number of times. Any thread.
#pragma once

#include "util/failure.h"

namespace mdist {

/// The exception being handled, which is not the unwinding of a thread that ends.
Failure caught() noexcept;

/// For an element that was being made on a thread that ended (pthread_exit or cancellation) in the middle.
Failure thread_ended() noexcept;

} // namespace mdist
