# SPDX-License-Identifier: Apache-2.0
"""Operators: reductions of the program's own."""
from __future__ import annotations

import ctypes
import gc
import threading
import weakref
from ctypes import byref, c_int32
from typing import Any, Callable

from ._abi import CombineFn
from ._arguments import _count, _name
from ._held import _keep, _kept
from ._library import _lib
from ._mappings import _lending
from ._numpy import numpy
from .errors import _call, _callback, _common_failures


class Operator:
    """A reduction of your own: largest = mdist.Operator("largest", "2f4", function), and in a step
    replica.all_reduce(largest, pairs).

    `element` is a NumPy dtype, structured or not, or a number of bytes. function(left, right, out) combines many pairs of
    elements: out[i] = left[i] op right[i]. It gets arrays of that dtype (of a number of bytes: uint8, a row for each
    element; without NumPy flat memoryviews of bytes), which are valid in the call only: to keep one is an error. Only
    `out` can be written.

        def larger(left, right, out):
            out[...] = np.where(left[:, :1] >= right[:, :1], left, right)

    - It is applied along the library's fixed tree, lower replica ids on the left, so it need be neither associative nor
      commutative.
    - The arrays of the call may have any dtype, but must be whole numbers of elements long.
    - All replicas use operators of the same name and element size, and their functions do the same.
    - The function runs on any thread, on several at the same time, and must not use this module. An exception fails the
      call, with the exception's words in the Error, and as its __cause__ in the process where it was raised.
    - For all_reduce, reduce_scatter and reduce_to_root, also started, and Strategy.all_reduce; on the host only.

    Keep it until the run that uses it is over. A started collective keeps it, too.
    """

    def __init__(self, name: str, element: Any, function: Callable[[Any, Any, Any], Any]) -> None:
        if not callable(function):
            raise TypeError(f"{function!r:.60} is no function(left, right, out)")
        shape = _Shape(element)
        number, key = c_int32(), _keep((function, shape))
        try:
            _call(_lib.mdist_operator_register, _name(name), shape.bytes, _COMBINE, key, byref(number))
        except BaseException:
            del _kept[key]
            raise
        self.name, self._number = name, number.value
        self._finalizer = weakref.finalize(self, _unregister, number.value, key)


def _unregister(number, key):
    _lib.mdist_operator_unregister(number)
    _kept.pop(key, None)


class _Shape:
    """How elements look to the function."""

    def __init__(self, element):
        if isinstance(element, int):
            self.dtype, self.bytes = None, _count(element)
        elif numpy:
            self.dtype = numpy.dtype(element)
            self.bytes = self.dtype.itemsize
            if self.dtype.hasobject:
                raise TypeError(f"elements of {self.dtype} hold objects of Python; an operator sees bytes")
        else:
            raise TypeError(f"{element!r:.60}: without NumPy, an element is a number of bytes")

    def view(self, address, count, owner, writable=False):
        memory = (ctypes.c_uint8 * (count * self.bytes)).from_address(address)
        memory.owner = owner
        view = memoryview(memory).cast("B")
        view = view if writable else view.toreadonly()
        if not numpy:
            return view
        rows = numpy.frombuffer(view, numpy.uint8).reshape(count, self.bytes)
        if self.dtype is None:
            return rows
        base, shape = self.dtype.subdtype or (self.dtype, ())
        return rows.reshape(-1).view(base).reshape(count, *shape)


class _NoCollection:
    """Keeps the garbage collector still while functions of operators run: what it finds might give works back to the
    library, which is in the middle of one."""

    def __init__(self):
        self.lock, self.inside, self.was_enabled = threading.Lock(), 0, False

    def __enter__(self):
        with self.lock:
            if self.inside == 0:
                self.was_enabled = gc.isenabled()
                gc.disable()
            self.inside += 1

    def __exit__(self, *_):
        with self.lock:
            self.inside -= 1
            if self.inside == 0 and self.was_enabled:
                gc.enable()


_no_collection = _NoCollection()


@_callback(CombineFn)
def _COMBINE(left, right, out, count, key):
    with _no_collection:
        return _common_failures.guard(_combine, left, right, out, count, key)


def _combine(left, right, out, count, key):
    function, shape = _kept[key]
    _lending("operator's", lambda lent: function(
        shape.view(left, count, lent.owner), shape.view(right, count, lent.owner), shape.view(out, count, lent.owner, True)))
