# SPDX-License-Identifier: Apache-2.0
"""Steps: arguments, results, collectives of every kind, merges, started collectives; on 2 and 3 replicas."""
import gc
import threading

import mdist
import numpy as np
from support import SUM, WithStrategy, floats, gone, sum_of_ids, watched

Op = mdist.ReduceOp


class Runs(WithStrategy):
    def test_arguments_and_results(self):
        per_replica = self.strategy.per_replica(floats(1, 2), floats(3))

        def step(replica, own, plain):
            return own * 2, None, plain + replica.id

        doubled, nothing, added = self.strategy.run(step, per_replica, floats(5), results=3)
        self.assertEqual([doubled.numpy(i).tolist() for i in range(2)], [[2, 4], [6]])
        self.assertIsNone(nothing)
        self.assertEqual([added.numpy(i).tolist() for i in range(2)], [[5], [6]])
        self.assertEqual(added.kind, mdist.ValueKind.PER_REPLICA)

    def test_an_argument_that_a_step_kept_stays(self):
        kept = []
        self.strategy.run(lambda replica, x: kept.append(x), self.strategy.per_replica(floats(1), floats(2)))
        gc.collect()
        self.assertEqual(sorted(x.tolist() for x in kept), [[1], [2]])

    def test_the_only_array_of_a_result(self):
        def step(replica):
            return {"id": floats(replica.id), "both": [floats(1, 2)]}

        with mdist.Strategy(devices="cpu") as alone:
            result = alone.run(step, results=1)
            self.assertEqual(result["id"].only().tolist(), [0])
            self.assertEqual(result.only()["both"][0].tolist(), [1, 2])
        self.assertEqual(mdist.Value(floats(3)).only().tolist(), [3])
        with self.assertRaisesRegex(ValueError, r"a value of 2 arrays, .* value.numpy\(i\) is one of them"):
            self.strategy.run(step, results=1)["id"].only()

    def test_a_wrong_number_of_results(self):
        for results, returned in (2, floats(1)), (0, floats(1)), (2, [floats(1)] * 3):
            with self.assertRaises(mdist.Error) as caught:
                self.strategy.run(lambda replica, value=returned: value, results=results)
            self.assertIsInstance(caught.exception.__cause__, TypeError)
            self.assertIn(f"but the call has results={results};", str(caught.exception.__cause__))

    def test_a_replica_knows_its_place(self):
        places = {}

        def step(replica):
            places[replica.local_index] = (replica.id, replica.count)

        self.strategy.run(step)
        self.assertEqual(places, {0: (0, 2), 1: (1, 2)})
        self.assertEqual((self.strategy.replica_count, self.strategy.local_replica_count), (2, 2))
        self.assertEqual(self.strategy.device(1), "cpu:1")
        self.assertEqual((self.strategy.worker_count, self.strategy.rank, self.strategy.is_chief), (1, 0, True))

    def test_a_replica_kept_beyond_its_step_is_a_bad_handle(self):
        kept = []
        self.strategy.run(kept.append)
        with self.assertRaises(mdist.Error) as caught:
            kept[0].barrier()
        self.assertEqual(caught.exception.status, mdist.Status.BAD_HANDLE)

    def test_steps_see_variables_and_gc_does_no_harm(self):
        def step(replica):
            for _ in range(3):
                gc.collect()
                replica.barrier()
            return sum_of_ids(replica)

        for _ in range(5):
            self.assertEqual(self.strategy.run(step, results=1).numpy(1), 1)


