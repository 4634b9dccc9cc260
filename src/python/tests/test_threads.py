# SPDX-License-Identifier: Apache-2.0
"""Steps on Python's own threads, with and without merges, and two threads on one strategy."""
import gc
import threading

import mdist
import numpy as np
from support import SUM, WithStrategy, floats, sum_of_ids


class OwnThreads(WithStrategy):
    replicas = 3

    def enter_all(self, run, step):
        """Each replica on a thread of its own; what threads raised, by replica."""
        raised = {}

        def serve(index):
            try:
                with run.enter(index) as replica:
                    step(replica)
            except Exception as exception:
                raised[index] = exception

        threads = [threading.Thread(target=serve, args=[index]) for index in range(self.replicas)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return raised

    def test_arguments_collectives_and_results(self):
        def step(replica):
            gc.collect()
            x = replica.argument(0) + replica.id
            replica.all_reduce(SUM, x)
            replica.set_result(0, x)

        for executor in "threads", "caller":
            with mdist.Strategy(devices="cpu*3", executor=executor) as strategy:
                run = strategy.run_begin(floats(1, 2), results=1)
                self.assertEqual(self.enter_all(run, step), {})
                result = run.end()
                self.assertEqual([result.numpy(i).tolist() for i in range(3)], [[6, 9]] * 3)

    def test_an_exception_fails_the_run_and_its_own_thread(self):
        original = LookupError("on 2")

        def step(replica):
            if replica.id == 2:
                raise original
            replica.barrier()

        run = self.strategy.run_begin()
        raised = self.enter_all(run, step)
        self.assertIs(raised[2], original)
        self.assertEqual([raised[i].status for i in (0, 1)], [mdist.Status.ABORTED] * 2)
        with self.assertRaises(mdist.Error) as caught:
            run.end()
        self.assertIs(caught.exception.__cause__, original)
        self.assertEqual(caught.exception.replica, 2)
        self.assert_usable()

    def test_a_merge_without_a_function(self):
        def step(replica):
            values = replica.merge_begin(floats(replica.id))
            if replica.local_index == 0:
                part = replica.merge_end(self.strategy.reduce(SUM, values[0]), None)
            else:
                assert values == [None]
                part = replica.merge_end(results=2)
            assert part[1] is None
            replica.set_result(0, part[0])

        run = self.strategy.run_begin(results=1)
        self.assertEqual(self.enter_all(run, step), {})
        result = run.end()
        self.assertEqual([result.numpy(i).tolist() for i in range(3)], [[3]] * 3)

    def test_a_merge_that_raises(self):
        def step(replica):
            replica.merge_begin()
            if replica.local_index == 0:
                raise LookupError("in the merge")
            replica.merge_end()

        run = self.strategy.run_begin()
        self.enter_all(run, step)
        with self.assertRaises(mdist.Error) as caught:
            run.end()
        self.assertEqual(repr(caught.exception.__cause__), "LookupError('in the merge')")
        self.assert_usable()

    def test_a_replica_that_is_still_inside_keeps_the_run_open(self):
        run = self.strategy.run_begin()
        first = run.enter(0)
        with self.assertRaises(mdist.Error) as caught:
            run.end()
        self.assertEqual(caught.exception.reason, "replica_inside")
        first.exit()
        with self.assertRaises(mdist.Error) as caught:
            run.end()
        self.assertEqual(caught.exception.reason, "not_entered")
        self.assert_usable()


    def test_an_end_too_early_keeps_the_cause_for_the_right_one(self):
        run, original = self.strategy.run_begin(), LookupError("on 0")
        replicas = [run.enter(index) for index in range(self.replicas)]
        with self.assertRaises(LookupError), replicas[0]:
            raise original
        with self.assertRaises(mdist.Error) as caught:
            run.end()
        self.assertEqual(caught.exception.reason, "replica_inside")
        for replica in replicas[1:]:
            replica.exit()
        with self.assertRaises(mdist.Error) as caught:
            run.end()
        self.assertIs(caught.exception.__cause__, original)
        self.assertEqual(run.failures, {})


class OneAtATime(WithStrategy):
    def test_a_second_run_is_busy(self):
        inside, over = threading.Event(), threading.Event()

        def step(replica):
            inside.set()
            over.wait()

        other = threading.Thread(target=self.strategy.run, args=[step])
        other.start()
        inside.wait()
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(sum_of_ids, results=1)
        over.set()
        other.join()
        self.assertEqual((caught.exception.status, caught.exception.reason),
                         (mdist.Status.FAILED_PRECONDITION, "busy"))
        self.assert_usable()

    def test_an_abort_from_elsewhere_ends_those_who_wait(self):
        def step(replica):
            if replica.id == 0:
                self.strategy.abort()
            replica.barrier()

        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(step)
        self.assertEqual(caught.exception.status, mdist.Status.ABORTED)

    def test_strategies_of_many_threads_do_not_meet(self):
        sums = []

        def train():
            with mdist.Strategy(devices="cpu*2") as strategy:
                for _ in range(50):
                    sums.append(strategy.run(sum_of_ids, results=1).numpy(0))

        threads = [threading.Thread(target=train) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sums, [np.float32(1)] * 200)
