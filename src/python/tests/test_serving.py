# SPDX-License-Identifier: Apache-2.0
"""Steps and updates by name. workers.py has those of several workers."""
import gc
import weakref

import mdist
import numpy as np
from support import WithStrategy, floats, settled


class Serving(WithStrategy):
    def test_a_step_runs_by_its_name(self):
        def step(replica, x):
            return {"x": x + replica.id, "leaf": replica.argument(1, "grads.0")}

        self.strategy.register_step("train", step, arguments=1, results=1)
        found = self.strategy.run_named("train", floats(5), {"grads": [floats(1), floats(2)]}, results=1)
        self.assertEqual([found["x"].numpy(i).tolist() for i in range(2)], [[5], [6]])
        self.assertEqual(found["leaf"].numpy(1).tolist(), [1])
        self.strategy.register_step("train", lambda replica: None)
        self.assertIsNone(self.strategy.run_named("train"))

    def test_an_update_runs_by_its_name(self):
        kept = []

        def subtract(local_replica, copy, x):
            copy -= x
            kept.append(copy)
            return np.float32(local_replica)

        variable = self.strategy.variable("w", floats(5, 6))
        self.strategy.register_update("subtract", subtract)
        self.strategy.register_update("slot", lambda local_replica, x: x + local_replica)
        who = self.strategy.update_named(variable, "subtract", floats(1, 2), results=1)
        self.assertEqual([who.numpy(i) for i in range(2)], [0, 1])
        self.assertEqual(variable.read().numpy().tolist(), [4, 4])
        slots = self.strategy.update_named(None, "slot", floats(3), results=1)
        self.assertEqual(slots.numpy(1).tolist(), [4])
        found = self.strategy.find_variable("w")
        del variable
        gc.collect()
        self.assertEqual(found.numpy(1).tolist(), [4, 4])
        del found
        gc.collect()
        self.assertEqual([one.tolist() for one in kept], [[4, 4]] * 2)  # views keep what they lie in

    def test_failures_have_their_cause(self):
        self.strategy.register_step("bad", lambda replica: 1 / 0)
        self.strategy.register_update("bad", lambda local_replica: {}["key"])
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run_named("bad")
        self.assertIsInstance(caught.exception.__cause__, ZeroDivisionError)
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.update_named(None, "bad")
        self.assertEqual(repr(caught.exception.__cause__), "KeyError('key')")
        self.assert_usable()

    def test_mistakes_are_sentences(self):
        self.strategy.register_step("train", print)
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run_named("tarin")
        self.assertEqual(caught.exception.status, mdist.Status.NOT_FOUND)
        self.assertIn("train", str(caught.exception))
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.serve()
        self.assertEqual(caught.exception.status, mdist.Status.FAILED_PRECONDITION)
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.find_variable("w")
        self.assertEqual(caught.exception.status, mdist.Status.NOT_FOUND)
        with self.assertRaisesRegex(TypeError, "None is no function"):
            self.strategy.register_step("train", None)

    def test_registered_functions_go_with_their_strategy(self):
        def step(replica):
            return strategy  # a cycle

        reference = weakref.ref(step)
        strategy = mdist.Strategy(devices="cpu*2")
        strategy.register_step("train", step)
        del strategy, step
        gc.collect()
        self.assertIsNone(reference())
        self.assertEqual(settled(), {})
