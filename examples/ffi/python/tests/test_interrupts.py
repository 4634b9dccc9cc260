# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while the library is about to call back: ctypes drops the interrupt, and the call raises it nevertheless."""
import importlib
import signal
import sys
import threading
from unittest import mock

import mdist
import numpy as np
from support import WithStrategy, floats, settled


# Where the callback is taken from when the library is called.
USERS = {"_STEP": "strategy", "_MERGE": "replica", "_UPDATE": "variables", "_MAP": "datasets"}


class Interrupts(WithStrategy):
    def setUp(self):
        super().setUp()
        self.dropped = []
        self.patch(mock.patch("sys.unraisablehook", lambda found: self.dropped.append(found.exc_type)))

    def patch(self, context):  # unittest has it since 3.11
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def interrupted(self, name, kind, which=lambda *arguments: True):
        """As an interrupt at the first instruction of a callback does, for the calls on this thread that are meant."""
        module = importlib.import_module(f"mdist.{USERS[name]}")
        original, here = getattr(module, name), threading.get_ident()

        @kind
        def interrupt(*arguments):
            if threading.get_ident() == here and which(*arguments):
                raise KeyboardInterrupt
            return original(*arguments)

        self.patch(mock.patch.object(module, name, interrupt))

    def assert_raised(self, function, *arguments):
        self.assertRaises(KeyboardInterrupt, function, *arguments)
        self.assertEqual(self.dropped, [KeyboardInterrupt])
        self.assertEqual(settled(), {})

    def test_one_that_comes_while_a_merge_waits(self):
        """A turn is so long that nobody gets the interpreter's lock before the main thread is inside the library."""
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1000)
        entering, merged = threading.Event(), []

        def step(replica):
            if replica.id == 0:
                entering.set()
            else:
                entering.wait()
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            replica.merge_call(lambda strategy: merged.append(strategy))

        self.assert_raised(self.strategy.run, step)
        self.assertEqual(merged, [])
        self.assert_usable()

    def test_a_step_that_never_began(self):
        begun = []
        for devices, executor in ("cpu*1", "threads"), ("cpu*2", "threads"), ("cpu*2", "caller"):
            with self.subTest(devices=devices, executor=executor):
                with mdist.Strategy(devices=devices, executor=executor) as strategy:
                    self.dropped.clear()
                    first = []
                    self.interrupted("_STEP", mdist.StepFn, lambda *_: not first.append(1) and len(first) == 1)
                    self.assert_raised(strategy.run, begun.append)
        # With "caller", replica 1 begins if what ctypes returned for replica 0, whatever was in memory, is 0.
        self.assertIn(len(begun), (1, 2))

    def test_a_step_that_others_wait_for(self):
        self.interrupted("_STEP", mdist.StepFn)
        self.assert_raised(self.strategy.run, lambda replica: replica.barrier())

    def test_a_merge_that_never_began(self):
        self.interrupted("_MERGE", mdist.MergeFn)
        self.assert_raised(self.strategy.run, lambda replica: replica.merge_call(lambda strategy: None))

    def test_one_of_the_updates(self):
        variable = self.strategy.variable("w", floats(1))
        self.interrupted("_UPDATE", mdist.UpdateFn, lambda local_replica, *_: local_replica == 1)
        self.assert_raised(variable.update, lambda local_replica, copy: None)

    def test_a_map_on_the_thread_that_asks(self):
        def double(inputs, outputs):
            outputs[0][...] = inputs[0] * 2

        def first():
            next(iter(mdist.Dataset.from_tensors(floats(1, 2)).map(double, [("float32", ())])))

        self.interrupted("_MAP", mdist.MapFn)
        self.assert_raised(first)

    def test_nobody_is_interrupted_without(self):
        def double(inputs, outputs):
            outputs[0][...] = inputs[0] * 2

        rows = mdist.Dataset.from_tensors(np.arange(4, dtype=np.float32)).map(double, [("float32", ())])
        for dataset in rows, rows.shuffle(3, 1), rows.batch(3), rows.prefetch(2), rows.batch(2).shuffle(2, 1):
            self.assertEqual(sum(x.numpy().sum() for x, in dataset), 12)
        self.assertEqual(self.dropped, [])
