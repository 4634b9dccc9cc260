# SPDX-License-Identifier: Apache-2.0
"""Variables: views of their copies, writing and reading from both sides of a step, updates, and how long they stay."""
import mdist
import numpy as np
from support import SUM, WithStrategy, floats, gone, settled
import weakref

Aggregation, Assign, Synchronization = mdist.Aggregation, mdist.Assign, mdist.Synchronization


class Variables(WithStrategy):
    def copies(self, variable):
        return [variable.numpy(i).tolist() for i in range(self.replicas)]

    def test_copies_are_read_and_written_in_place(self):
        variable = self.strategy.variable("w", floats(1, 2))
        zeros = self.strategy.variable("zeros", ("int32", (2, 3)))
        variable.numpy(1)[0] = 7
        self.assertEqual((variable.name, self.copies(variable)), ("w", [[1, 2], [7, 2]]))
        self.assertEqual(zeros.numpy(0).tolist(), [[0] * 3] * 2)
        self.assertEqual(variable.memory(1).tolist(), [7, 2])
        self.assertEqual(variable.read().numpy().tolist(), [1, 2])

    def test_a_step_computes_on_them(self):
        variable = self.strategy.variable("w", floats(1))

        def step(replica):
            variable.numpy(replica.local_index)[:] += replica.id

        self.strategy.run(step)
        self.assertEqual(self.copies(variable), [[1], [2]])

    def test_writing_from_outside(self):
        variable = self.strategy.variable("w", floats(1))
        variable.assign(floats(5))
        variable.assign(self.strategy.per_replica(floats(1), floats(2)), Assign.ADD)
        self.assertEqual(self.copies(variable), [[6], [7]])

    def test_writing_in_a_step_aggregates(self):
        variable = self.strategy.variable("w", floats(10), aggregation=Aggregation.SUM)
        self.strategy.run(lambda replica: replica.assign(variable, floats(replica.id + 1), Assign.SUB))
        self.assertEqual(self.copies(variable), [[7], [7]])

    def test_reading_aggregates_what_is_synchronised_then(self):
        variable = self.strategy.variable("w", floats(0), Synchronization.ON_READ, Aggregation.SUM)
        self.strategy.run(lambda replica: replica.assign(variable, floats(replica.id + 1)))
        self.assertEqual((self.copies(variable), variable.read().numpy()), ([[1], [2]], 3))

    def test_one_created_in_a_step_goes_with_the_last_who_has_it(self):
        made = {}

        def step(replica):
            made[replica.id] = replica.variable_create("v", floats(replica.id + 1))
            return made[replica.id].numpy(replica.local_index)

        result = self.strategy.run(step, results=1)
        self.assertEqual(result.numpy(1).tolist(), [1])
        del made[0]
        made[1].numpy(0)[:] = 7
        self.assertEqual(self.copies(made[1]), [[7], [1]])
        with self.assertRaisesRegex(mdist.Error, '"v"'):
            self.strategy.variable("v", floats(0))
        made.clear()
        self.strategy.variable("v", floats(0))

    def test_updates(self):
        variable = self.strategy.variable("w", floats(1))

        def add(local_replica, copy, amount, plain):
            copy += amount * plain + local_replica

        variable.update(add, self.strategy.per_replica(floats(1), floats(2)), floats(10))
        self.assertEqual(self.copies(variable), [[11], [22]])

        def fail(local_replica, copy):
            raise LookupError(local_replica)

        with self.assertRaises(mdist.Error) as caught:
            variable.update(fail)
        self.assertEqual(repr(caught.exception.__cause__), "LookupError(0)")
        self.assertEqual(settled(), {})

    def test_the_arena_has_all_of_one_dtype(self):
        first, second = (self.strategy.variable(name, floats(1)) for name in "ab")
        self.assertIsNone(self.strategy.arena("int8", 0))

        def step(replica):
            arena = self.strategy.arena("float32", replica.local_index)
            replica.all_reduce(SUM, arena)

        self.strategy.run(step)
        self.assertEqual(self.copies(first) + self.copies(second), [[2]] * 4)

    def test_numbers_get_the_dtype_of_the_variable(self):
        for dtype in "float32", "float16", "int8", "uint64":
            variable = self.strategy.variable(dtype, np.zeros((2, 2), dtype), aggregation="only_first_replica")
            self.strategy.run(lambda replica: replica.assign(variable, [[1, 2], [3, 4]]))
            self.assertEqual(variable.numpy(1).tolist(), [[1, 2], [3, 4]])
            self.strategy.run(lambda replica: replica.assign_sparse(variable, [1], [[7, 8]], "add"))
            self.assertEqual(variable.numpy(1).tolist(), [[1, 2], [10, 12]])
        scalar = self.strategy.variable("scalar", np.zeros((), np.float32))
        self.strategy.run(lambda replica: replica.assign(scalar, 1, "add"))
        self.strategy.run(lambda replica: replica.assign(scalar, 1.5, "add"))
        self.assertEqual(scalar.numpy(1), 2.5)
        whole = self.strategy.variable("whole", np.zeros((), np.int32))
        for number in 1.5, 2**40:
            with self.assertRaises(mdist.Error) as caught:
                self.strategy.run(lambda replica: replica.assign(whole, number))
            self.assertEqual(caught.exception.__cause__.status, mdist.Status.INVALID_ARGUMENT)

    def test_an_arena_keeps_its_variables_also_without_the_strategy(self):
        def step(replica):
            made.append(replica.variable_create("in a step", floats(2)))

        made = [self.strategy.variable("w", floats(1))]
        self.strategy.run(step)
        references = [weakref.ref(variable) for variable in made]
        arena = self.strategy.arena("float32", 0)
        made.clear()
        self.strategy.destroy()
        self.assertEqual([gone(reference) for reference in references], [False] * 3)
        self.assertEqual(arena.sum(), 3)
        del arena
        self.assertEqual([gone(reference) for reference in references], [True] * 3)

    def test_a_view_keeps_the_variable_also_without_the_strategy(self):
        variable = self.strategy.variable("w", np.zeros(1000, np.float32))
        reference, view = weakref.ref(variable), variable.numpy(1)[1:]
        del variable
        self.strategy.destroy()
        self.assertFalse(gone(reference))
        view[:] = 3
        self.assertEqual(view.sum(), 3 * 999)
        del view
        self.assertTrue(gone(reference))

    def test_the_name_is_free_again_when_a_variable_has_gone(self):
        self.strategy.variable("w", floats(1))
        self.strategy.variable("w", floats(1))
        kept = self.strategy.variable("w", floats(1))
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.variable("w", floats(1))
        self.assertEqual(caught.exception.status, mdist.Status.INVALID_ARGUMENT, str(caught.exception))
        del kept
