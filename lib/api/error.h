// SPDX-License-Identifier: Apache-2.0
// Error: what a caller gets to read about a failure; the one public pointer that really is one.
//
// An error and its texts are one block of memory, never changed once made. When there is none left, a static error of
// the same status stands in; freeing that does nothing. Any thread.
#pragma once

#include <mdist/status.h>

struct mdist_error {
    mdist_status_t status;
    int32_t replica;
    int32_t worker;
    int64_t native;
    const char *message;
    const char *reason;
    const char *operation;
};

namespace mdist {

class Failure;

/// `operation` counts where the failure names none.
mdist_error_t *make_error(const Failure &failure, const char *operation) noexcept;
/// Without allocating. The message says "out of memory".
mdist_error_t *static_error(mdist_status_t status) noexcept;

} // namespace mdist
