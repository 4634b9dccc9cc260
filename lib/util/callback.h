// SPDX-License-Identifier: Apache-2.0
// Calling the caller's functions: what they throw becomes a Failure with their name in it. A thread exit passes
// through.
#pragma once

#include "util/failure.h"
#include "util/forced_unwind.h"
#include "util/text.h"

namespace mdist {

/// Returns what `function` returns. `who()` gives the beginning of a sentence ("the step of replica 3").
template <typename Who, typename Function>
int32_t call_back(const Who &who, Function &&function) {
    try {
        return function();
    } catch (const std::exception &exception) {
        throw Failure(MDIST_ERR_CALLBACK, text(who(), " threw: ", exception.what()));
    } catch (...) {
        if (thread_is_ending()) throw;
        throw Failure(MDIST_ERR_CALLBACK, text(who(), " threw something that is no std::exception"));
    }
}

/// The same for a non-zero result.
inline Failure callback_returned(const std::string &who, int32_t code, const std::string &after = {}) {
    return Failure(MDIST_ERR_CALLBACK, text(who, " returned ", code, after.empty() ? "" : " after ", after))
        .native(code);
}

} // namespace mdist
