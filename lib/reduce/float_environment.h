// SPDX-License-Identifier: Apache-2.0
// FloatEnvironment: while it exists, its thread rounds to nearest, keeps denormals and does not trap.
//
// The destructor restores the previous environment, exception flags included, so the computation leaves no trace.
// Compilers may move arithmetic across its borders within one function: put it around calls, not around expressions.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace mdist::reduce {

class FloatEnvironment {
  public:
    FloatEnvironment(const FloatEnvironment &) = delete;
    FloatEnvironment &operator=(const FloatEnvironment &) = delete;

#if defined(__x86_64__)
    // The x87 unit is left alone: nothing in the library computes with it.
    // To write the register takes much longer than to read it.
    FloatEnvironment() noexcept : saved_(_mm_getcsr()) {
        if ((saved_ & ~kFlags) != kDefault) _mm_setcsr(kDefault);
    }
    ~FloatEnvironment() {
        if (_mm_getcsr() != saved_) _mm_setcsr(saved_);
    }

  private:
    static constexpr unsigned kDefault = 0x1f80; // MXCSR after reset: all exceptions masked, nearest, no FTZ, no DAZ
    static constexpr unsigned kFlags = 0x3f;     // what exceptions there have been
    unsigned saved_;
#else
    FloatEnvironment() noexcept {
        std::fegetenv(&saved_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~FloatEnvironment() {
        std::fesetenv(&saved_);
    }

  private:
    std::fenv_t saved_;
#endif
};

} // namespace mdist::reduce
