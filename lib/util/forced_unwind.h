// SPDX-License-Identifier: Apache-2.0
// Telling exceptions from the forced unwinding of pthread_exit and cancellation, which whoever catches must rethrow, or
// the process is aborted. `catch (abi::__forced_unwind &)` would do, but binds a reference to no object, which the
// undefined-behaviour sanitizer reports.
#pragma once

#include <exception>

namespace mdist {

/// To be asked first thing in a `catch (...)`: if so, `throw;`. What is unwinding is no C++ exception, then.
inline bool thread_is_ending() noexcept {
    return std::current_exception() == nullptr;
}

} // namespace mdist
