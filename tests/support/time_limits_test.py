# SPDX-License-Identifier: Apache-2.0
"""Limits grow only while a healthy party is late, and end with the one that the healthy always keep."""
import sys
import unittest

from time_limits import LONG_ENOUGH_S, Late, try_longer


class Limits(unittest.TestCase):
    def tries(self, first_s, late, failure=Late):
        limits = []

        def attempt(limit_s):
            limits.append(limit_s)
            if len(limits) <= late:
                raise failure("made up")
            return "well"
        try:
            self.assertEqual(try_longer("made up", first_s, attempt), "well")
        except AssertionError as error:
            return limits, type(error)
        return limits, None

    def test_limits_are_five_times_as_long_and_end_with_the_long_one(self):
        self.assertEqual(self.tries(2, 9), ([2, 10, LONG_ENOUGH_S], Late))
        self.assertEqual(self.tries(0.3, 9)[0][2:], [7.5, LONG_ENOUGH_S])

    def test_who_is_in_time_ends_it(self):
        self.assertEqual(self.tries(2, 0), ([2], None))
        self.assertEqual(self.tries(2, 2), ([2, 10, LONG_ENOUGH_S], None))

    def test_what_lateness_does_not_explain_fails_at_once(self):
        self.assertEqual(self.tries(2, 9, AssertionError), ([2], AssertionError))


unittest.main(argv=sys.argv[:1])
