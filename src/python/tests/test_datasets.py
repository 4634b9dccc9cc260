# SPDX-License-Identifier: Apache-2.0
"""Datasets: NumPy arrays in without copies, Python functions in the middle, Python's iteration out."""
import gc
import subprocess
import sys
import threading
import unittest
import weakref

import mdist
import numpy as np
from support import WithStrategy, address, floats, gone, settled, watched


def elements(dataset):
    return [tuple(value.numpy().tolist() for value in element) for element in dataset]


def double(inputs, outputs):
    outputs[0][...] = inputs[0] * 2


class Datasets(WithStrategy):
    def test_every_transformation(self):
        numbers = mdist.Dataset.from_tensors(np.arange(6), np.arange(6, dtype=np.uint8) + 10)
        self.assertEqual(numbers.component_count, 2)
        self.assertEqual(elements(numbers)[:2], [(0, 10), (1, 11)])
        self.assertEqual([x for x, _ in elements(numbers.shard(2, 1))], [1, 3, 5])
        self.assertEqual([x for x, _ in elements(numbers.batch(4))], [[0, 1, 2, 3], [4, 5]])
        self.assertEqual([x for x, _ in elements(numbers.batch(4, drop_remainder=True))], [[0, 1, 2, 3]])
        self.assertEqual([x for x, _ in elements(numbers.batch(3).repeat(2).prefetch(1))], [[0, 1, 2], [3, 4, 5]] * 2)
        shuffled = numbers.shuffle(6, seed=1)
        first, second = elements(shuffled), elements(shuffled)
        self.assertEqual(sorted(first), sorted(second))
        self.assertNotEqual(first, second)
        always = numbers.shuffle(6, seed=1, reshuffle_each_iteration=False)
        self.assertEqual(elements(always), elements(always))

    def test_a_map_fills_its_outputs(self):
        def split(inputs, outputs):
            halves, words = outputs
            np.divide(inputs[0], 2, out=halves)
            words[:] = inputs[0].sum()

        rows = mdist.Dataset.from_tensors(np.arange(5, dtype=np.float32)).batch(2)
        mapped = rows.map(split, [("float32", (mdist.UNKNOWN_LENGTH,)), (np.int64, (3,))])
        self.assertEqual(elements(mapped), [([0, 0.5], [1] * 3), ([1, 1.5], [5] * 3), ([2], [4] * 3)])

    def test_distributed_elements_go_into_a_run(self):
        rows = mdist.Dataset.from_tensors(np.arange(5, dtype=np.float32)).batch(5)
        for element in self.strategy.distribute_dataset(rows.map(double, [("float32", (mdist.UNKNOWN_LENGTH,))]).prefetch(2)):
            result = self.strategy.run(lambda replica, x: x + 1, *element, results=1)
            self.assertEqual([result.numpy(i).tolist() for i in range(2)], [[1, 3, 5], [7, 9]])

    def test_numbers_below_zero_are_no_large_numbers(self):
        numbers = mdist.Dataset.from_tensors(np.arange(6))
        for refused in numbers.batch, numbers.repeat, numbers.prefetch:
            self.assertRaisesRegex(ValueError, "-1 is below 0", refused, -1)

    def test_the_end_comes_again_and_again(self):
        iterator = iter(mdist.Dataset.from_tensors(floats(1)))
        self.assertIs(iter(iterator), iterator)
        next(iterator)
        for _ in range(2):
            with self.assertRaises(StopIteration):
                next(iterator)


