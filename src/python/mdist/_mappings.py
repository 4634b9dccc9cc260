# SPDX-License-Identifier: Apache-2.0
"""Functions of the program in datasets, which the library calls as long as the dataset or an iterator lives."""
from __future__ import annotations

import traceback
import weakref

from ._abi import FilterFn, FreeFn, GenerateFn, MapFn, Status
from ._held import _keep, _kept
from ._numpy import numpy
from ._tensors import _is_plain, _memory_of, _view
from ._views import _array
from .errors import _Failures, _callback, _kind


class _Owner:
    """Alive as long as somebody looks at the memory of a call."""


class _Lent:
    """Arrays that are valid in one call. Whoever keeps one makes the call an error."""

    def __init__(self, what):
        self.owner, self._what = _Owner(), what

    def arrays(self, tensors, count, writable=False):
        return [_array(tensors[i], self.owner, writable) for i in range(count)]

    def end(self):
        watch = weakref.ref(self.owner)
        self.owner = None
        if watch() is not None:
            raise ValueError(f"the {self._what} function kept an array of the call, whose memory goes now; let it keep "
                             "a copy")


def _lending(what, use):
    """Calls use(lent). No frame of an exception keeps an array."""
    lent = _Lent(what)
    try:
        use(lent)
    except BaseException as exception:
        traceback.clear_frames(exception.__traceback__)
        raise
    lent.end()


class _Mapping:
    what = "map"

    def __init__(self, function):
        self.function, self.failures = function, _Failures()

    def call(self, *arguments):
        _lending(self.what, lambda lent: self.make(lent, *arguments))

    def make(self, lent, inputs, input_count, outputs, output_count):
        self.function(lent.arrays(inputs, input_count), lent.arrays(outputs, output_count, True))


class _Filter(_Mapping):
    what = "filter"

    def make(self, lent, inputs, input_count, keep):
        keep[0] = 1 if self.function(*lent.arrays(inputs, input_count)) else 0


class _Generator(_Mapping):
    """The state of an iteration is the key of its Python iterator."""

    what = "generator"

    def next(self, index, outputs, output_count, state):
        """Status.OK, Status.END, or the number of a failure (which begins behind those two)."""
        try:
            if index == 0:
                state[0] = _keep(iter(self.function()))
            elements = _kept[state[0]]
            try:
                element = next(elements)
            except StopIteration:
                return Status.END
            lent = _Lent(self.what)
            _fill(lent.arrays(outputs, output_count, True), element)
            lent.end()
            return Status.OK
        except BaseException as exception:
            return self.failures.add(exception)


def _fill(outputs, element):
    """Copies what a generator has given, one array or a tuple of arrays and numbers, to where the library wants it."""
    arrays = element if isinstance(element, tuple) else (element,)
    if len(arrays) != len(outputs):
        raise ValueError(f"the generator gave {len(arrays)} arrays; its dataset has {len(outputs)} outputs")
    for index, (to, array) in enumerate(zip(outputs, arrays)):
        if numpy:
            made = numpy.asarray(_memory_of(array) if _is_plain(array) else array)
            if made.shape != to.shape or not numpy.can_cast(made.dtype, to.dtype, "same_kind"):
                raise ValueError(f"the generator gave {made.dtype} of shape {made.shape} for output {index}, "
                                 f"which is {to.dtype} and has shape {to.shape}")
            to[...] = made
        else:
            _copy_flat(to, array, index)


def _copy_flat(to, array, index):
    found = _view(array)
    view = memoryview(b"") if found is None else found[0].cast("B").cast(found[0].format.lstrip("<@="))
    if found is None or view.format != to.format or len(view) != len(to):
        raise ValueError(f"the generator gave a {_kind(array)} for output {index}, which wants {len(to)} elements of "
                         f"format {to.format!r}")
    to[:] = view


@_callback(MapFn)
def _MAP(inputs, input_count, outputs, output_count, key):
    mapping = _kept[key]
    return mapping.failures.guard(mapping.call, inputs, input_count, outputs, output_count)


@_callback(FilterFn)
def _FILTER(inputs, input_count, keep, key):
    mapping = _kept[key]
    return mapping.failures.guard(mapping.call, inputs, input_count, keep)


@_callback(GenerateFn)
def _GENERATE(index, outputs, output_count, state, key):
    return _kept[key].next(index, outputs, output_count, state)


@FreeFn
def _FREE_STATE(key):
    """Closes a generator that was not used up: its `finally` runs now."""
    elements = _kept.pop(key, None)
    close = getattr(elements, "close", None)
    if close is not None:
        try:
            close()
        except Exception:  # nobody could be told
            traceback.print_exc()
