# SPDX-License-Identifier: Apache-2.0
"""What collectives take besides dense arrays: lists, numbers, names of operations, strided arrays, anything with
__dlpack__. And what they refuse is said in words that help."""
import array
import unittest

import mdist
import numpy as np
from support import SUM, WithStrategy, address, floats


class Foreign:
    """As a tensor of another library: no buffer, only DLPack. The memory is an array's."""

    def __init__(self, memory, device=(1, 0), old=False):
        self.memory, self.device, self.old = memory, device, old

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, max_version=None):
        if self.old and max_version is not None:
            raise TypeError("unexpected keyword argument 'max_version'")
        return self.memory.__dlpack__()


def brains(numbers):
    """bfloat16 by DLPack: a float32 array's capsule, said to be of 16 bits."""

    class Brain(Foreign):
        def __dlpack__(self, **_):
            capsule = self.memory.__dlpack__()
            tensor = mdist._DLTensor.from_address(mdist._capsule_pointer(capsule, b"dltensor"))
            tensor.code, tensor.bits = 4, 16
            return capsule

    bits = np.array(numbers, np.float32).view(np.uint32) >> 16
    return Brain(bits.astype(np.uint16).view(np.int16))


class Taken(WithStrategy):
    def both(self, step):
        """What the step returns on both replicas; each says what it is and how."""
        out = [None, None]

        def keep(replica):
            out[replica.id] = step(replica)

        self.strategy.run(keep)
        return out

    def test_lists_and_numbers_come_back_as_arrays(self):
        for given, dtype, wanted in (([1.5, 2], np.float64, [3, 4]), ((1, 2), np.int64, [2, 4]), (2.5, np.float64, 5),
                                     ([[1, 2], [3, 4]], np.int64, [[2, 4], [6, 8]]), (np.float32(3), np.float32, 6)):
            for out in self.both(lambda replica: replica.all_reduce(SUM, given)):
                self.assertIsInstance(out, np.ndarray)
                self.assertEqual((out.dtype, out.tolist()), (dtype, wanted))

    def test_a_list_with_an_array_is_several_arrays(self):
        def step(replica):
            x = floats(1, 2)
            out = replica.all_reduce(SUM, [x, 5, [6.0]])
            return out[0] is x, [one.tolist() for one in out]

        self.assertEqual(self.both(step), [(True, [[2, 4], 10, [12]])] * 2)

    def test_what_is_written_comes_back(self):
        def step(replica):
            x, y, z = floats(replica.id), floats(0), floats(0, 0)
            return [replica.all_reduce(SUM, x) is x, replica.all_reduce(SUM, x, y) is y,
                    replica.broadcast(1, [x, y])[1] is y, replica.all_gather(x, z) is z,
                    replica.reduce_to_root(SUM, 0, x) is (x if replica.id == 0 else None),
                    replica.barrier() is None, x.tolist(), y.tolist(), z.tolist()]

        self.assertEqual(self.both(step), [[True] * 6 + [[2], [2], [1, 1]], [True] * 6 + [[1], [2], [1, 1]]])

    def test_between_runs(self):
        x = floats(1)
        self.assertIs(self.strategy.all_reduce("sum", [x, floats(2)])[0], x)
        self.assertEqual(x.tolist(), [3])
        out = self.strategy.all_reduce("max", [[1.0, 5.0], [2.0, 3.0]])
        self.assertEqual([one.tolist() for one in out], [[2, 5]] * 2)

    def test_operations_by_name(self):
        def step(replica):
            return [replica.all_reduce(op, [replica.id + 1.0]).tolist() for op in ("sum", "MEAN", "min", "max", "prod")]

        self.assertEqual(self.both(step), [[[3], [1.5], [1], [2], [2]]] * 2)
        value = self.strategy.per_replica(floats(1), floats(2))
        self.assertEqual(self.strategy.reduce("mean", value).numpy().tolist(), [1.5])
        variable = self.strategy.variable("v", floats(0), synchronization="on_read", aggregation="sum")
        variable.assign(floats(4), "set")
        self.assertEqual(variable.read().numpy().tolist(), [4])

    def test_arrays_that_are_not_dense_are_reduced_where_they_are(self):
        def step(replica):
            whole = np.arange(12, dtype=np.float32).reshape(3, 4)
            turned, column, back = whole.T, whole[:, 1:2], np.arange(3, dtype=np.float32)[::-1]
            same = replica.all_reduce(SUM, turned) is turned
            replica.all_reduce(SUM, [column, back])
            return same, whole.tolist(), back.tolist()

        wanted = 2 * np.arange(12, dtype=np.float32).reshape(3, 4)
        wanted[:, 1] *= 2
        self.assertEqual(self.both(step), [(True, wanted.tolist(), [4, 2, 0])] * 2)

    def test_inputs_and_outputs_that_are_not_dense(self):
        def step(replica):
            whole, out = np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((3, 4), np.float32)
            given = out[:, ::2]
            replica.all_reduce(SUM, whole.T, given)
            work = replica.all_reduce_start(SUM, whole.T, np.zeros((3, 2), np.float32))
            return work.wait(), whole.sum(), out.tolist()

        wanted = [[0, 0, 6, 0], [2, 0, 8, 0], [4, 0, 10, 0]]
        self.assertEqual(self.both(step), [(True, 15, wanted)] * 2)
        self.assertEqual(mdist.Value(np.arange(6, dtype=np.float32).reshape(2, 3).T).numpy().tolist(),
                         [[0, 3], [1, 4], [2, 5]])

    def test_a_failed_call_writes_nothing(self):
        x = floats(1, 2, 3, 4)
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(lambda replica: replica.all_reduce(SUM, x[::2] if replica.id else [1.0, 2.0, 3.0]))
        self.assertEqual((caught.exception.status.name, x.tolist()), ("MISMATCH", [1, 2, 3, 4]))


