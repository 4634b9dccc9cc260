# SPDX-License-Identifier: Apache-2.0
"""GPUs: run by itself (`tests gpu.py`), where the module of the library for them is a fake whose memory crashes whoever
touches it from the host."""
import array
import ctypes
import gc
import os
import unittest

import mdist
import numpy as np
from support import SUM, floats
from test_without_numpy import mdist as without_numpy

if not os.environ.get("MDIST_FAKE_GPU", "").startswith("devices=2"):
    raise unittest.SkipTest("no fake GPUs")


class Foreign:
    """What another library's array looks like."""

    def __init__(self, array, **more):
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **more}


class WithGpus(unittest.TestCase):
    def setUp(self):
        self.strategy = mdist.Strategy(devices="gpu:0,gpu:1")
        self.addCleanup(self.strategy.destroy)

    def on_gpu(self, array, local_replica=1):
        """A GpuArray with these elements."""
        there = mdist.alloc(array.dtype, array.shape, self.strategy, local_replica)
        mdist.copy(there, array)
        return there

    def back(self, there):
        here = np.empty(there.shape, mdist._TYPES[there.dtype][0])
        mdist.copy(here, there)
        return here.tolist()


class Places(WithGpus):
    def test_which_gpus_there_are(self):
        gpus = mdist.gpus()
        self.assertEqual(gpus.count, 2)
        self.assertIn("gpu:1", gpus.text)

    def test_a_tensor_says_where_it_lies_and_is_no_array(self):
        variable = self.strategy.variable("w", floats(1, 2))
        value = mdist.Value(variable.tensor(1))
        self.assertEqual([variable.device(0), variable.device(1), value.device()], ["gpu:0", "gpu:1", "gpu:1"])
        self.assertEqual(mdist.Value(floats(1)).device(), "cpu:0")
        for look in value.numpy, value.memory, lambda: variable.numpy(1), lambda: variable.memory(1):
            self.assertRaisesRegex(BufferError, "lies on gpu:1.*mdist.copy, in a step replica.copy", look)
        self.assertEqual(repr(variable.tensor(1)), "<GpuArray float32 (2,) on gpu:1>")

    def test_copies_between_host_and_gpus(self):
        numbers = np.arange(6, dtype=np.int64).reshape(2, 3)
        there, other = self.on_gpu(numbers, 1), mdist.alloc("int64", (2, 3), self.strategy, 0)
        mdist.copy(other, there)
        self.assertEqual(self.back(other), numbers.tolist())
        self.assertRaisesRegex(mdist.Error, "must have the same type and shape", mdist.copy, there, numbers.ravel())
        self.assertEqual(self.back(mdist.alloc("float32", (0, 3), self.strategy)), [])

    def test_memory_of_a_gpu_outlives_its_strategy(self):
        there = self.on_gpu(floats(1, 2))
        self.strategy.destroy()
        gc.collect()
        self.assertEqual(self.back(there), [1, 2])

    def test_page_locked_memory(self):
        pinned = mdist.alloc_pinned("float32", (3, 4))
        self.assertEqual((pinned.shape, pinned.any()), ((3, 4), False))
        pinned[1] = 5
        row = pinned[1]
        del pinned
        gc.collect()
        self.assertEqual(self.back(self.on_gpu(row)), [5] * 4)

    def test_bfloat16(self):
        bits = np.array([0x3F80, 0x4000], np.uint16)
        there = mdist.alloc("bfloat16", (2,), self.strategy)
        mdist.copy(there, mdist.Typed(bits, "bfloat16"))
        taken = mdist.Value(mdist.Typed(Foreign(there), "bfloat16"))
        self.assertEqual((taken.device(), taken.dtype), ("gpu:0", mdist.Dtype.BFLOAT16))
        self.assertEqual(self.strategy.fetch(taken).numpy().tolist(), bits.tolist())


