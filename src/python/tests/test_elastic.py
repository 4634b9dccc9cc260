# SPDX-License-Identifier: Apache-2.0
"""What of elastic jobs can be shown in one process of fixed size; elastic.py has the rest."""
import ctypes
import gc

import mdist
import numpy as np
from mdist.elastic import _Functions
from mdist.errors import _Failures
from support import WithStrategy, settled


def kept(returned, size=6):
    """What a blob's restore function gets if its save function returns this."""
    room, taken = (ctypes.c_uint8 * (size + 8))(*[9] * (size + 8)), []
    functions = _Functions("b", lambda replica_id: returned, lambda *given: taken.append(given), _Failures())
    functions.save(3, ctypes.addressof(room), len(room))
    functions.restore(3, ctypes.addressof(room), len(room))
    ((replica_id, data),) = taken
    assert replica_id == 3 and 9 not in room[8 + len(data):]
    return data


class Elastic(WithStrategy):
    def test_a_job_of_fixed_size_says_that_it_is_not_elastic(self):
        for call in lambda: self.strategy.commit(1), self.strategy.regroup:
            with self.assertRaises(mdist.Error) as caught:
                call()
            self.assertEqual(caught.exception.reason, "not_elastic")
        self.assertFalse(self.strategy.is_joining)
        self.assert_usable()

    def test_a_blob_takes_bytes_and_arrays_and_gives_bytes_back(self):
        self.assertEqual(kept(b"abc"), b"abc")
        self.assertEqual(kept(np.array([1, 2, 3], "<i2")), b"\1\0\2\0\3\0")
        self.assertEqual(kept(np.array(5, np.uint8)), b"\5")
        self.assertEqual(kept(b""), b"")
        self.assertEqual(kept(b"", 0), b"")

    def test_mistakes_with_blobs_are_sentences(self):
        for returned, kind, words in ((b"1234567", ValueError, "returned 7 bytes; its size is 6"),
                                      (None, TypeError, "returned a NoneType; it must return bytes"),
                                      (np.zeros((2, 2), np.uint8)[:, 0], TypeError, "C-contiguous")):
            with self.assertRaisesRegex(kind, words):
                kept(returned)
        mdist.Blob(self.strategy, "state", 8, bytes, print)
        with self.assertRaises(mdist.Error) as caught:
            mdist.Blob(self.strategy, "", 8, bytes, print)
        self.assertEqual(caught.exception.status, mdist.Status.INVALID_ARGUMENT)
        with self.assertRaisesRegex(TypeError, "3 is no function save"):
            mdist.Blob(self.strategy, "other", 8, 3, print)
        with self.assertRaisesRegex(ValueError, "-1 is below 0"):
            mdist.Blob(self.strategy, "other", -1, bytes, print)
        with self.assertRaisesRegex(ValueError, "-1 is below 0"):
            self.strategy.commit(-1)

    def test_a_strategy_keeps_its_blobs_until_either_is_destroyed(self):
        gc.collect()
        before = len(settled())
        blob = mdist.Blob(self.strategy, "one", 8, bytes, print)
        mdist.Blob(self.strategy, "two", 8, bytes, print)
        gc.collect()
        self.assertEqual(len(settled()), before + 2)
        blob.destroy()
        self.assertEqual(len(settled()), before + 1)
        self.strategy.destroy()
        self.assertEqual(len(settled()), before)