class ByDlpack(WithStrategy):
    both = Taken.both

    def test_tensors_of_others_without_a_copy(self):
        for old in False, True:
            memory = [np.array([[1, 2], [3, 4]], np.float32) for _ in range(2)]
            given = [Foreign(one, old=old) for one in memory]
            self.both(lambda replica: replica.all_reduce("sum", given[replica.id]))
            self.assertEqual([one.tolist() for one in memory], [[[2, 4], [6, 8]]] * 2)
        whole = np.arange(6, dtype=np.int64).reshape(2, 3)
        tensor, kept = mdist._tensor(Foreign(whole))
        self.assertEqual((tensor.data, tensor.dtype, tensor.rank, list(tensor.shape[:2])),
                         (address(whole), mdist.Dtype.INT64, 2, [2, 3]))

    def test_what_is_not_dense(self):
        memory = [np.arange(6, dtype=np.float32).reshape(2, 3) for _ in range(2)]
        self.both(lambda replica: replica.all_reduce("sum", Foreign(memory[replica.id].T)))
        self.assertEqual([one.tolist() for one in memory], [[[0, 2, 4], [6, 8, 10]]] * 2)

    def test_bfloat16_says_so_itself(self):
        given = [brains([1, 2]), brains([3, 5])]
        self.both(lambda replica: replica.all_reduce("sum", given[replica.id]))
        for one in given:
            self.assertEqual((one.memory.view(np.uint16).astype(np.uint32) << 16).view(np.float32).tolist(), [4, 7])

    def test_everywhere_an_array_goes_in(self):
        self.assertEqual(mdist.Value(Foreign(floats(1, 2))).numpy().tolist(), [1, 2])
        result = self.strategy.run(lambda replica, x: Foreign(x + replica.id), Foreign(floats(1)), results=1)
        self.assertEqual([result.numpy(i).tolist() for i in range(2)], [[1], [2]])
        self.assertEqual(self.strategy.variable("v", Foreign(floats(3))).numpy(0).tolist(), [3])

    def test_the_memory_lives_as_long_as_it_is_seen(self):
        value = mdist.Value.wrap(Foreign(floats(1, 2)))
        filler = [floats(9, 9) for _ in range(100)]
        self.assertEqual((value.numpy().tolist(), len(filler)), ([1, 2], 100))

    def test_what_cannot_be_taken(self):
        with self.assertRaisesRegex(BufferError, "lies on a device .DLPack's 10:1."):
            mdist.Value(Foreign(floats(1), device=(10, 1)))
        with self.assertRaisesRegex(TypeError, "elements of complex64; there are float32, "):
            mdist.Value(Foreign(np.zeros(1, np.complex64)))


