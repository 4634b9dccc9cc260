# SPDX-License-Identifier: Apache-2.0
"""Tests the library from Python's ctypes, through the binding of src/python. The generated files are up to
date, structs have the layout of C, errors come back, and a step runs a Python function. The example has more tests."""
import array
import ctypes
import os
import pathlib
import subprocess
import sys
import unittest

BINDING = pathlib.Path(__file__).resolve().parents[2] / "src" / "python"
os.environ["MDIST_LIBRARY"] = sys.argv.pop(1)
sys.path.insert(0, str(BINDING))
sys.dont_write_bytecode = True

import mdist  # noqa: E402


class Layout(unittest.TestCase):
    def check(self, struct, size, **offsets):
        self.assertEqual(ctypes.sizeof(struct), size)
        self.assertEqual({name: getattr(struct, name).offset for name, *_ in struct._fields_}, offsets)

    def test_structs_lie_as_in_c(self):
        self.check(mdist.Buffer, 24, data=0, elements=8, dtype=16, reserved=20)
        self.check(mdist.Tensor, 88, data=0, dtype=8, rank=12, device_kind=16, device_index=20, shape=24)
        self.check(mdist.CallOptions, 40, struct_size=0, flags=4, timeout_ns=8, bytes_per_pack=16,
                   implementation=24, reserved=28, group=32)
        self.check(mdist.VariableOptions, 24, struct_size=0, synchronization=4, aggregation=8, reserved=12,
                   colocate_with=16)
        self.check(mdist.InputOptions, 48, struct_size=0, flags=4, policy=8, uneven=12, replication_mode=16,
                   fetch_to_device=20, buffer_size=24, weights=32, weight_count=40)

    def test_a_tensor_is_filled_where_python_expects_it(self):
        tensor, memory = mdist.Tensor(), (ctypes.c_float * 15)()
        mdist._call(mdist._lib.mdist_tensor_describe, ctypes.addressof(memory), mdist.Dtype.FLOAT32,
                    (ctypes.c_uint64 * 2)(3, 5), 2, ctypes.byref(tensor))
        self.assertEqual((tensor.data, tensor.dtype, tensor.rank), (ctypes.addressof(memory), mdist.Dtype.FLOAT32, 2))
        self.assertEqual(list(tensor.shape), [3, 5, 0, 0, 0, 0, 0, 0])
        self.assertEqual(mdist._lib.mdist_tensor_elements(ctypes.byref(tensor)), 15)

    def test_the_generated_part_is_fresh(self):
        found = subprocess.run([sys.executable, "-B", BINDING / "generate", "--check"], capture_output=True, text=True)
        self.assertEqual((found.returncode, found.stdout, found.stderr), (0, "", ""))


class Basics(unittest.TestCase):
    def test_the_library_knows_its_version(self):
        self.assertGreaterEqual(mdist.version(), mdist.VERSION)

    def test_what_nobody_has_heard_of_is_not_there(self):
        self.assertFalse(mdist.has("abacus"))
        self.assertEqual(mdist._lib.mdist_has(None), 0)

    def test_an_unknown_key_is_told(self):
        with self.assertRaises(mdist.Error) as caught:
            mdist.Config({"communication.timeuot": "30s"})
        self.assertEqual((caught.exception.status, caught.exception.reason), (mdist.Status.CONFIG, "unknown_key"))
        self.assertEqual(caught.exception.operation, "mdist_config_set")

    def test_a_step_of_python_reduces_over_replicas(self):
        sums = {}

        def step(replica):
            numbers = array.array("f", [replica.id + i for i in range(3)])
            replica.all_reduce(mdist.ReduceOp.SUM, numbers)
            sums[replica.id] = numbers.tolist()

        with mdist.Strategy(devices="cpu:0,cpu:1") as strategy:
            self.assertEqual(strategy.replica_count, 2)
            strategy.run(step)
        self.assertEqual(sums, {0: [1, 3, 5], 1: [1, 3, 5]})


unittest.main(verbosity=2)