class Collectives(WithStrategy):
    replicas = 3

    def results_of(self, step):
        value = self.strategy.run(step, results=1)
        return [value.numpy(i).tolist() for i in range(self.replicas)]

    def test_every_operation_of_all_reduce(self):
        for op, expected in (Op.SUM, 9), (Op.MEAN, 3), (Op.MIN, 2), (Op.MAX, 4), (Op.PROD, 24):
            def step(replica):
                out = floats(0)
                replica.all_reduce(op, floats(replica.id + 2), out)
                return out

            self.assertEqual(self.results_of(step), [[expected]] * 3)

    def test_several_arrays_are_one_operation_in_place(self):
        def step(replica):
            x, y, z = floats(1, 2), np.array([replica.id]), np.array([1.5], np.float16)
            bits = np.array([0x3F80], np.uint16)  # 1 as bfloat16
            replica.all_reduce(SUM, [x, y, z, mdist.Typed(bits, "bfloat16")])
            return np.array([*x, *y, *z, *bits], np.float64)

        self.assertEqual(self.results_of(step), [[3, 6, 3, 4.5, 0x4040]] * 3)

    def test_broadcast_gather_scatter_and_exchange(self):
        def step(replica):
            own = floats(replica.id)
            replica.broadcast(2, own)
            gathered = np.zeros(6, np.float32)
            replica.all_gather(np.full(replica.id + 1, replica.id, np.float32), gathered)
            scattered = floats(0)
            replica.reduce_scatter(SUM, floats(1, 2, 3), scattered)
            exchanged = np.zeros(3, np.float32)
            replica.all_to_all(np.arange(3, dtype=np.float32) + 10 * replica.id, exchanged)
            replica.barrier()
            return np.concatenate([own, gathered, scattered, exchanged])

        gathered = [0, 1, 1, 2, 2, 2]
        self.assertEqual(self.results_of(step), [[2, *gathered, 3 * (i + 1), i, 10 + i, 20 + i] for i in range(3)])

    def test_each_collective_can_be_started(self):
        def step(replica):
            own, total, gathered, scattered = floats(replica.id), floats(1), np.zeros(3, np.float32), floats(0)
            exchanged = np.zeros(3, np.float32)
            for start, arguments in (
                    (replica.all_reduce_start, [SUM, total]),
                    (replica.broadcast_start, [1, own]),
                    (replica.all_gather_start, [floats(replica.id), gathered]),
                    (replica.reduce_scatter_start, [SUM, floats(1, 2, 3), scattered]),
                    (replica.all_to_all_start, [floats(7, 8, 9), exchanged]),
                    (replica.barrier_start, [])):
                work = start(*arguments)
                while not work.test():
                    work.wait(0.001)
                assert work.wait()
            return np.concatenate([own, total, gathered, scattered, exchanged])

        self.assertEqual(self.results_of(step), [[1, 3, 0, 1, 2, 3 * (i + 1), *[7 + i] * 3] for i in range(3)])

    def test_inputs_without_outputs(self):
        def step(replica):
            replica.all_gather([floats(1), floats(2)], [floats(0, 0, 0)])

        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(step)
        self.assertRegex(str(caught.exception.__cause__), "2 inputs and 1 outputs")


class StartedWork(WithStrategy):
    def test_it_keeps_its_arrays_until_it_is_done(self):
        others_may_come = threading.Event()
        seen = {}

        def step(replica):
            if replica.id == 1:
                others_may_come.wait()
                replica.all_reduce(SUM, floats(1))
                return
            array, reference = watched(floats(2))
            work = replica.all_reduce_start(SUM, array)
            del array
            seen["kept"] = not gone(reference)
            seen["done too early"] = work.test()
            others_may_come.set()
            seen["done"] = work.wait()
            seen["let go"] = gone(reference)

        self.strategy.run(step)
        self.assertEqual(seen, {"kept": True, "done too early": False, "done": True, "let go": True})

    def test_one_that_nobody_waits_for_fails_the_step(self):
        let_go = threading.Event()

        def step(replica):
            if replica.id == 0:
                replica.all_reduce_start(SUM, floats(1))  # and nobody holds it
                let_go.set()
            let_go.wait()
            replica.all_reduce(SUM, floats(1))

        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(step)
        self.assertEqual((caught.exception.status, caught.exception.reason),
                         (mdist.Status.ABORTED, "work_destroyed"))
        self.assert_usable()