class Words(WithStrategy):
    """No message shows what ctypes says, or advises what makes things worse."""

    def said(self, kind, call):
        with self.assertRaises(kind) as caught:
            call()
        text = str(caught.exception)
        for raw in ("ctypes", "argument ", "has no attribute", "ascontiguousarray"):
            self.assertNotIn(raw, text)
        return text

    def in_step(self, kind, call):
        def step(replica):
            if replica.id == 0:
                call(replica)

        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(step)
        cause = caught.exception.__cause__
        self.assertIsInstance(cause, kind, cause)
        return self.said(kind, lambda: (_ for _ in ()).throw(cause))

    def test_operations(self):
        x = floats(1)
        self.assertEqual(self.in_step(ValueError, lambda replica: replica.all_reduce("avg", x)),
                         '\'avg\' is no operation; there are "sum", "mean", "min", "max", "prod", "and", "or", "xor"')
        self.assertIn("9 is no operation", self.in_step(ValueError, lambda replica: replica.all_reduce(9, x)))
        self.assertIn("ndarray is no operation", self.in_step(TypeError, lambda replica: replica.all_reduce(x, "sum")))
        self.assertIn("no synchronization", self.said(ValueError, lambda: self.strategy.variable("v", x, "eager")))

    def test_started_collectives_say_how_to_do_it(self):
        text = self.in_step(ValueError, lambda replica: replica.all_reduce_start("sum", np.zeros((2, 3), np.float32).T))
        self.assertIn("shape (3, 2) and strides (4, 12) is not C-contiguous", text)
        self.assertIn("x[...] = result", text)
        text = self.in_step(TypeError, lambda replica: replica.all_reduce_start("sum", [1.0]))
        self.assertIn("a result cannot be written into a list; pass an array", text)

    def test_what_is_no_array(self):
        for given in ("text", object(), {"a": 1}, [None]):
            self.assertIn(" is no array; arrays are NumPy's",
                          self.in_step(TypeError, lambda replica: replica.all_gather(given, floats(1, 2))))

    def test_arguments_of_another_kind(self):
        x, strategy = floats(1), self.strategy
        variable = strategy.variable("v", x)
        self.assertIn("str 'a', where a whole number",
                      self.in_step(TypeError, lambda replica: replica.broadcast("a", x)))
        self.assertIn("-1 is below 0", self.in_step(ValueError, lambda replica: replica.broadcast(-1, x)))
        self.assertIn("where a Variable belongs", self.in_step(TypeError, lambda replica: replica.assign(x, x)))
        self.assertIn("'30s' is no time", self.in_step(TypeError, lambda replica: replica.barrier(timeout="30s")))
        self.assertIn("where a name (str) belongs", self.said(TypeError, lambda: strategy.variable(3, x)))
        self.assertIn("where a whole number belongs", self.said(TypeError, lambda: variable.numpy("0")))
        self.assertIn("where a Strategy belongs", self.said(TypeError, lambda: mdist.Checkpoint(variable, "x")))
        self.assertIn("where a Dataset belongs", self.said(TypeError, lambda: strategy.distribute_dataset([x])))
        self.assertIn("where a whole number belongs",
                      self.said(TypeError, lambda: mdist.Dataset.from_tensors(x).batch("2")))
        self.assertIn("where a name (str) belongs", self.said(TypeError, lambda: strategy.reduce_to("sum", x, 1)))

    def test_only_the_array_itself_is_found(self):
        variable = self.strategy.variable("v", np.zeros((2, 2), np.float32))
        turned = variable.numpy(0).T
        self.assertIn("is not C-contiguous", self.said(ValueError, lambda: self.strategy.variable_of(turned)))


class Newcomers(WithStrategy):
    """What people try first."""

    def test_settings(self):
        with self.assertRaisesRegex(TypeError, "'cpu\\*2' is no dict of keys; did you mean devices='cpu\\*2'?"):
            mdist.Strategy("cpu*2")
        with mdist.Strategy(devices=["cpu:0", "cpu:1"]) as strategy:
            self.assertEqual(strategy.replica_count, 2)

    def test_a_step_that_is_called_instead_of_passed(self):
        for call in (self.strategy.run, lambda given: self.strategy.map(2, given)):
            with self.assertRaisesRegex(TypeError, "int 3 is no function .*; pass the function itself, without calling it"):
                call(3)

    def test_numbers_are_assigned_in_the_type_of_the_variable(self):
        weights = self.strategy.variable("weights", floats(0, 0))
        weights.assign([1, 2.5])
        self.assertEqual(weights.numpy(1).tolist(), [1, 2.5])
        count = self.strategy.variable("count", np.array(0, np.int8))
        count.assign(7)
        self.assertEqual(count.numpy(0).tolist(), 7)
        for wrong in 1.5, 1000:
            with self.assertRaises(mdist.Error) as caught:
                count.assign(wrong)
            self.assertIn('variable "count" is int8', str(caught.exception))

    def test_values_as_arrays(self):
        self.assertEqual(np.asarray(mdist.Value(floats(1, 2))).tolist(), [1, 2])
        self.assertEqual(float(np.sum(mdist.Value(np.array([1, 2])))), 3)
        with self.assertRaisesRegex(TypeError, "a value of 2 arrays, one per local replica; value.numpy"):
            np.asarray(self.strategy.per_replica(floats(1), floats(2)))
        self.assertEqual(repr(self.strategy.variable("w", floats(1))), "<Variable 'w'>")
        self.assertEqual(repr(mdist.Value(floats(1))), "<Value plain of 1>")


class WithoutNumpy(unittest.TestCase):
    def test_lists_numbers_and_dlpack(self):
        from test_without_numpy import mdist as bare
        out = [None, None]

        def step(replica):
            x = array.array("f", [1, 2])
            out[replica.id] = [replica.all_reduce("sum", one).tolist() for one in ([1, 2], 1.5)]
            lent = np.frombuffer(x, np.float32)
            replica.all_reduce("sum", Foreign(lent))
            out[replica.id].append(x.tolist())

        with bare.Strategy(devices="cpu*2") as strategy:
            strategy.run(step)
        self.assertEqual(out, [[[2, 4], 3, [2, 4]]] * 2)
        with self.assertRaisesRegex(TypeError, "a nested list needs NumPy"):
            bare._tensor([[1]])
