// SPDX-License-Identifier: Apache-2.0
// Telling exceptions from the forced unwinding of pthread_exit and cancellation, which whoever catches must rethrow, or
// the process is aborted. `catch (abi::__forced_unwind &)` would do, but binds a reference to no object, which the
// undefined-behaviour sanitizer reports.
#pragma once

#include <cxxabi.h>

namespace mdist {

/// To be asked first thing in a `catch (...)`: if so, `throw;`.
inline bool thread_is_ending() noexcept { return abi::__cxa_current_exception_type() == nullptr; }

} // namespace mdist
