# SPDX-License-Identifier: Apache-2.0
"""Collectives with a root, rows of larger arrays, losses, and descriptors of started collectives."""
import os
import select

import mdist
import numpy as np
from support import SUM, WithStrategy, floats

Op = mdist.ReduceOp


def rows(*numbers):
    return np.array(numbers, np.int64)


class Roots(WithStrategy):
    replicas = 3

    def results_of(self, step):
        value = self.strategy.run(step, results=1)
        return [value.numpy(i).tolist() for i in range(self.replicas)]

    def test_results_are_the_roots_alone(self):
        def step(replica):
            own, out = floats(replica.id + 1), np.zeros(6, np.float32) if replica.id == 1 else None
            part = np.zeros(replica.id + 1, np.float32)
            replica.reduce_to_root(SUM, 2, own)
            replica.gather_to_root(1, np.full(replica.id + 1, replica.id, np.float32), out)
            replica.scatter(1, out, part)
            total = floats(0)
            replica.reduce_to_root(Op.MAX, 0, floats(replica.id), total if replica.id == 0 else None)
            return np.concatenate([own, part, total])

        self.assertEqual(self.results_of(step), [[1, 0, 2], [2, 1, 1, 0], [6, 2, 2, 2, 0]])

    def test_they_can_be_started(self):
        def step(replica):
            root = replica.id == 0
            own, out, part = floats(1), np.zeros(3, np.float32), floats(0)
            works = [replica.reduce_to_root_start(SUM, 0, own),
                     replica.gather_to_root_start(0, floats(replica.id), out if root else None)]
            works.append(replica.scatter_start(0, floats(7, 8, 9) if root else None, part))
            assert all(work.wait() for work in works)
            return np.concatenate([own, out, part])

        self.assertEqual(self.results_of(step), [[3, 0, 1, 2, 7], [1, 0, 0, 0, 8], [1, 0, 0, 0, 9]])

    def test_a_root_without_what_it_needs(self):
        for call in (lambda replica: replica.gather_to_root(0, floats(1)),
                     lambda replica: replica.scatter(0, None, floats(1))):
            with self.assertRaises(mdist.Error) as caught:
                self.strategy.run(call)
            self.assertRegex(str(caught.exception.__cause__), "replica 0 is the root; it needs")
            self.assert_usable()

    def test_a_descriptor_tells_when_to_test(self):
        def step(replica):
            total = floats(replica.id)
            work = replica.all_reduce_start(SUM, total)
            descriptor = work.descriptor()
            try:
                while not work.test():
                    select.select([descriptor], [], [], 60)
                assert select.select([descriptor], [], [], 60)[0]  # stays readable
            finally:
                os.close(descriptor)
            return total

        before = len(os.listdir("/proc/self/fd"))
        self.assertEqual(self.results_of(step), [[3]] * 3)
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)


class Rows(WithStrategy):
    def test_rows_of_all_replicas_join(self):
        def step(replica):
            joined = replica.all_reduce_sparse(Op.MEAN, rows(replica.id, 3), np.full((2, 2), replica.id + 1, np.float32))
            return joined.indices(), joined.numpy()

        indices, values = self.strategy.run(step, results=2)
        self.assertEqual(indices.numpy(1).tolist(), [0, 3, 1, 3])
        self.assertEqual(values.numpy(1)[:, 0].tolist(), [0.5, 0.5, 1, 1])

    def test_values_of_rows(self):
        value = mdist.Value.sparse(self.strategy.per_replica(rows(2), rows(0, 1)),
                                 self.strategy.per_replica(floats(5), floats(6, 7)))
        self.assertEqual((value.indices(1).tolist(), value.numpy(1).tolist()), ([0, 1], [6, 7]))
        total = self.strategy.reduce(SUM, value)
        self.assertEqual((total.indices().tolist(), total.numpy().tolist()), ([2, 0, 1], [5, 6, 7]))
        self.assertIsNone(mdist.Value(floats(1)).indices())
        variable = self.strategy.variable("table", floats(0, 0, 0, 0))
        variable.assign(total, mdist.Assign.ADD)
        self.assertEqual(variable.numpy(1).tolist(), [6, 7, 5, 0])
        with self.assertRaises(mdist.Error):
            mdist.Value.sparse(floats(1), floats(1))

    def test_steps_write_rows(self):
        table = self.strategy.variable("table", np.ones((4, 2), np.float32), aggregation=mdist.Aggregation.SUM)

        def step(replica):
            replica.assign_sparse(table, rows(replica.id, 3), np.full((2, 2), 10, np.float32), mdist.Assign.ADD)

        self.strategy.run(step)
        self.assertEqual([table.numpy(i)[:, 1].tolist() for i in range(2)], [[11, 11, 1, 21]] * 2)
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(lambda replica: replica.assign_sparse(table, rows(4), floats(1, 1).reshape(1, 2),
                                                                  mdist.Assign.ADD))
        self.assertEqual(caught.exception.status, mdist.Status.INVALID_ARGUMENT)


class Losses(WithStrategy):
    replicas = 3

    def test_parts_add_up_to_the_mean_over_all_examples(self):
        examples = [floats(1, 2, 3), floats(4), floats()]

        def step(replica):
            loss, batch = replica.average_loss(examples[replica.id])
            weighted, _ = replica.average_loss(examples[replica.id], 2 * np.ones_like(examples[replica.id]), 4)
            return np.array([loss, weighted, replica.scale_regularization(floats(3, 6))]), np.array(batch)

        losses, batch = self.strategy.run(step, results=2)
        self.assertEqual([losses.numpy(i).tolist() for i in range(3)], [[1.5, 3, 3], [1, 2, 3], [0, 0, 3]])
        self.assertEqual(self.strategy.reduce(SUM, losses).numpy().tolist(), [2.5, 5, 9])
        self.assertEqual(batch.numpy(2), 4)
        with self.assertRaises(mdist.Error):
            self.strategy.run(lambda replica: replica.average_loss(np.array([1])))
