# SPDX-License-Identifier: Apache-2.0
"""Prepared calls, parts of any lengths, and functions for the end of works."""
import gc
import sys
import threading
from unittest import mock

import mdist
import numpy as np
from support import SUM, WithStrategy, floats, gone, settled, watched


class Calls(WithStrategy):
    replicas = 3

    def test_each_collective_gives_what_it_gives_without_preparation(self):
        calls = []
        for local in range(3):
            prepare, x = self.strategy.prepare(local), floats(1 + local, 10)
            calls.append({"all_reduce": prepare.all_reduce("sum", x),
                          "mean": prepare.all_reduce("mean", [x], [np.empty_like(x)]),
                          "broadcast": prepare.broadcast(2, floats(local)),
                          "all_gather": prepare.all_gather(floats(local), np.empty(3, np.float32)),
                          "reduce_scatter": prepare.reduce_scatter("max", floats(local, 1, 2), np.empty(1, np.float32)),
                          "all_to_all": prepare.all_to_all(floats(local, 10 + local, 20 + local), np.empty(3, np.float32)),
                          "parts": prepare.all_to_all_parts(np.full(3, local), [0, 1, 2], np.empty(3 * local, int),
                                                            [local] * 3),
                          "reduce_to_root": prepare.reduce_to_root("sum", 1, np.array([local])),
                          "gather_to_root": prepare.gather_to_root(0, np.array([local]), np.empty(3, int) if local == 0 else None),
                          "scatter": prepare.scatter(2, np.arange(3) if local == 2 else None, np.empty(1, int)),
                          "barrier": prepare.barrier()})

        def step(replica):
            assert [call.run(replica) for call in calls[replica.id].values()][-1] is None

        self.strategy.run(step)

        def found(name):
            return [None if one[name].results is None else np.asarray(one[name].results).tolist() for one in calls]

        self.assertEqual(found("all_reduce"), [[6, 30]] * 3)
        self.assertEqual(found("mean"), [[[6, 30]]] * 3)  # of what the first call has left
        self.assertEqual(found("broadcast"), [[2]] * 3)
        self.assertEqual(found("all_gather"), [[0, 1, 2]] * 3)
        self.assertEqual(found("reduce_scatter"), [[2], [1], [2]])
        self.assertEqual(found("all_to_all"), [[0, 1, 2], [10, 11, 12], [20, 21, 22]])
        self.assertEqual(found("parts"), [[], [0, 1, 2], [0, 0, 1, 1, 2, 2]])
        self.assertEqual(found("reduce_to_root"), [None, [3], None])
        self.assertEqual(found("gather_to_root"), [[0, 1, 2], None, None])
        self.assertEqual(found("scatter"), [[0], [1], [2]])

    def test_it_reads_its_arrays_each_time_and_runs_started(self):
        arrays = [floats(local) for local in range(3)]
        calls = [self.strategy.prepare(local).all_reduce(SUM, arrays[local]) for local in range(3)]

        def step(replica):
            calls[replica.id].run(replica)
            arrays[replica.id] += replica.id
            work = calls[replica.id].start(replica)
            assert work.wait()

        for expected in 12, 111:
            self.strategy.run(step)
            self.assertEqual([one.tolist() for one in arrays], [[expected]] * 3)

    def test_groups_and_operators(self):
        def larger(left, right, out):
            np.maximum(left, right, out=out)

        pair = mdist.Group(self.strategy, [2, 0])
        arrays = [floats(one) for one in (5, 6, 7)]
        calls = {own: self.strategy.prepare(own).all_reduce(mdist.Operator("larger", "f4", larger), arrays[own], group=pair)
                 for own in (0, 2)}
        gc.collect()  # the calls keep their operators
        del pair

        def step(replica):
            if replica.id in calls:
                calls[replica.id].run(replica)

        self.strategy.run(step)
        self.assertEqual([one.tolist() for one in arrays], [[7], [6], [7]])

    def test_it_keeps_its_arrays_and_lets_go_of_them(self):
        array, reference = watched(floats(1))
        call = self.strategy.prepare(0).all_reduce(SUM, array)
        del array
        self.assertFalse(gone(reference))
        del call
        self.assertTrue(gone(reference))

    def test_mistakes_are_sentences(self):
        prepare = self.strategy.prepare(0)
        with self.assertRaisesRegex(ValueError, "not C-contiguous"):
            prepare.all_reduce(SUM, np.zeros((4, 4))[:, 1])
        with self.assertRaisesRegex(TypeError, "prepare all_reduce, and use Prepared.start"):
            prepare.all_reduce_start(SUM, floats(1))
        with self.assertRaises(mdist.Error) as caught:
            prepare.barrier(group=mdist.Group(self.strategy, [1]))
        self.assertIn("replica 0 is not a member of", str(caught.exception))
        call = prepare.barrier()
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(call.run)
        self.assertIn("Create a call for each local replica", str(caught.exception))
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.prepare(3).barrier()
        self.assertIn("local_replica is 3; this strategy has 3", str(caught.exception))


