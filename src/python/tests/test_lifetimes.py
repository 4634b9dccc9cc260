# SPDX-License-Identifier: Apache-2.0
"""Nothing is left behind, and nothing goes too early, however the garbage collector feels about it."""
import gc
import itertools
import os
import pathlib
import threading
import time
import unittest
import weakref

import mdist
import numpy as np
from support import SUM, WithStrategy, floats, settled, sum_of_ids


def resident():
    """Bytes of this process in memory."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def held():
    """What may not grow: threads, files, objects with a handle, and keys."""
    gc.collect()
    return {"threads": len(os.listdir("/proc/self/task")), "files": len(os.listdir("/proc/self/fd")),
            "handles": sum(isinstance(one, mdist._Held) for one in gc.get_objects()), "keys": len(mdist._kept)}


def held_at_rest(before=None):
    """held() when it is as `before`, or as it was 10 ms ago; what it is after a minute otherwise. The kernel still lists
    a thread that has just ended."""
    end, wanted = time.monotonic() + 60, before
    while (now := held()) != wanted and time.monotonic() < end:
        wanted = before or now
        time.sleep(0.01)
    return now


def slot():
    """Of a new handle in the library's table: slots are used again, so it stays low unless handles are left behind."""
    return mdist.Value(floats(1))._handle & 0xFFFFF


class Cycles(unittest.TestCase):
    def cycle(self, index):
        strategy = mdist.Strategy(devices="cpu*2")
        result = strategy.run(sum_of_ids, results=1)
        assert result.numpy(0) == 1
        try:
            strategy.run(lambda replica: 1 / 0)
        except mdist.Error:
            pass
        if index % 3 == 0:
            strategy.destroy()
        elif index % 3 == 1:
            strategy.itself = strategy  # for the garbage collector

    def test_thousands_of_create_run_destroy_leave_nothing(self):
        cycles = 5000 if os.environ.get("TEST_TIER") == "long" else 1000
        allowed = 210 * cycles  # bytes
        for index in range(cycles):  # until Python's and the C library's allocators have what they keep
            self.cycle(index)
        before, grown = held_at_rest(), []
        # What threads that meet in the allocator make it keep comes now and then; a leak comes in every round.
        while len(grown) < 5 and min(grown, default=allowed) >= allowed:
            memory = resident()
            for index in range(cycles):
                self.cycle(index)
            self.assertEqual(held_at_rest(before), before)
            self.assertLess(slot(), cycles)
            grown.append(resident() - memory)
        self.assertLess(min(grown), allowed, f"bytes more after each {cycles} cycles: {grown}")


class Stress(WithStrategy):
    """The garbage collector runs at almost every allocation, on every thread, and everything is garbage in cycles."""

    def setUp(self):
        super().setUp()
        thresholds = gc.get_threshold()
        self.addCleanup(gc.set_threshold, *thresholds)
        gc.set_threshold(1)

    def litter(self):
        """One of each, unreachable, and only the garbage collector can tell."""
        for one in (mdist.Value(floats(1)), mdist.Value.wrap(floats(1)), mdist.Config(),
                    mdist.Strategy(devices="cpu*2"), mdist.Dataset.from_tensors(floats(1)),
                    mdist.Value({"x": [floats(1)]})):
            one.itself = one

    def litter_iterators(self, until, released):
        def double(inputs, outputs):
            outputs[0][...] = inputs[0] * 2

        weakref.finalize(double, released.set)
        rows = mdist.Dataset.from_tensors(np.arange(9, dtype=np.float32)).map(double, [("float32", ())])
        while not until.is_set():
            iterator = iter(rows.prefetch(2))
            iterator.itself = iterator
            self.iterated.append(next(iterator)[0].numpy().tolist())

    def test_steps_merges_works_and_maps(self):
        over, released, self.iterated = threading.Event(), threading.Event(), []
        beside = threading.Thread(target=self.litter_iterators, args=[over, released])
        beside.start()
        self.addCleanup(beside.join)
        self.addCleanup(over.set)

        def merge(strategy, value):
            self.litter()
            return strategy.reduce(SUM, value)

        def step(replica, x):
            self.litter()
            work = replica.all_reduce_start(SUM, floats(replica.id))
            gc.collect()
            work.wait()
            total = x + replica.id
            replica.all_reduce(SUM, total)
            return replica.merge_call(merge, total, results=1)

        for _ in range(20):
            result = self.strategy.run(step, mdist.Value.wrap(floats(1)), results=1)
            self.assertEqual([result.numpy(i).tolist() for i in range(2)], [[6], [6]])
        over.set()
        beside.join()
        del result
        gc.collect()
        self.assertTrue(released.wait(60))  # by the last prefetching thread
        self.assertEqual(set(self.iterated), {0})

    def test_failing_steps(self):
        for _ in range(20):
            def step(replica):
                self.litter()
                if replica.id == 1:
                    raise LookupError("for the collector")
                replica.barrier()

            with self.assertRaises(mdist.Error) as caught:
                self.strategy.run(step)
            self.assertEqual(repr(caught.exception.__cause__), "LookupError('for the collector')")
        self.assert_usable()


class Orders(unittest.TestCase):
    def test_things_go_in_any_order(self):
        for order in itertools.permutations(("strategy", "variable", "view", "dataset", "iterator", "element")):
            things = {"strategy": mdist.Strategy(devices="cpu*2")}
            things["variable"] = things["strategy"].variable("w", floats(1, 2))
            things["view"] = things["variable"].numpy(1)
            things["dataset"] = things["strategy"].distribute_dataset(mdist.Dataset.from_tensors(floats(1, 2)).batch(2))
            things["iterator"] = iter(things["dataset"])
            things["element"] = next(things["iterator"])[0].numpy(1)
            for name in order:
                del things[name]
                if "view" in things:
                    assert things["view"].tolist() == [1, 2]
                if "element" in things:
                    assert things["element"].tolist() == [2]
        self.assertEqual(settled(), {})

    def test_a_strategy_that_is_running_stays_until_its_run_is_over(self):
        def step(replica):
            gc.collect()
            return sum_of_ids(replica)

        strategy = mdist.Strategy(devices="cpu*2")
        reference = weakref.ref(strategy)
        result = mdist.Strategy(devices="cpu*2").run(step, results=1)
        self.assertEqual(result.numpy(1), 1)
        del strategy
        gc.collect()
        self.assertIsNone(reference())
