# SPDX-License-Identifier: Apache-2.0
"""The generated part is what the headers say, and lies in memory as C has it."""
import ctypes
import pathlib
import subprocess
import sys
import unittest

import mdist

GENERATE = pathlib.Path(__file__).resolve().parents[1] / "generate"


class Abi(unittest.TestCase):
    def check(self, struct, size, **offsets):
        self.assertEqual(ctypes.sizeof(struct), size)
        self.assertEqual({name: getattr(struct, name).offset for name, *_ in struct._fields_}, offsets)

    def test_structs_lie_as_in_c(self):
        self.check(mdist.Buffer, 24, data=0, elements=8, dtype=16, reserved=20)
        self.check(mdist.Tensor, 88, data=0, dtype=8, rank=12, device_kind=16, device_index=20, shape=24)
        self.check(mdist.CallOptions, 16, struct_size=0, flags=4, timeout_ns=8)
        self.check(mdist.VariableOptions, 16, struct_size=0, synchronization=4, aggregation=8, reserved=12)
        self.check(mdist.InputOptions, 8, struct_size=0, flags=4)

    def test_a_tensor_is_filled_where_python_expects_it(self):
        tensor, memory = mdist.Tensor(), (ctypes.c_float * 15)()
        mdist._call(mdist._lib.mdist_tensor_describe, ctypes.addressof(memory), mdist.Dtype.FLOAT32,
                    (ctypes.c_uint64 * 2)(3, 5), 2, ctypes.byref(tensor))
        self.assertEqual((tensor.data, tensor.dtype, tensor.rank), (ctypes.addressof(memory), mdist.Dtype.FLOAT32, 2))
        self.assertEqual(list(tensor.shape), [3, 5, 0, 0, 0, 0, 0, 0])
        self.assertEqual(mdist._lib.mdist_tensor_elements(ctypes.byref(tensor)), 15)

    def test_the_generated_part_is_fresh(self):
        found = subprocess.run([sys.executable, GENERATE, "--check"], capture_output=True, text=True)
        self.assertEqual((found.returncode, found.stdout, found.stderr), (0, "", ""))

    def test_the_library_is_as_new_as_the_binding(self):
        self.assertGreaterEqual(mdist.version(), mdist.VERSION)

    def test_what_nobody_has_heard_of_is_not_there(self):
        self.assertFalse(mdist.has("abacus"))
