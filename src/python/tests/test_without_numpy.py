# SPDX-License-Identifier: Apache-2.0
"""The same package where NumPy is not installed: flat memoryviews instead of arrays."""
import array
import gc
import importlib.util
import sys
import unittest
from unittest import mock

import mdist as with_numpy


def load_without_numpy():
    spec = importlib.util.spec_from_file_location("mdist_without_numpy", with_numpy.__file__)
    module = importlib.util.module_from_spec(spec)
    with mock.patch.dict(sys.modules, {"numpy": None, spec.name: module}):
        spec.loader.exec_module(module)
    return module


mdist = load_without_numpy()
SUM = mdist.ReduceOp.SUM


class WithoutNumpy(unittest.TestCase):
    def setUp(self):
        self.strategy = mdist.Strategy(devices="cpu*2")
        self.addCleanup(self.strategy.destroy)

    def test_it_is_not_there(self):
        self.assertIsNone(mdist.numpy)
        with self.assertRaisesRegex(ImportError, "memory"):
            mdist.Value(array.array("f", [1])).numpy()

    def test_every_dtype(self):
        for form in "fdbBiIlLqQ":
            value = mdist.Value(array.array(form, [1, 2]))
            self.assertEqual(value.memory().tolist(), [1, 2])
        bits = mdist.Typed(array.array("H", [0x3C00]), "float16")
        self.assertEqual((mdist.Value(bits).dtype.name, mdist.Value(bits).memory().tolist()), ("FLOAT16", [0x3C00]))
        self.assertEqual(mdist.Value(array.array("f")).memory().tolist(), [])

    def test_a_run(self):
        def step(replica, x):
            gc.collect()
            total = array.array("f", [one + replica.id for one in x])
            replica.all_reduce(SUM, total)
            (part,) = replica.merge_call(lambda strategy, value: strategy.reduce(SUM, value), total, results=1)
            return array.array("f", [*total, part])

        result = self.strategy.run(step, array.array("f", [1]), results=1)
        self.assertEqual([result.memory(i).tolist() for i in range(2)], [[3, 6]] * 2)

    def test_variables_datasets_and_memory_of_the_library(self):
        def double(inputs, outputs):
            outputs[0][:] = array.array("f", [2 * one for one in inputs[0]])

        variable = self.strategy.variable("w", ("float32", (2,)))
        variable.memory(1)[0] = 5
        self.assertEqual(variable.memory(1).tolist(), [5, 0])
        memory = mdist.alloc("int64", (3,))
        memory[1] = 7
        self.assertEqual(memory.tolist(), [0, 7, 0])
        rows = mdist.Dataset.from_tensors(array.array("f", [1, 2, 3])).batch(2)
        mapped = rows.map(double, [("float32", (mdist.UNKNOWN_LENGTH,))])
        self.assertEqual([value.memory().tolist() for (value,) in mapped], [[2, 4], [6]])

    def test_a_flat_view_keeps_its_memory(self):
        view = mdist.Value(array.array("f", [1, 2])).memory()
        gc.collect()
        self.assertEqual(view.tolist(), [1, 2])
