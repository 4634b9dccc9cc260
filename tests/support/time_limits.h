// SPDX-License-Identifier: Apache-2.0
// Limits of time in tests, for C and C++. tests/support/time_limits.py is the same for Python.
//
// The rule: a limit that healthy parties must keep is LONG_ENOUGH (60 s) at least, or patience for something that
// hangs. Where a limit must run out, because somebody is dead, stopped or does not come, another_try() begins with a
// short one. If a healthy party was late, too, it tries a longer one. Only what lateness explains may set `late`:
// assert everything else in the loop, so that it fails at the first try.
//
// No test sleeps, either. nap() is for loops that ask again and again, for as long as it takes.
#pragma once

#include <poll.h>
#include <stdint.h>
#include <stdio.h>

#define LONG_ENOUGH_MS 60000 // on the busiest machine, no healthy party is later

typedef struct Tries {
    const char *what;  // printed with the number of tries
    uint64_t limit_ms; // at first that of the first try, then that of this one
    uint32_t count;    // tries so far
    int late;          // the loop sets it if a healthy party was late
} Tries;

/// Use:
///     Tries tries = {.what = "a stopped worker", .limit_ms = 2000};
///     while (another_try(&tries)) tries.late = ...;
///     assert_false(tries.late);
/// Each limit is five times the one before. The last one is LONG_ENOUGH, and who is late then has failed.
static inline int another_try(Tries *self) {
    if (self->count == 0) {
        self->count = 1;
        return 1;
    }
    if (!self->late || self->limit_ms >= LONG_ENOUGH_MS) {
        fprintf(stderr, "# %s: %u %s, the last with a limit of %u ms%s\n", self->what, (unsigned)self->count,
                self->count == 1 ? "try" : "tries", (unsigned)self->limit_ms, self->late ? ", and one was late" : "");
        return 0;
    }
    fprintf(stderr, "# %s: one was late with a limit of %u ms\n", self->what, (unsigned)self->limit_ms);
    self->limit_ms = self->limit_ms * 5 > LONG_ENOUGH_MS / 2 ? LONG_ENOUGH_MS : self->limit_ms * 5;
    self->late = 0;
    ++self->count;
    return 1;
}

/// Lets others run for a millisecond.
static inline void nap(void) {
    (void)poll(NULL, 0, 1);
}
