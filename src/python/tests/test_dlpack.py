# SPDX-License-Identifier: Apache-2.0
"""DLPack, both ways and both layouts: no copies, and each deleter called once, by whom it belongs to."""
import ctypes
import gc
import sys
import unittest
import weakref

import mdist
import numpy as np
from support import WithStrategy, address, floats, gone, settled, watched


class Producer:
    """An array as a library would give it that knows the versioned layout, or only the old one."""

    def __init__(self, value, newest):
        self.value, self.newest, self.capsules = value, newest, []

    def __dlpack_device__(self):
        return self.value.__dlpack_device__()

    def __dlpack__(self, **options):
        if not self.newest and options:
            raise TypeError("no such option: max_version")
        self.capsules.append(self.value.__dlpack__(**options))
        return self.capsules[-1]


class Given:
    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **options):
        return self.capsule


def name_of(capsule):
    return repr(capsule).split('"')[1]


class In(unittest.TestCase):
    def test_numpy_arrays_come_in_without_a_copy_and_are_kept(self):
        for dtype in "float32 float64 float16 int8 uint8 int32 uint32 int64 uint64".split():
            array, reference = watched(np.arange(6, dtype=dtype).reshape(2, 3))
            value = mdist.from_dlpack(array)
            self.assertEqual((address(value.numpy()), value.shape(), value.dtype.name.lower()),
                             (address(array), (2, 3), dtype))
            del array
            self.assertFalse(gone(reference))
            self.assertEqual(value.numpy().tolist(), [[0, 1, 2], [3, 4, 5]])
            del value
            self.assertTrue(gone(reference))

    def test_both_layouts_are_taken_and_their_capsules_used_up(self):
        for newest, name in (True, "used_dltensor_versioned"), (False, "used_dltensor"):
            array, reference = watched(floats(1, 2))
            producer = Producer(mdist.Value.wrap(array), newest)
            value = mdist.from_dlpack(producer)
            self.assertEqual(address(value.numpy()), address(array))
            self.assertEqual([name_of(capsule) for capsule in producer.capsules], [name])
            del array, producer
            self.assertFalse(gone(reference))
            del value
            self.assertTrue(gone(reference))

    def test_what_is_refused_stays_with_its_capsule(self):
        array, reference = watched(np.zeros(8, np.float32))
        given = Given(array[::2].__dlpack__())
        with self.assertRaises(mdist.Error) as caught:
            mdist.from_dlpack(given)
        self.assertEqual(caught.exception.status, mdist.Status.UNSUPPORTED)
        self.assertIn("stride", str(caught.exception))
        self.assertEqual(name_of(given.capsule), "dltensor")
        del array, caught
        self.assertFalse(gone(reference))
        del given
        self.assertTrue(gone(reference))

    def test_what_is_no_capsule_or_a_used_one(self):
        self.assertRaisesRegex(TypeError, "no DLPack capsule", mdist.from_dlpack, Given("paper"))
        given = Given(floats(1).__dlpack__())
        mdist.from_dlpack(given)
        self.assertRaisesRegex(TypeError, "or a used one", mdist.from_dlpack, given)
        self.assertRaises(AttributeError, mdist.from_dlpack, 5)


class Out(WithStrategy):
    def test_numpy_takes_a_value_without_a_copy_and_keeps_its_memory(self):
        array, reference = watched(floats(1, 2, 3))
        value = mdist.Value.wrap(array)
        taken = np.from_dlpack(value)
        self.assertEqual((address(taken), value.__dlpack_device__()), (address(array), (1, 0)))
        del array, value
        self.assertFalse(gone(reference))
        self.assertEqual(taken.tolist(), [1, 2, 3])
        del taken
        self.assertTrue(gone(reference))

    def test_parts_of_a_value_of_many(self):
        value = self.strategy.per_replica(floats(1), floats(2, 3))
        self.assertEqual([np.from_dlpack(value.part(i)).tolist() for i in range(2)], [[1], [2, 3]])
        self.assertRaisesRegex(BufferError, r"value of 2 arrays; value.part\(i\)", np.from_dlpack, value)

    def test_the_layout_is_what_the_taker_asks_for(self):
        value = mdist.Value(floats(1))
        for asked, name in ((None, "dltensor"), ((0, 8), "dltensor"), ((1, 0), "dltensor_versioned"),
                            ((2, 1), "dltensor_versioned")):
            self.assertEqual(name_of(value.__dlpack__(max_version=asked)), name)
        self.assertRaises(BufferError, value.__dlpack__, copy=True)
        self.assertRaises(BufferError, value.__dlpack__, dl_device=(2, 0))

    def test_the_versioned_layout_says_read_only(self):
        capsule = mdist.Value(floats(1)).__dlpack__(max_version=(1, 0))
        managed = mdist._capsule_pointer(capsule, b"dltensor_versioned")
        version = (ctypes.c_uint32 * 2).from_address(managed)
        self.assertEqual((version[0], ctypes.c_uint64.from_address(managed + 24).value & 1), (1, 1))

    def test_a_capsule_that_nobody_took_is_deleted(self):
        for asked in None, (1, 0):
            array, reference = watched(floats(1))
            value = mdist.Value.wrap(array)
            capsule = value.__dlpack__(max_version=asked)
            del array, value
            self.assertFalse(gone(reference))
            del capsule
            mdist.Value(floats(1))  # any value that goes has a look
            self.assertTrue(gone(reference))
        self.assertFalse(mdist._Export.waiting)

    def test_a_capsule_that_dies_of_an_exception_leaves_the_exception_alone(self):
        array, reference = watched(floats(1))
        with self.assertRaisesRegex(TypeError, "int.*PyCapsule"):
            int(mdist.Value.wrap(array).__dlpack__())
        del array
        mdist.Value(floats(1))
        self.assertTrue(gone(reference))

    def traced(self, trace, function):
        """Runs it with trace(code, event) called wherever another thread could come between."""
        def elsewhere(frame, event, _):
            trace(frame.f_code, event)
            return elsewhere

        before = sys.gettrace()
        sys.settrace(elsewhere)
        try:
            return function()
        finally:
            sys.settrace(before)

    def test_a_capsule_is_held_whenever_others_sweep(self):
        array, reference = watched(floats(1))
        value = mdist.Value.wrap(array)
        capsule = self.traced(lambda *_: mdist._Export.sweep(), value.__dlpack__)
        del array, value
        self.assertFalse(gone(reference))
        del capsule
        mdist._Export.sweep()
        self.assertTrue(gone(reference))

    def test_a_capsule_taken_during_a_sweep_is_deleted_by_its_taker_only(self):
        for moment in range(1, 5):
            array, reference = watched(floats(1))
            held, taken, lines = [mdist.Value.wrap(array).__dlpack__()], [], []

            def take(code, event):
                if code is mdist._Export.finished.__code__ and event == "line" and held:
                    lines.append(event)
                    if len(lines) == moment:
                        taken.append(mdist.from_dlpack(Given(held.pop())))

            self.traced(take, mdist._Export.sweep)
            del array
            held.clear()
            self.assertEqual(gone(reference), not taken)
            taken.clear()
            mdist._Export.sweep()
            self.assertTrue(gone(reference))

    def test_there_and_back_a_thousand_times(self):
        array = np.arange(1000, dtype=np.float32)
        for _ in range(1000):
            value = mdist.from_dlpack(mdist.Value.wrap(np.from_dlpack(mdist.from_dlpack(array))))
            self.assertEqual(address(value.numpy()), address(array))
        reference = weakref.ref(array)
        del array, value
        gc.collect()
        self.assertIsNone(reference())
        self.assertEqual(settled(), {})