class Merges(WithStrategy):
    def test_a_merge_sees_values_and_gives_each_replica_its_part(self):
        def merge(strategy, values):
            return [strategy.reduce(SUM, values), None, values.numpy(1), strategy.per_replica(floats(7), floats(8))]

        def step(replica):
            total, nothing, other, own = replica.merge_call(merge, floats(replica.id + 1), results=4)
            assert nothing is None
            return np.concatenate([total, other, own])

        result = self.strategy.run(step, results=1)
        self.assertEqual([result.numpy(i).tolist() for i in range(2)], [[3, 2, 7], [3, 2, 8]])

    def test_a_value_that_is_given_away_stays_for_those_who_look_at_it(self):
        seen = []

        def merge(strategy, values):
            for value in strategy.broadcast_to(floats(4)), mdist.Value(floats(5)):
                seen.append(value.numpy())
                yield_ = value
            return yield_

        def step(replica):
            x = replica.merge_call(merge, floats(0), results=1)
            replica.merge_call(lambda strategy, values: None, floats(0))
            return x

        result = self.strategy.run(step, results=1)
        self.assertEqual(([x.tolist() for x in seen], result.numpy(1).tolist()), ([[4], [5]], [5]))

    def test_a_value_can_be_given_away_again_and_again(self):
        plain, both = mdist.Value(floats(1)), self.strategy.per_replica(floats(2), floats(3))

        def step(replica):
            for _ in range(2):
                x, y, z = replica.merge_call(lambda strategy: [plain, both, both], results=3)
            return x + y + z

        for _ in range(2):
            result = self.strategy.run(step, results=1)
            self.assertEqual([result.numpy(i).tolist() for i in range(2)], [[5], [7]])
        self.assertEqual((plain.numpy().tolist(), both.numpy(1).tolist()), ([1], [3]))

    def test_a_nested_run(self):
        def step(replica):
            replica.merge_call(lambda strategy: inner.append(strategy.run(sum_of_ids, results=1)))

        inner = []
        self.strategy.run(step)
        self.assertEqual(inner[0].numpy(1), 1)

    def test_what_a_nested_step_kept_of_a_merges_value_stays(self):
        def merge(strategy, values):
            strategy.run(lambda replica, x: kept.append(x), values)

        kept = []
        self.strategy.run(lambda replica: replica.merge_call(merge, np.full(1000, replica.id + 1, np.float32)))
        self.strategy.run(lambda replica: replica.merge_call(merge, np.zeros(1000, np.float32)))
        self.assertEqual(sorted(x.sum() for x in kept), [0, 0, 1000, 2000])

    def test_a_merge_that_raises_fails_the_run(self):
        def merge(strategy):
            raise LookupError("in the merge")

        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(lambda replica: replica.merge_call(merge))
        self.assertEqual(repr(caught.exception.__cause__), "LookupError('in the merge')")
        self.assert_usable()


class Outside(WithStrategy):
    def test_reductions_and_gathering(self):
        value = self.strategy.per_replica(floats(1, 2), floats(3, 4))
        self.assertEqual(self.strategy.reduce(SUM, value).numpy().tolist(), [4, 6])
        self.assertEqual(self.strategy.reduce(Op.MEAN, value, axes=[0]).numpy(), 2.5)
        self.assertEqual(self.strategy.reduce_to(SUM, value).kind, mdist.ValueKind.MIRRORED)
        self.assertEqual(self.strategy.reduce_to(SUM, value, "cpu:1").kind, mdist.ValueKind.PLAIN)
        first, second = self.strategy.batch_reduce_to(SUM, [value, value], ["", "cpu:0"])
        self.assertEqual((first.numpy(1).tolist(), second.numpy().tolist()), ([4, 6], [4, 6]))
        self.assertEqual(self.strategy.gather(value).numpy().tolist(), [1, 2, 3, 4])

    def test_all_reduce_between_runs(self):
        rows = [[floats(1), floats(2, 3)], [floats(4), floats(5, 6)]]
        self.strategy.all_reduce(SUM, rows)
        self.assertEqual([[x.tolist() for x in row] for row in rows], [[[5], [7, 9]]] * 2)

    def test_all_reduce_wants_as_many_arrays_as_it_will_read(self):
        def rows(*counts):
            return [[floats(1) for _ in range(count)] for count in counts]

        for inputs, outputs, told in (
                (rows(1), None, "1 replicas; there are 2"),
                ([], None, "0 replicas; there are 2"),
                (rows(1, 1, 1), None, "3 replicas; there are 2"),
                (rows(2, 1), None, "1 arrays for a replica, where the first has 2"),
                (rows(1, 1), rows(1), "1 replicas; there are 2"),
                (rows(2, 2), rows(2, 1), "1 arrays for a replica, where the first has 2"),
                (rows(2, 2), rows(1, 1), "1 arrays for a replica, where the first has 2")):
            with self.assertRaisesRegex(ValueError, told):
                self.strategy.all_reduce(SUM, inputs, outputs)
        self.strategy.destroy()
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.all_reduce(SUM, rows(1))
        self.assertEqual(caught.exception.status, mdist.Status.BAD_HANDLE)