class Parts(WithStrategy):
    replicas = 3

    def test_parts_of_any_lengths(self):
        def step(replica):
            own = replica.id
            given = np.array([100 * own + to for to in range(3) for _ in range(own + to)], np.int32)
            lengths = [own + to for to in range(3)]
            taken, started = np.empty((2, sum(lengths)), np.int32)
            replica.all_to_all_parts(given, lengths, taken, lengths)
            work = replica.all_to_all_parts_start([given], [lengths], [started], [lengths])
            assert work.wait()
            pair = np.empty([2, 1, 0][own], np.int32)
            if own < 2:
                sent, got = ([0, 1], [0, 2]) if own == 0 else ([2, 0], [1, 0])
                replica.all_to_all_parts(np.full(sum(sent), own, np.int32), sent, pair, got, group=group)
            return {"all": taken, "started": started, "pair": pair}

        group = mdist.Group(self.strategy, [0, 1])
        found = self.strategy.run(step, results=1)
        for own in range(3):
            expected = [100 * by + own for by in range(3) for _ in range(own + by)]
            self.assertEqual(found["all"].numpy(own).tolist(), expected)
            self.assertEqual(found["started"].numpy(own).tolist(), expected)
        self.assertEqual([found["pair"].numpy(i).tolist() for i in range(2)], [[1, 1], [0]])

    def test_lengths_that_do_not_match(self):
        def step(replica):
            replica.all_to_all_parts(np.zeros(3), [1, 1, 1], np.zeros(3 + (replica.id == 2)),
                                     [1, 1, 2 if replica.id == 2 else 1])

        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(step)
        self.assertEqual(caught.exception.status, mdist.Status.MISMATCH)
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(lambda replica: replica.all_to_all_parts(np.zeros(2), [1, 1], np.zeros(2), [1, 1]))
        self.assertIn("2 lengths of parts; there must be 3", str(caught.exception.__cause__))
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(lambda replica: replica.all_to_all_parts([np.zeros(3)] * 2, [1, 1, 1], [np.zeros(3)] * 2,
                                                                       [1, 1, 1]))
        self.assertIn("lengths of parts for 1 arrays; there are 2", str(caught.exception.__cause__))
        self.assert_usable()


class Done(WithStrategy):
    def test_a_function_is_called_once_when_the_operation_is_over(self):
        called = []

        def step(replica):
            x = floats(replica.id)
            work = replica.all_reduce_start(SUM, x)
            work.on_done(lambda status: called.append((replica.id, status, x.tolist())))
            assert work.wait()
            work.on_done(lambda status: called.append((replica.id, "late")))
            assert (replica.id, "late") in called

        self.strategy.run(step)
        self.assertEqual(sorted(one for one in called if one[1] != "late"),
                         [(i, mdist.Status.OK, [1]) for i in range(2)])
        self.assertEqual(len(called), 4)
        gc.collect()  # what other tests have left in cycles
        self.assertEqual(settled(), {})

    def test_it_is_called_when_the_operation_fails(self):
        statuses, begun = [], threading.Event()

        def step(replica):
            if replica.id == 1:
                begun.wait()
                raise LookupError
            work = replica.barrier_start()
            work.on_done(statuses.append)
            begun.set()
            work.wait()

        with self.assertRaises(mdist.Error):
            self.strategy.run(step)
        self.assertEqual(statuses, [mdist.Status.ABORTED])
        gc.collect()  # what other tests have left in cycles
        self.assertEqual(settled(), {})

    def test_an_exception_in_it_is_reported_and_does_no_harm(self):
        def fail(status):
            raise LookupError("late")

        def step(replica):
            work = replica.barrier_start()
            work.on_done(fail)
            assert work.wait()

        with mock.patch.object(sys, "unraisablehook") as hook:
            self.strategy.run(step)
        self.assertEqual({repr(call.args[0].exc_value) for call in hook.call_args_list}, {"LookupError('late')"})
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(lambda replica: replica.barrier_start().on_done(None))
        self.assertIn("None is no function(status)", str(caught.exception.__cause__))


class Types(WithStrategy):
    def test_new_types_and_operations(self):
        given = {"int16": [-3, 5], "uint16": [65535, 6], "bool": [True, False]}
        for dtype, numbers in given.items():
            for name, expected in (("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)):
                def step(replica):
                    return replica.all_reduce(name, np.array(numbers, dtype)[replica.id:replica.id + 1])

                found = self.strategy.run(step, results=1).numpy(1)
                self.assertEqual((found.dtype, found.tolist()),
                                 (np.dtype(dtype), [expected(*np.array(numbers, dtype)).tolist()]))
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(lambda replica: replica.all_reduce("sum", np.array([True])))
        self.assertEqual(caught.exception.status, mdist.Status.INVALID_ARGUMENT)

    def test_dense_memory_in_any_order(self):
        def step(replica):
            x = np.arange(6, dtype=np.float32).reshape(2, 3) * (replica.id + 1)
            given = x.T  # not C-contiguous
            written = replica.all_reduce("sum", mdist.Dense(given))
            assert written is given
            return x

        self.assertEqual(self.strategy.run(step, results=1).numpy(0).tolist(), [[0, 3, 6], [9, 12, 15]])
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(lambda replica: replica.all_reduce("sum", mdist.Dense(np.zeros((4, 4))[:, 1])))
        self.assertEqual(caught.exception.__cause__.reason, "dlpack_strides")

        def mixed(replica):
            x = np.zeros((2, 3))
            replica.all_reduce("sum", mdist.Dense(x if replica.id else np.asfortranarray(x)))

        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(mixed)
        self.assertEqual(caught.exception.status, mdist.Status.MISMATCH)
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(lambda replica: replica.barrier() or replica.all_reduce("sum", mdist.Dense([1])))
        self.assertIn("has no __dlpack__, which Dense needs", str(caught.exception.__cause__))