class Steps(WithGpus):
    def test_a_step_on_its_stream(self):
        variable = self.strategy.variable("w", floats(1, 2))

        def step(replica, x):
            self.assertEqual((x.device, x.shape, variable.device(replica.local_index)),
                             (f"gpu:{replica.local_index}", (2,), x.device))
            own = variable.tensor(replica.local_index)
            replica.copy(own, x)
            replica.all_reduce(SUM, own)
            here = np.empty(2, np.float32)
            replica.copy(here, own)
            return here

        given = self.strategy.per_replica(*(self.on_gpu(floats(i, 10 * i), i) for i in range(2)))
        seen = self.strategy.run(step, given, results=1)
        self.assertEqual([seen.numpy(i).tolist() for i in range(2)], [[1, 10]] * 2)
        self.assertEqual(variable.read().numpy().tolist(), [1, 10])

    def test_a_graph_is_recorded_once(self):
        for devices, times in ("gpu:0", 1), ("cpu", 3):
            strategy = mdist.Strategy(devices=devices)
            self.addCleanup(strategy.destroy)
            weight, sums, calls = strategy.variable("w", floats(1)), strategy.variable("s", floats(0)), []

            def step(replica):
                def body():
                    calls.append(1)
                    replica.copy(sums.tensor(0), weight.tensor(0))
                    replica.all_reduce(SUM, sums.tensor(0))

                replica.graph(7, body)

            for i in range(3):
                weight.assign(floats(i))
                strategy.run(step)
                self.assertEqual((sums.read().numpy().tolist(), len(calls)), ([i], min(i + 1, times)))

    def test_results_and_merges(self):
        def step(replica):
            x = mdist.alloc("float32", (2,), self.strategy, replica.local_index)
            replica.copy(x, floats(1, replica.id))
            merged = replica.merge_call(lambda strategy, value: strategy.reduce(SUM, value), x, results=1)
            self.assertEqual(merged.tolist(), [2, 1])
            return x

        result = self.strategy.run(step, results=1)
        self.assertEqual([result.device(i) for i in range(2)], ["gpu:0", "gpu:1"])
        self.assertEqual([self.back(result.tensor(i)) for i in range(2)], [[1, 0], [1, 1]])

    def test_updates_see_their_copy(self):
        variable = self.strategy.variable("w", floats(1, 2))
        variable.update(lambda local_replica, own, x: mdist.copy(own, x), floats(5, 6))
        self.assertEqual(self.back(variable.tensor(1)), [5, 6])

    def test_streams(self):
        def step(replica):
            stream = replica.stream
            replica.use_stream(stream)
            replica.use_stream(None)
            self.assertEqual(replica.stream, stream)
            streams[replica.local_index] = stream

        streams = [None, None]
        self.strategy.run(step)
        self.assertTrue(streams[0] and streams[1] and streams[0] != streams[1])
        with mdist.Strategy(devices="cpu") as strategy:
            strategy.run(lambda replica: self.assertIsNone(replica.stream))
            with self.assertRaisesRegex(mdist.Error, "which has no streams"):
                strategy.run(lambda replica: replica.use_stream(streams[0]))

    def test_a_step_that_takes_an_array_says_what_to_do(self):
        variable = self.strategy.variable("w", floats(1))
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(lambda replica: variable.numpy(replica.local_index))
        self.assertIn("replica.copy", str(caught.exception.__cause__))


class Others(WithGpus):
    def test_their_arrays_go_in(self):
        there = self.on_gpu(np.arange(6, dtype=np.float32).reshape(2, 3))
        self.assertEqual(self.back(mdist.Value(Foreign(there)).tensor()), [[0, 1, 2], [3, 4, 5]])
        self.assertEqual(mdist.Value(Foreign(there, strides=(12, 4))).device(), "gpu:1")
        for kind, says, more in ((ValueError, "not C-contiguous", {"strides": (4, 8)}),
                                 (TypeError, "elements of <c8; there are", {"typestr": "<c8"})):
            self.assertRaisesRegex(kind, says, mdist.Value, Foreign(there, **more))
        readonly = mdist.Value(there).tensor()
        self.assertRaisesRegex(ValueError, "read-only", mdist.copy, readonly, there)

    def test_dlpack_out_and_in(self):
        value = mdist.Value(self.on_gpu(floats(1, 2, 3)))
        self.assertEqual(value.__dlpack_device__(), (2, 1))
        for asked, name, at in (None, b"dltensor", 0), ((1, 0), b"dltensor_versioned", 32):
            managed = mdist._capsule_pointer(value.__dlpack__(stream=1, max_version=asked, dl_device=(2, 1)), name)
            data = ctypes.c_void_p.from_address(managed + at).value
            device = (ctypes.c_int32 * 2).from_address(managed + at + 8)
            self.assertEqual((data, tuple(device)), (value.tensor().data, (2, 1)))
        back = mdist.from_dlpack(value)
        self.assertEqual((back.tensor().data, back.device()), (value.tensor().data, "gpu:1"))
        self.assertRaises(BufferError, value.__dlpack__, dl_device=(1, 0))
        self.assertRaises((BufferError, RuntimeError), np.from_dlpack, value)


class WithoutNumpy(unittest.TestCase):
    def test_copies(self):
        with without_numpy.Strategy(devices="gpu:1") as strategy:
            there = without_numpy.alloc("float32", (2,), strategy)
            without_numpy.copy(there, array.array("f", [1, 2]))
            here = without_numpy.alloc_pinned("float32", (2,))
            without_numpy.copy(here, there)
            self.assertEqual(here.tolist(), [1, 2])
            merged = []

            def step(replica):
                merged.append(replica.merge_call(lambda _, value: value, there, results=1).tolist())

            strategy.run(step)
            self.assertEqual(merged, [[1, 2]])
