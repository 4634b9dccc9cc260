# SPDX-License-Identifier: Apache-2.0
"""What the tests have in common."""
import ctypes
import gc
import sys
import unittest
import weakref

import mdist
import numpy as np

mdist.log_set_level(mdist.LogLevel.OFF)  # failures are on purpose here
SUM = mdist.ReduceOp.SUM


class WithStrategy(unittest.TestCase):
    replicas = 2

    def setUp(self):
        self.strategy = mdist.Strategy(devices=f"cpu*{self.replicas}")
        self.addCleanup(self.strategy.destroy)

    def assert_usable(self):
        """A run with a collective, on all replicas."""
        total = self.strategy.run(sum_of_ids, results=1)
        for i in range(self.replicas):
            self.assertEqual(total.numpy(i), self.replicas * (self.replicas - 1) / 2)


def sum_of_ids(replica):
    x = np.array(replica.id, np.float32)
    replica.all_reduce(SUM, x)
    return x


def address(array):
    return array.__array_interface__["data"][0]


def floats(*numbers):
    return np.array(numbers, np.float32)


def gone(reference):
    """Whether nobody holds what a weak reference leads to."""
    gc.collect()
    return reference() is None


def settled():
    """What the library holds when the threads of iterators that are gone have ended."""
    mdist._lib.mdist_iterators_wait(60 * 10**9, ctypes.byref(ctypes.c_int32()), None)
    return mdist._kept


def watched(array):
    """An array, and a weak reference that tells when it is gone."""
    return array, weakref.ref(array)


def interrupt(name, number=1):
    """Does what an interrupt does that comes at the first instruction of a function of the module: of its call of that
    number, on this thread."""
    seen = []

    def trace(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_name == name and frame.f_globals["__name__"].startswith("mdist"):
            seen.append(code)
            if len(seen) == number:
                sys.settrace(None)
                raise KeyboardInterrupt

    sys.settrace(trace)
