# SPDX-License-Identifier: Apache-2.0
"""The library as Python's ctypes sees it: layouts, errors, a config, and a step that runs a Python function."""
import ctypes
import sys
import unittest
from ctypes import byref, c_size_t, c_uint64, c_void_p, create_string_buffer

import mdist_ctypes as m

LIBRARY = m.load(sys.argv.pop(1))


def create_config(**keys):
    config = c_void_p()
    m.call(LIBRARY, "mdist_config_create", byref(config))
    for key, value in keys.items():
        m.call(LIBRARY, "mdist_config_set", config, key.encode(), value.encode())
    return config


class Layout(unittest.TestCase):
    def check(self, struct, size, **offsets):
        self.assertEqual(ctypes.sizeof(struct), size)
        self.assertEqual({name: getattr(struct, name).offset for name, *_ in struct._fields_}, offsets)

    def test_structs_lie_as_in_c(self):
        self.check(m.Buffer, 24, data=0, elements=8, dtype=16, reserved=20)
        self.check(m.Tensor, 88, data=0, dtype=8, rank=12, device_kind=16, device_index=20, shape=24)
        self.check(m.CallOptions, 16, struct_size=0, flags=4, timeout_ns=8)
        self.check(m.VariableOptions, 16, struct_size=0, synchronization=4, aggregation=8, reserved=12)
        self.check(m.InputOptions, 8, struct_size=0, flags=4)

    def test_a_tensor_is_filled_where_python_expects_it(self):
        tensor = m.Tensor()
        shape = (c_uint64 * 2)(3, 5)
        memory = (ctypes.c_float * 15)()
        m.call(LIBRARY, "mdist_tensor_describe", memory, m.FLOAT32, shape, 2, byref(tensor))
        self.assertEqual((tensor.data, tensor.dtype, tensor.rank), (ctypes.addressof(memory), m.FLOAT32, 2))
        self.assertEqual(list(tensor.shape), [3, 5, 0, 0, 0, 0, 0, 0])
        self.assertEqual(LIBRARY.mdist_tensor_elements(byref(tensor)), 15)


class Basics(unittest.TestCase):
    def test_the_library_knows_its_version(self):
        self.assertGreaterEqual(LIBRARY.mdist_version(), 100)

    def test_what_nobody_has_heard_of_is_not_there(self):
        self.assertEqual(LIBRARY.mdist_has(b"abacus"), 0)
        self.assertEqual(LIBRARY.mdist_has(None), 0)

    def test_a_config_gives_back_what_was_set(self):
        config = create_config(**{"communication.timeout": "30s"})
        text, needed = create_string_buffer(16), c_size_t()
        m.call(LIBRARY, "mdist_config_get", config, b"communication.timeout", text, 16, byref(needed))
        self.assertEqual((text.value, needed.value), (b"30s", 4))
        LIBRARY.mdist_config_destroy(config)

    def test_an_unknown_key_is_told(self):
        config = create_config()
        with self.assertRaises(m.MdistError) as caught:
            m.call(LIBRARY, "mdist_config_set", config, b"communication.timeuot", b"30s")
        self.assertEqual((caught.exception.status, caught.exception.reason), ("MDIST_ERR_CONFIG", "unknown_key"))
        self.assertEqual(caught.exception.operation, "mdist_config_set")
        self.assertIn("communication.timeout", str(caught.exception))
        LIBRARY.mdist_config_destroy(config)

    def test_a_destroyed_config_is_a_bad_handle(self):
        config = create_config()
        LIBRARY.mdist_config_destroy(config)
        LIBRARY.mdist_config_destroy(config)
        with self.assertRaises(m.MdistError) as caught:
            m.call(LIBRARY, "mdist_config_set", config, b"devices", b"cpu:0")
        self.assertEqual(caught.exception.status, "MDIST_ERR_BAD_HANDLE")


class Run(unittest.TestCase):
    def setUp(self):
        self.config = create_config(devices="cpu:0,cpu:1")
        self.strategy = c_void_p()
        m.call(LIBRARY, "mdist_strategy_create", self.config, byref(self.strategy))

    def tearDown(self):
        LIBRARY.mdist_strategy_destroy(self.strategy)
        LIBRARY.mdist_config_destroy(self.config)

    def run_step(self, function):
        step = m.Step(function)
        m.call(LIBRARY, "mdist_run", self.strategy, step, None, None, 0, None, 0, None)

    def test_a_step_of_python_reduces_over_replicas(self):
        sums = {}

        def step(replica, _):
            numbers = (ctypes.c_float * 3)(*(LIBRARY.mdist_replica_id(replica) + i for i in range(3)))
            buffer = m.Buffer(ctypes.addressof(numbers), 3, m.FLOAT32, 0)
            status = LIBRARY.mdist_all_reduce(replica, m.SUM, byref(buffer), byref(buffer), 1, None, None)
            sums[LIBRARY.mdist_replica_id(replica)] = list(numbers)
            return status

        self.assertEqual(LIBRARY.mdist_strategy_replica_count(self.strategy), 2)
        self.run_step(step)
        self.assertEqual(sums, {0: [1, 3, 5], 1: [1, 3, 5]})

    def test_what_a_step_returns_fails_the_run(self):
        with self.assertRaises(m.MdistError) as caught:
            self.run_step(lambda replica, _: 42 if LIBRARY.mdist_replica_id(replica) == 1 else 0)
        self.assertEqual((caught.exception.status, caught.exception.native), ("MDIST_ERR_CALLBACK", 42))


unittest.main(verbosity=2)
