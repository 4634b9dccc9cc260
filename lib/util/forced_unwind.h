// SPDX-License-Identifier: Apache-2.0
// Tells exceptions from the forced unwinding of pthread_exit and cancellation. A `catch (...)` must rethrow forced
// unwinding, or the process is aborted. `catch (abi::__forced_unwind &)` would also work, but it binds a reference to
// no object, which the undefined-behaviour sanitizer reports.
#pragma once

#include <cstddef>
#include <exception>

#include <unwind.h>

#ifdef _LIBCPP_VERSION
extern "C" void *__cxa_get_globals() noexcept; // its first member lists caught exceptions (Itanium C++ ABI 2.2.2)
#endif

namespace mdist {

/// Whether the thread is ending, so that no C++ exception is unwinding. Call it first in a `catch (...)`. If true, call
/// rethrow().
inline bool thread_is_ending() noexcept {
    return std::current_exception() == nullptr;
}

/// Does `throw;` for an exception or a forced unwinding.
[[noreturn]] inline void rethrow() {
#ifdef _LIBCPP_VERSION
    // In libc++, `throw;` ends the process if there is no C++ exception. So this takes the forced unwinding out of the
    // list of caught exceptions and resumes it. There it looks like the last member of a __cxa_exception (2.2.1).
    if (thread_is_ending()) {
        constexpr std::size_t kSize = 128; // of a __cxa_exception
        char *&caught = *reinterpret_cast<char **>(__cxa_get_globals());
        char *const ending = caught + kSize - sizeof(_Unwind_Exception);
        caught = nullptr;
        _Unwind_Resume_or_Rethrow(reinterpret_cast<_Unwind_Exception *>(ending));
    }
#endif
    throw;
}

} // namespace mdist
