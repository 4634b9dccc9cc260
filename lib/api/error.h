// SPDX-License-Identifier: Apache-2.0
// Error: the description of a failure that a caller reads. It is the only public pointer that really is a pointer.
//
// An error and its texts are one block of memory that never changes. If memory runs out, a static error with the same
// status is returned instead; freeing that does nothing. Any thread.
#pragma once

#include <mdist/status.h>

struct mdist_error {
    mdist_status_t status;
    uint32_t replica;
    uint32_t worker;
    int64_t native;
    const char *message;
    const char *reason;
    const char *operation;
};

namespace mdist {

class Failure;

/// Makes an error. `operation` is used if the failure names none.
mdist_error_t *make_error(const Failure &failure, const char *operation) noexcept;
/// Returns an error without allocating. Its message is "out of memory".
mdist_error_t *static_error(mdist_status_t status) noexcept;

} // namespace mdist
