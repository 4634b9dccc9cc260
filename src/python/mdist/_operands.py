# SPDX-License-Identifier: Apache-2.0
"""The arrays of a collective."""
from __future__ import annotations

from ctypes import POINTER, byref, c_uint64, cast, sizeof

from ._abi import Buffer, CollectiveDescription, CollectiveKind
from ._arguments import _count
from ._capsules import _dense_buffer
from ._dtypes import Dense, Typed
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
        self.buffers = (Buffer * len(things))(*(self._described(thing, writable, waits) for thing in things))

    def _described(self, thing, writable, waits):
        if isinstance(thing, Dense):
            buffer, capsule = _dense_buffer(thing.tensor, writable)
            self.views.append((thing.tensor, capsule))
            if writable:
                self._results.append(thing.tensor)
            return buffer
        if writable:
            thing = self._stand_in(thing) if waits else thing
            if not waits:
                self._results.append(thing)
        tensor, view = _tensor(thing, writable)
        self.views.append(view)
        return Buffer(tensor.data, _lib.mdist_tensor_elements(byref(tensor)), tensor.dtype, 0)

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


def _all_operands(arrays, waits):
    """The operands of each list of arrays; None where there are none. In place, inputs and outputs are the same."""
    operands = []
    for things, writable in arrays:
        in_place = operands and things is not None and things is arrays[0][0]
        operands.append(operands[0] if in_place else
                        None if things is None else _Operands(_listed(things), writable, waits))
    return operands


def _described(operands, parts=None):
    """(the buffers, with the lengths of parts behind each; a list with how many buffers there are, or of nothing)"""
    buffers = [one and one.buffers for one in operands]
    counts = [len(one) for one in buffers if one is not None]
    if len(set(counts)) > 1:
        raise ValueError(f"{counts[0]} inputs and {counts[1]} outputs; they must be as many")
    if parts is None:
        return buffers, counts[:1]
    for lengths in parts:
        if len(lengths) != counts[0]:
            raise ValueError(f"lengths of parts for {len(lengths)} arrays; there are {counts[0]}")
    flat = [(c_uint64 * sum(map(len, one)))(*(length for row in one for length in row)) for one in parts]
    return [one for pair in zip(buffers, flat) for one in pair], counts[:1]


def _collective_description(name, head, buffers, count, has_parts):
    """The struct of the collective of that name, of what _described() gives."""
    head = [*head]
    op = head.pop(0) if name in ("all_reduce", "reduce_scatter", "reduce_to_root") else 0
    description = CollectiveDescription(sizeof(CollectiveDescription), CollectiveKind["COLLECTIVE_" + name.upper()], op,
                                        head[0] if head else 0)
    given = [cast(one, POINTER(Buffer)) for one in buffers[::2 if has_parts else 1]]
    if given:
        description.inputs, description.buffer_count = given[0], count[0]
    if len(given) > 1:
        description.outputs = given[1]
    if has_parts:
        description.input_parts, description.output_parts = (cast(one, POINTER(c_uint64)) for one in buffers[1::2])
    return description


def _part_lengths(given, members):
    """The lengths of parts for each array, of a list of numbers or a list of such lists: as many as the library will
    read."""
    rows = [[*row] for row in given] if len(given) and hasattr(given[0], "__len__") else [[*given]]
    for row in rows:
        if len(row) != members:
            raise ValueError(f"{len(row)} lengths of parts; there must be {members}, one for each replica that takes part")
    return [[*map(_count, row)] for row in rows]


def _written(operands, arrays):
    """What a collective gives back when it has gone well: the array that it wrote, or the list of arrays."""
    written = operands[-1].results() if operands and operands[-1] else None
    return written[0] if written and _listed(arrays[-1][0]) is not arrays[-1][0] else written


def _kept_views(operands, *others):
    """What must live as long as the library may use the operands."""
    return [*(view for one in operands if one for view in one.views), *(one for one in others if one is not None)]
