// SPDX-License-Identifier: Apache-2.0
// Work that streams still had to do when a caller gave up waiting for it. Until it is done, waiting for a whole GPU may
// never end. Nobody can say, either, when memory that was not allocated for a stream is unused. Any thread.
#pragma once

#include "device/gpu/card.h"

#include <cstdint>
#include <string>

namespace mdist {

/// Makes a TIMEOUT failure for `what` on a stream of that GPU. The stream's work counts as overdue from here on.
Failure not_done(GpuCard &card, mdist_gpu_stream *stream, const std::string &what, uint64_t timeout_ns);

/// Whether anything is overdue, on any GPU. Then no memory is given back to CUDA, which would wait for the work too.
/// Work of a GPU that has failed stays overdue for ever.
bool keeps_memory() noexcept;

} // namespace mdist
