# SPDX-License-Identifier: Apache-2.0
"""What goes wrong comes back as Error with the first cause behind it, and the strategy goes on."""
import gc
import os
import pickle
import threading
import traceback
import unittest
from unittest import mock

import mdist
import numpy as np
from support import SUM, WithStrategy, floats, settled, watched


class Failures(WithStrategy):
    replicas = 3

    def fails(self, step, *arguments, **options):
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(step, *arguments, **options)
        self.assert_usable()
        return caught.exception

    def test_an_exception_on_any_replica_comes_back(self):
        for bad in range(self.replicas):
            original = LookupError(f"on {bad}")

            def step(replica):
                if replica.id == bad:
                    raise original
                replica.barrier()

            error = self.fails(step)
            self.assertIs(error.__cause__, original)
            self.assertEqual((error.status, error.replica, error.rank), (mdist.Status.CALLBACK, bad, -1))
            self.assertEqual(str(error), f"the step of replica {bad} raised LookupError: on {bad} (CALLBACK)")
            self.assertTrue(error.args[0].endswith(f": LookupError: on {bad}"))  # what other workers get

    def test_an_exception_comes_back_also_if_replicas_take_turns(self):
        with mdist.Strategy(devices="cpu*3", executor="caller") as strategy:
            for bad in range(3):
                original = LookupError(f"on {bad}")

                def step(replica):
                    if replica.id == bad:
                        raise original

                with self.assertRaises(mdist.Error) as caught:
                    strategy.run(step)
                self.assertIs(caught.exception.__cause__, original)
                with self.assertRaises(mdist.Error) as caught:
                    strategy.map(3, lambda replica, element: step(replica))
                self.assertIs(caught.exception.__cause__, original)

    def test_the_library_is_told_what_an_exception_says(self):
        class Mute(Exception):
            def __str__(self):
                raise LookupError

        for exception, words in ((LookupError("a\ud800b\0c"), "LookupError: a\\ud800b"), (Mute(), "Mute")):
            def step(replica):
                raise exception

            self.assertTrue(self.fails(step).args[0].endswith(f": {words}"))

    def test_the_first_of_many_wins(self):
        def step(replica):
            if replica.id == 1:
                raise LookupError("first")
            try:
                replica.barrier()
            except mdist.Error as error:
                assert error.status == mdist.Status.ABORTED
                raise RuntimeError("second")

        self.assertEqual(repr(self.fails(step).__cause__), "LookupError('first')")

    def test_a_collective_that_fails_leads_to_its_line(self):
        def step(replica):
            replica.all_reduce(SUM, np.zeros(replica.id + 1, np.float32))

        error = self.fails(step)
        self.assertEqual((error.status, error.operation), (mdist.Status.MISMATCH, "mdist_all_reduce"))
        self.assertEqual(error.__cause__.args[0], error.args[0])
        self.assertIn("step", [frame.name for frame in traceback.extract_tb(error.__cause__.__traceback__)])

    def test_a_wrong_dtype_is_told_by_the_library(self):
        def step(replica):
            replica.all_reduce(SUM, np.zeros(1, np.float32 if replica.id else np.int32))

        error = self.fails(step)
        self.assertEqual(error.status, mdist.Status.MISMATCH)
        self.assertRegex(str(error), "int32.*float32|float32.*int32")
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.per_replica(floats(1), floats(2), np.zeros(1))
        self.assertRegex(str(caught.exception), "float64")

    def test_an_interrupt_goes_through_as_itself(self):
        def step(replica):
            if replica.id == 1:
                raise KeyboardInterrupt
            replica.barrier()

        with self.assertRaises(KeyboardInterrupt):
            self.strategy.run(step)
        self.assert_usable()

    def test_a_timeout(self):
        over = threading.Event()

        def step(replica):
            if replica.id == 0:
                over.wait()
                return
            try:
                replica.barrier(timeout=0.01)
            finally:
                over.set()

        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(step)
        self.assertEqual(caught.exception.status, mdist.Status.TIMEOUT)

    def test_steps_do_not_use_what_belongs_outside(self):
        error = self.fails(lambda replica: self.strategy.run(print))
        self.assertEqual((error.__cause__.status, error.__cause__.operation), (mdist.Status.WRONG_CONTEXT, "mdist_run"))

    def test_failures_are_not_kept(self):
        array, reference = watched(floats(1))
        gc.disable()
        self.addCleanup(gc.enable)
        try:
            self.strategy.run(lambda replica, x: 1 / 0, array)
        except mdist.Error:
            del array
        self.assertIsNone(reference())
        self.assertEqual(settled(), {})

    def test_an_error_can_be_sent_elsewhere(self):
        error = self.fails(lambda replica: 1 / 0)
        sent = pickle.loads(pickle.dumps(error))
        self.assertEqual((sent.status, sent.args), (error.status, error.args))


class Configs(unittest.TestCase):
    def test_keys_are_read_and_written(self):
        config = mdist.Config({"communication.timeout": "30s"}, devices="cpu*2")
        config.load_text("executor: caller\n")
        self.assertEqual([config[key] for key in ("communication.timeout", "devices", "executor")],
                         ["30s", "cpu*2", "caller"])

    def test_an_unknown_key_is_told(self):
        with self.assertRaises(mdist.Error) as caught:
            mdist.Config({"communication.timeuot": "30s"})
        error = caught.exception
        self.assertEqual((error.status, error.reason, error.operation),
                         (mdist.Status.CONFIG, "unknown_key", "mdist_config_set"))
        self.assertIn("communication.timeout", str(error))

    def test_a_config_and_keys_at_once_are_told(self):
        with self.assertRaisesRegex(TypeError, r"a Config and keys \(devices, executor\).*config\[key\] = value"):
            mdist.Strategy(mdist.Config(), devices="cpu*2", executor="caller")
        with mdist.Strategy({"devices": "cpu*2"}, executor="caller") as strategy:
            self.assertEqual(strategy.replica_count, 2)

    def test_keys_override_the_environment(self):
        with mock.patch.dict(os.environ, MDIST_DEVICES="cpu*3"):
            self.assertEqual(mdist.Config(executor="caller")["devices"], "cpu*3")
            self.assertEqual(mdist.Config(devices="cpu")["devices"], "cpu")
            empty = mdist.Config.empty(executor="caller")
            self.assertEqual((empty["devices"], empty["executor"]), ("auto", "caller"))
            with mdist.Strategy(executor="caller") as strategy:
                self.assertEqual(strategy.replica_count, 3)

    def test_a_destroyed_config_is_a_bad_handle(self):
        config = mdist.Config()
        config.destroy()
        config.destroy()
        with self.assertRaises(mdist.Error) as caught:
            config["devices"] = "cpu"
        self.assertEqual(caught.exception.status, mdist.Status.BAD_HANDLE)

    def test_messages_go_where_one_wants_them(self):
        heard = []
        mdist.log_set_sink(lambda level, text: heard.append((level, text)))
        self.addCleanup(mdist.log_set_sink)
        with mock.patch.dict(os.environ, MDIST_ABACUS="1"):
            config = mdist.Config()
            mdist.log_set_level(mdist.LogLevel.WARN)
            self.addCleanup(mdist.log_set_level, mdist.LogLevel.OFF)
            config.load_environment()
        self.assertEqual([level for level, _ in heard], [mdist.LogLevel.WARN])
        self.assertIn("MDIST_ABACUS", heard[0][1])
        mdist.log_set_sink()
        self.assertEqual(settled(), {})
