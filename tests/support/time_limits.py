# SPDX-License-Identifier: Apache-2.0
"""Limits of time in tests. tests/support/time_limits.h is the same for C and C++.

The rule: a limit that healthy parties must keep is LONG_ENOUGH_S at least, or patience for something that hangs. Where
a limit must run out, because somebody is dead, stopped or does not come, in_time() begins with a short one. If a healthy
party was late, too, it tries a longer one. Only what lateness explains may raise Late: everything else fails at the
first try.

No test sleeps, either. await_that() asks again and again."""
import functools
import time

LONG_ENOUGH_S = 60  # on the busiest machine, no healthy party is later
PATIENCE_S = 180  # after this time, something hangs


class Late(AssertionError):
    """A healthy party was late."""


def try_longer(what, first_s, attempt):
    """Returns what attempt(limit_s) returns. While that raises Late, tries a limit five times as long, and at last one of
    LONG_ENOUGH_S. Who is late then has failed."""
    limit_s, count = first_s, 1
    while True:
        try:
            result = attempt(limit_s)
        except Late as late:
            print(f"# {what}: one was late with a limit of {limit_s:g} s, try {count}: {late}", flush=True)
            if limit_s >= LONG_ENOUGH_S:
                raise
            limit_s = limit_s * 5 if limit_s * 5 <= LONG_ENOUGH_S / 2 else LONG_ENOUGH_S
            count += 1
            continue
        print(f"# {what}: {count} {'try' if count == 1 else 'tries'}, the last with a limit of {limit_s:g} s", flush=True)
        return result


def in_time(first_s):
    """Decorates a test(self, limit_s) of unittest: see try_longer()."""
    def decorate(test):
        @functools.wraps(test)
        def tried(self):
            return try_longer(test.__name__, first_s, functools.partial(test, self))
        return tried
    return decorate


def await_that(holds, what, patience_s=PATIENCE_S):
    """Asks until holds() returns something true, and returns that."""
    end = time.monotonic() + patience_s
    while not (result := holds()):
        assert time.monotonic() < end, f"this has not come in {patience_s} s: {what}"
        time.sleep(0.001)
    return result
