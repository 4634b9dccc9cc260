# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C where nothing in a callback catches it: the callback fails, the call raises it, and no data are lost.
elastic.py has the callbacks of blobs, which need an elastic job."""
import signal
import sys
import threading
from unittest import mock

import mdist
import numpy as np
from support import SUM, WithStrategy, floats, interrupt, settled

ROWS = 20


class Interrupts(WithStrategy):
    def setUp(self):
        super().setUp()
        self.ignored = []
        self.patch(mock.patch("sys.unraisablehook", lambda found: self.ignored.append(found.exc_type)))
        self.addCleanup(sys.settrace, None)

    def patch(self, context):  # unittest has it since 3.11
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    interrupt = staticmethod(interrupt)

    def assert_raised(self, function, *arguments):
        self.assertRaises(KeyboardInterrupt, function, *arguments)
        self.assertIsNone(sys.gettrace(), "no interrupt came")
        self.assertEqual(self.ignored, [])
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

        self.assertRaises(KeyboardInterrupt, self.strategy.run, step)
        self.assertEqual((merged, self.ignored, settled()), ([], [], {}))
        self.assert_usable()

    def test_a_step_that_never_began(self):
        begun = []
        for devices, executor in ("cpu*1", "threads"), ("cpu*2", "threads"), ("cpu*2", "caller"):
            with self.subTest(devices=devices, executor=executor):
                with mdist.Strategy(devices=devices, executor=executor) as strategy:
                    self.interrupt("_STEP")
                    self.assert_raised(strategy.run, begun.append)
        self.assertLessEqual(len(begun), 1)  # replica 1 with "threads"

    def test_a_step_that_others_wait_for(self):
        self.interrupt("_STEP")
        self.assert_raised(self.strategy.run, lambda replica: replica.barrier())
        self.assert_usable()

    def test_every_function(self):
        def double(inputs, outputs):
            outputs[0][...] = inputs[0] * 2

        def sums(strategy):
            first = mdist.Operator("first", "f4", lambda left, right, out: out.fill(left[0]))
            strategy.run(lambda replica: [replica.all_reduce(first, floats(replica.id))][:0])

        def loop(strategy):
            strategy.run_steps(iter(strategy.distribute_dataset(rows.batch(4))), 5, lambda loop, element: None)

        def named(strategy):
            strategy.register_step("step", lambda replica: None)
            strategy.run_named("step")

        rows = mdist.Dataset.from_tensors(np.arange(ROWS, dtype=np.float32))
        functions = {
            "_STEP": lambda strategy: strategy.run(lambda replica: None),
            "_ELEMENT": lambda strategy: strategy.map(4, lambda replica, element: None),
            "_MERGE": lambda strategy: strategy.run(lambda replica: replica.merge_call(lambda strategy: None)),
            "_UPDATE": lambda strategy: strategy.update_devices(lambda local_replica: None),
            "_VALUE": lambda strategy: strategy.values_from_function(lambda id, count: floats(id)),
            "_FETCH": lambda strategy: strategy.fetch(floats(1), function=lambda array: array),
            "_LOOP": loop,
            "_DATASET": lambda strategy: strategy.distribute_from_function(lambda pipeline: rows.batch(4)),
            "_MAP": lambda strategy: next(iter(rows.map(double, [("float32", ())]))),
            "_FILTER": lambda strategy: next(iter(rows.filter(lambda row: True))),
            "_GENERATE": lambda strategy: next(iter(mdist.Dataset.from_generator(lambda: [1.0], [("float64", ())]))),
            "_COMBINE": sums,
            "_NAMED_STEP": named,
        }
        for name, call in functions.items():
            with self.subTest(name=name):
                self.interrupt(name)
                with mdist.Strategy(devices="cpu*2") as strategy:
                    self.assertRaises(KeyboardInterrupt, call, strategy)
                self.assertIsNone(sys.gettrace(), "no interrupt came")
                self.assertEqual(self.ignored, [])

    def test_one_while_a_function_fails(self):
        def step(replica):
            if replica.id == 0:
                self.interrupt("add")
                raise LookupError("first")

        self.assert_raised(self.strategy.run, step)

    def test_one_of_the_updates(self):
        variable = self.strategy.variable("w", floats(1))
        self.interrupt("_UPDATE", 2)
        self.assert_raised(variable.update, lambda local_replica, copy: None)

    def test_a_loop_ends_with_its_element(self):
        rows = mdist.Dataset.from_tensors(np.arange(ROWS, dtype=np.float32)).batch(2)
        iterator, done = iter(self.strategy.distribute_dataset(rows)), []
        self.interrupt("_LOOP", 3)
        self.assertRaises(KeyboardInterrupt, self.strategy.run_steps, iterator, mdist.FOREVER,
                          lambda loop, element: done.append(1))
        self.assertEqual(len(done), 2)

    def test_no_element_lacks_rows(self):
        data = mdist.Dataset.from_tensors(np.arange(ROWS, dtype=np.float32))
        kept = data.filter(lambda row: True).batch(ROWS)
        made = data.map(lambda inputs, outputs: outputs[0].fill(1), [("float32", ())]).batch(ROWS)
        for dataset, name in (kept, "_FILTER"), (made, "_MAP"), (kept, "guard"), (made, "guard"):
            for number in 1, 2, ROWS:
                with self.subTest(name=name, number=number):
                    iterator = iter(dataset)
                    self.interrupt(name, number)
                    self.assertRaises(KeyboardInterrupt, next, iterator)
                    self.assertRaises((KeyboardInterrupt, mdist.Error), next, iterator)
                    self.assertEqual(len(next(iter(dataset))[0].numpy()), ROWS)
        self.assertEqual(self.ignored, [])

    def test_a_function_that_returns_nothing_is_called_all_the_same(self):
        """The call under way raises the interrupt."""
        def step(replica):
            work = replica.barrier_start()
            work.wait()
            interrupting()
            work.on_done(called.append)

        def interrupts_itself(status):
            called.append(status)
            raise KeyboardInterrupt

        def warned():
            with mock.patch.dict("os.environ", MDIST_ABACUS="1"):
                config = mdist.Config()
                mdist.log_set_level(mdist.LogLevel.WARN)
                self.addCleanup(mdist.log_set_level, mdist.LogLevel.OFF)
                interrupting()
                config.load_environment()

        strategy, called = mdist.Strategy(devices="cpu*1", executor="caller"), []
        self.addCleanup(strategy.destroy)
        with self.subTest(name="_DONE"):
            interrupting = lambda: self.interrupt("_DONE")  # noqa: E731
            self.assert_raised(strategy.run, step)
            self.assertEqual(called, [mdist.Status.OK])
        with self.subTest("in the function itself"):
            called[:] = []
            self.assertRaises(KeyboardInterrupt, strategy.run,
                              lambda replica: replica.barrier_start().on_done(interrupts_itself))
            self.assertEqual((called, self.ignored, settled()), ([mdist.Status.OK], [], {}))
        with self.subTest(name="_LOG"):
            interrupting, heard = lambda: self.interrupt("_LOG"), []  # noqa: E731
            self.addCleanup(mdist.log_set_sink)
            mdist.log_set_sink(lambda level, text: heard.append(text))
            self.assertRaises(KeyboardInterrupt, warned)
            self.assertIsNone(sys.gettrace(), "no interrupt came")
            self.assertEqual((len(heard), self.ignored), (1, []))
            self.assertIn("MDIST_ABACUS", heard[0])
        with self.subTest(name="_FREE"):
            self.interrupt("_FREE")
            self.assert_raised(mdist.log_set_sink)
        strategy.run(lambda replica: None)  # it comes once

    def test_what_others_lose_stays_theirs(self):
        class Lost:
            def __del__(self):
                raise LookupError

        Lost()
        self.assertEqual(self.ignored, [LookupError])
        total = self.strategy.run(lambda replica: replica.all_reduce(SUM, floats(1)), results=1)
        self.assertEqual(total.numpy(1), [2])