class Lifetimes(WithStrategy):
    def test_arrays_are_kept_until_the_last_element_goes(self):
        array, reference = watched(np.arange(4).reshape(2, 2))
        iterator = iter(mdist.Dataset.from_tensors(array))
        (element,) = next(iterator)
        view = element.numpy()
        self.assertEqual(address(view), address(array))  # nothing was copied
        del array, iterator, element
        self.assertFalse(gone(reference))
        self.assertEqual(view.tolist(), [0, 1])
        del view
        self.assertTrue(gone(reference))

    def test_arrays_that_do_not_fit_are_let_go(self):
        array, reference = watched(np.arange(4))
        with self.assertRaises(mdist.Error):
            mdist.Dataset.from_tensors(array, np.arange(3))
        del array
        self.assertTrue(gone(reference))

    def test_a_map_function_is_kept_until_its_last_iterator_goes(self):
        class Double:
            def __call__(self, inputs, outputs):
                double(inputs, outputs)

        function, released = Double(), threading.Event()
        weakref.finalize(function, released.set)
        iterator = iter(mdist.Dataset.from_tensors(floats(1, 2)).map(function, [("float32", ())]).prefetch(1))
        del function
        gc.collect()
        self.assertFalse(released.is_set())
        self.assertEqual(next(iterator)[0].numpy(), 2)
        del iterator
        self.assertTrue(released.wait(60))  # by the prefetching thread

    def test_a_closed_iterator_calls_nobody_any_more(self):
        entered, may_go, left = threading.Event(), threading.Event(), []

        def slow(inputs, outputs):
            entered.set()
            may_go.wait()
            outputs[0][...] = inputs[0]
            left.append(inputs[0].item())

        iterator = iter(mdist.Dataset.from_tensors(np.arange(100)).map(slow, [("int64", ())]).prefetch(1))
        opener = threading.Thread(target=lambda: entered.wait() and may_go.set())
        opener.start()
        next(iterator)
        iterator.close()
        opener.join()
        calls = len(left)
        with self.assertRaises(mdist.Error) as caught:
            next(iterator)
        self.assertEqual((caught.exception.reason, len(left)), ("closed", calls))
        iterator.close()

    def test_an_array_kept_by_the_map_function_is_told(self):
        kept = []
        for which in range(2):
            def take(*arrays):
                kept.append(arrays[which][0][:1])

            rows = mdist.Dataset.from_tensors(floats(1, 2)).batch(2).map(take, [("float32", (mdist.UNKNOWN_LENGTH,))])
            with self.assertRaises(mdist.Error) as caught:
                next(iter(rows))
            self.assertRegex(str(caught.exception.__cause__), "kept an array")
            kept.clear()
        del rows, caught
        gc.collect()
        self.assertEqual(settled(), {})

    def test_an_iterator_collected_on_its_own_prefetching_thread(self):
        may_collect, collected = threading.Event(), threading.Event()

        def collect(inputs, outputs):
            may_collect.wait()
            gc.collect()
            outputs[0][...] = inputs[0]
            collected.set()

        iterator = iter(mdist.Dataset.from_tensors(floats(1, 2)).map(collect, [("float32", ())]).prefetch(1))
        consumer = threading.Thread(target=lambda found=[iterator]: next(found.pop(), None))
        gc.disable()
        self.addCleanup(gc.enable)
        iterator.cycle = iterator
        reference = weakref.ref(iterator)
        consumer.start()
        del iterator
        may_collect.set()
        consumer.join()
        self.assertTrue(collected.wait(60))
        self.assertTrue(gone(reference))


class Failures(WithStrategy):
    def test_an_exception_in_a_map_comes_out_of_the_iteration(self):
        def fail(inputs, outputs):
            if inputs[0] == 3:
                raise LookupError("row 3")
            double(inputs, outputs)

        released = threading.Event()
        weakref.finalize(fail, released.set)
        mapped = mdist.Dataset.from_tensors(np.arange(5)).map(fail, [("int64", ())])
        del fail
        for dataset in mapped, mapped.prefetch(2):
            iterator = iter(dataset)
            self.assertEqual([next(iterator)[0].numpy() for _ in range(3)], [0, 2, 4])
            for _ in range(2):  # for ever
                with self.assertRaises(mdist.Error) as caught:
                    next(iterator)
                self.assertEqual(repr(caught.exception.__cause__), "LookupError('row 3')")
                self.assertEqual(caught.exception.status, mdist.Status.CALLBACK)
        del iterator, dataset, mapped, caught
        gc.collect()
        self.assertTrue(released.wait(60))

    def test_a_failed_iteration_leaves_nothing(self):
        def fail(inputs, outputs):
            raise LookupError

        reference = weakref.ref(fail)
        try:  # assertRaises would clear the frames that may not hold on to the iterator
            next(iter(mdist.Dataset.from_tensors(floats(1)).map(fail, [("float32", ())])))
        except mdist.Error:
            del fail
        self.assertTrue(gone(reference))


    def test_an_interrupt_in_a_map_goes_through_for_ever_and_leaves_nothing(self):
        def fail(inputs, outputs):
            raise KeyboardInterrupt

        mapped = mdist.Dataset.from_tensors(floats(1)).map(fail, [("float32", ())])
        for dataset in mapped, mapped.prefetch(2):
            iterator = iter(dataset)
            for _ in range(3):
                self.assertRaises(KeyboardInterrupt, next, iterator)
                self.assertEqual(mapped._maps[0].failures, {})


class TheEnd(unittest.TestCase):
    def test_a_program_ends_while_threads_prefetch(self):
        program = """if True:
            import mdist, numpy, sys
            def slow(inputs, outputs):
                for _ in range(2000):
                    outputs[0][...] = inputs[0]
            rows = mdist.Dataset.from_tensors(numpy.arange(1000.0)).map(slow, [("float64", ())])
            iterators = [iter(rows.prefetch(50)) for _ in range(4)]
            for iterator in iterators:
                next(iterator)
            if "destroyed" in sys.argv:
                del iterators, iterator
        """
        for argument in "alive", "destroyed":
            found = subprocess.run([sys.executable, "-c", program, argument], capture_output=True, text=True)
            self.assertEqual((found.returncode, found.stdout, found.stderr), (0, "", ""))
