# SPDX-License-Identifier: Apache-2.0
"""The arrays of a collective."""
from __future__ import annotations

from ctypes import byref

from ._abi import Buffer
from ._dtypes import Typed
from ._library import _lib
from ._numpy import numpy
from ._tensors import _is_plain, _memory_of, _tensor, _view
from ._trees import _is_tree


def _listed(things):
    """One array, or a list or tuple of them. A list of numbers alone is one array."""
    return things if _is_tree(things) and not isinstance(things, dict) and not _is_plain(things) else [things]


class _Operands:
    """The arrays of a collective: what the library is told, what must live meanwhile, and what the caller gets. A call
    that waits (`waits`) also writes to arrays that are not dense, by way of copies, and makes arrays of numbers and
    lists for its results."""

    def __init__(self, things, writable, waits):
        self._results, self.views, self._copies = [], [], []
        described = [self._described(thing, writable, waits) for thing in things]
        self.buffers = (Buffer * len(described))(
            *((tensor.data, _lib.mdist_tensor_elements(byref(tensor)), tensor.dtype, 0) for tensor in described))

    def _described(self, thing, writable, waits):
        if writable and waits:
            thing = self._stand_in(thing)
        tensor, view = _tensor(thing, writable)
        self.views.append(view)
        return tensor

    def _stand_in(self, thing):
        """An array that the library can write to, for one that it cannot."""
        array, dtype = thing if isinstance(thing, Typed) else (thing, None)
        if _is_plain(array) or numpy and isinstance(array, numpy.generic):
            made = _memory_of(array) if _is_plain(array) else numpy.array(array)
            self._results.append(made)
            return made if dtype is None else Typed(made, dtype)
        self._results.append(thing)
        seen = _view(array, True)
        if seen is None or seen[0].c_contiguous or seen[0].readonly or not numpy:
            return thing
        target = numpy.asarray(seen[0])
        dense = numpy.ascontiguousarray(target)
        self._copies.append((target, dense))
        dtype = dtype or seen[1]
        return dense if dtype is None else Typed(dense, dtype)

    def results(self):
        """After the call has gone well."""
        for target, dense in self._copies:
            target[...] = dense
        return self._results


def _in_and_out(inputs, outputs):
    if inputs is None:
        raise TypeError("inputs is None; give an array or a list of arrays")
    return [(inputs, outputs is None), (inputs if outputs is None else outputs, True)]
