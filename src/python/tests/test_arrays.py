# SPDX-License-Identifier: Apache-2.0
"""Arrays go in and come out: every dtype, shapes, what is refused and how; no copies, and nothing freed too early."""
import array
import ctypes
import unittest

import mdist
import numpy as np
from support import SUM, WithStrategy, address, floats, gone, settled, watched

NUMPY_DTYPES = "float32 float64 float16 int8 uint8 int32 uint32 int64 uint64".split()


class Values(unittest.TestCase):
    def test_every_dtype_and_shape_comes_back(self):
        for dtype in NUMPY_DTYPES:
            for shape in [(), (0,), (3,), (2, 0, 3), (2, 3, 4)]:
                with self.subTest(dtype=dtype, shape=shape):
                    given = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
                    value = mdist.Value(given)
                    np.testing.assert_array_equal(value.numpy(), given, strict=True)
                    self.assertEqual((value.dtype.name.lower(), value.shape(), len(value)), (dtype, shape, 1))
                    self.assertEqual(value.kind, mdist.ValueKind.PLAIN)

    def test_bfloat16_is_given_and_shown_as_its_bits(self):
        value = mdist.Value(mdist.Typed(np.array([0x3F80, 0x4000], np.uint16), "bfloat16"))
        self.assertEqual(value.dtype, mdist.Dtype.BFLOAT16)
        self.assertEqual(value.numpy().tolist(), [0x3F80, 0x4000])
        self.assertEqual(value.numpy().dtype, np.uint16)

    def test_other_buffers_are_arrays_too(self):
        self.assertEqual(mdist.Value(array.array("d", [1, 2])).numpy().tolist(), [1, 2])
        self.assertEqual(mdist.Value((ctypes.c_int64 * 2)(3, 4)).dtype, mdist.Dtype.INT64)
        self.assertEqual(mdist.Value(b"ab").numpy().tolist(), [97, 98])
        self.assertEqual(mdist.Value(np.float32(7)).shape(), ())

    def test_what_is_seen_is_read_only(self):
        with self.assertRaisesRegex(ValueError, "read-only"):
            mdist.Value(floats(1)).numpy()[0] = 2
        with self.assertRaises(TypeError):
            mdist.Value(floats(1)).memory()[0] = 2

    def test_an_array_that_is_seen_keeps_the_value(self):
        given, reference = watched(floats(1, 2, 3))
        seen = mdist.Value.wrap(given).numpy()[1:]
        flat = mdist.Value.wrap(given).memory()
        self.assertEqual(address(seen), address(given) + 4)
        del given
        self.assertFalse(gone(reference))
        self.assertEqual(seen.tolist(), [2, 3])
        del seen
        self.assertFalse(gone(reference))
        self.assertEqual(flat.tolist(), [1, 2, 3])
        del flat
        self.assertTrue(gone(reference))

    def test_a_value_that_could_not_be_made_keeps_nothing(self):
        given, reference = watched(np.zeros((1,) * 9, np.float32))
        with self.assertRaisesRegex(ValueError, "9 dimensions; 8 is the most"):
            mdist.Value.wrap(given)
        del given
        self.assertTrue(gone(reference))
        self.assertEqual(settled(), {})


class Refused(WithStrategy):
    def refuse(self, kind, says, *things):
        for thing in things:
            with self.assertRaisesRegex(kind, says):
                mdist.Value(thing)

    def test_what_is_no_array(self):
        self.refuse(TypeError, "str 'a' is no array", "a", ["a"])
        self.refuse(TypeError, "NoneType None is no array.*a step that returns nothing gives None", None)

    def test_dtypes_that_the_library_does_not_have(self):
        self.refuse(TypeError, "elements of complex64; there are float32, ", np.zeros(1, np.complex64))
        self.refuse(TypeError, "elements of >f4", np.zeros(1, ">f4"))
        self.refuse(TypeError, "elements of 4 bytes are not bfloat16", mdist.Typed(floats(1), "bfloat16"))
        self.refuse(TypeError, "no dtype brain; there are", mdist.Typed(floats(1), "brain"))

    def test_what_is_not_dense_is_copied(self):
        self.assertEqual(mdist.Value(np.arange(4, dtype=np.float32)[::2]).numpy().tolist(), [0, 2])
        self.assertEqual(mdist.Value.wrap(np.array([[1, 2, 3]], np.float32).T).numpy().tolist(), [[1], [2], [3]])

    def test_results_into_what_is_only_read(self):
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(lambda replica, x: replica.all_reduce(SUM, x), floats(1))
        self.assertIsInstance(caught.exception.__cause__, ValueError)
        self.assertIn("read-only", str(caught.exception.__cause__))


class LibraryMemory(WithStrategy):
    def test_it_is_aligned_zeroed_and_stays_as_long_as_it_is_seen(self):
        for strategy in None, self.strategy:
            memory = mdist.alloc("float32", (3, 4), strategy, 1 if strategy else 0)
            self.assertEqual((address(memory) % 64, memory.shape, memory.dtype), (0, (3, 4), np.float32))
            self.assertFalse(memory.any())
            part = memory[1]
            del memory
            part[:] = 5
        self.strategy.destroy()
        self.assertEqual(part.tolist(), [5] * 4)
        self.assertEqual(mdist.alloc("uint8", (0,)).shape, (0,))

    def test_it_is_given_back(self):
        addresses = set()
        for _ in range(100):
            addresses.add(address(mdist.alloc("uint8", (1 << 24,))))
        self.assertLess(len(addresses), 50)

    def test_a_replica_that_is_not_there(self):
        with self.assertRaises(mdist.Error) as caught:
            mdist.alloc("float32", (1,), self.strategy, 2)
        self.assertEqual(caught.exception.status, mdist.Status.INVALID_ARGUMENT)
