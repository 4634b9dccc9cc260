# SPDX-License-Identifier: Apache-2.0
"""Loops over an iterator, and their outputs."""
import mdist
import numpy as np
from support import WithStrategy, settled


def batches(count):
    return mdist.Dataset.from_tensors(np.arange(2 * count, dtype=np.float32)).batch(2)


class Loops(WithStrategy):
    def loop(self, function, count=3, iterations=mdist.FOREVER, **options):
        iterator = iter(self.strategy.distribute_dataset(batches(count)))
        return self.strategy.run_steps(iterator, iterations, function, **options)

    def test_outputs_of_steps_are_reduced_when_the_loop_is_over(self):
        def train(loop, element):
            def step(replica, x):
                loop.set_replica_output(replica, "loss", {"sum": x, "mean": x}, "mean")
                loop.set_replica_output(replica, "first", np.float32(replica.id + 5), "only_first_replica")

            self.assertEqual(loop.iterations, len(seen))
            seen.append(True)
            self.strategy.run(step, element)
            with self.assertRaises(mdist.Error) as caught:
                loop.outputs()
            self.assertEqual(caught.exception.reason, "loop_running")

        seen = []
        loop = self.loop(train)
        self.assertEqual(loop.iterations, 3)
        self.assertEqual(loop.outputs().numpy(), {"first": 5, "loss": {"mean": [4.5], "sum": [4.5]}})

    def test_it_ends_after_so_many_elements(self):
        seen = []
        iterator = iter(self.strategy.distribute_dataset(batches(3)))
        loop = self.strategy.run_steps(iterator, 2, lambda loop, element: seen.append(element.numpy(1).tolist()))
        self.assertEqual((loop.iterations, seen), (2, [[1], [3]]))
        rest = self.strategy.run_steps(iterator, 9, lambda loop, element: None)
        self.assertEqual(rest.iterations, 1)

    def test_outputs_from_outside_of_steps_and_objects(self):
        def note(loop, element):
            loop.set_output("last", element.numpy(0) * 2)
            loop.set_object("notes", 1, ["any", "thing"])

        loop = self.loop(note)
        self.assertEqual(loop.outputs()["last"].numpy().tolist(), [8])
        self.assertEqual(loop.object("notes", 1), ["any", "thing"])
        with self.assertRaises(KeyError):
            loop.object("notes", 0)
        with self.assertRaises(mdist.Error) as caught:
            loop.set_output("late", np.zeros(1))
        self.assertEqual(caught.exception.reason, "loop_over")

    def test_initial_outputs_stay_if_none_is_set(self):
        initial = {"loss": np.float32(7)}
        self.assertEqual(self.loop(lambda loop, element: None, initial=initial).outputs().numpy(), {"loss": 7})

        def other(loop, element):
            loop.set_output("other", np.float32(1))

        with self.assertRaises(mdist.Error):
            self.loop(other, initial=initial)

    def test_an_exception_ends_it_and_comes_back(self):
        def fail(loop, element):
            raise LookupError("no more")

        with self.assertRaises(mdist.Error) as caught:
            self.loop(fail)
        self.assertEqual(repr(caught.exception.__cause__), "LookupError('no more')")
        self.assertEqual(settled(), {})

    def test_mistakes_are_sentences(self):
        with self.assertRaisesRegex(TypeError, "where an Iterator belongs"):
            self.strategy.run_steps(batches(1), 1, print)
        with self.assertRaisesRegex(ValueError, "'smu' is no aggregation"):
            try:
                self.loop(lambda loop, element: loop.set_output("x", np.zeros(1), "smu"))
            except mdist.Error as error:
                raise error.__cause__
