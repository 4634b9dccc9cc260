// SPDX-License-Identifier: Apache-2.0
// What goes into a run and comes out of it, as the caller gives it.
#pragma once

#include "api/values.h"

#include <mdist/strategy.h>

#include <cstdint>
#include <vector>

namespace mdist {

struct RunIo {
    std::vector<ValuePointer> arguments;
    std::vector<ValuePointer> results; // nullptr each; the run fills them in
    mdist_value_t **out = nullptr;
    uint64_t timeout_ns = 0; // 0: the strategy's

    /// Hands the results to the caller. Hands out all or, if it throws, none.
    void finish() { publish_all(std::move(results), out); }
};

/// What a call does with results and limits.
enum class IoUse : uint8_t {
    kAll,
    kNoTimeout, // an update
    kLater,     // the results are handed out by another call: only their count is given
};

/// Checks everything. NULL: nothing goes in, and nothing comes out.
RunIo read_io(const mdist_run_io_t *io, IoUse use = IoUse::kAll);

} // namespace mdist
