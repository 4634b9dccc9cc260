# SPDX-License-Identifier: Apache-2.0
"""Variables: state with one copy per replica."""
from __future__ import annotations

import ctypes
from ctypes import byref, c_void_p
from typing import Any, Callable

from ._abi import Aggregation, Assign, Dtype, Synchronization, Tensor, UpdateFn, VariableOptions
from ._arguments import _choice, _handle, _options, _run_io
from ._calls import _CALLS, _Calls
from ._dtypes import _TYPES
from ._held import _Held, _kept
from ._library import _lib
from ._numpy import numpy
from ._results import _checked, _unlisted
from ._tensors import _is_plain
from ._views import _array, _flat, _need_numpy, _place, _seen
from .errors import _call, _callback, _new
from .values import Value, _given, _value


class Variable(_Held):
    """State with one copy per replica; made by Strategy.variable, or in a step by Replica.variable_create."""

    _destroy = _lib.mdist_variable_destroy
    _copies: int  # local replicas

    @property
    def name(self) -> str:
        """Its name, unique in its strategy."""
        return _lib.mdist_variable_name(self._handle).decode()

    def __repr__(self) -> str:
        return f"<Variable {self.name!r}>"

    def _describe(self, local_replica):
        tensor = Tensor()
        _call(_lib.mdist_variable_tensor, self._handle, local_replica, byref(tensor))
        return tensor

    def numpy(self, local_replica: int) -> Any:
        """The copy itself, to read and write, from one thread at a time. It moves only with Strategy.regroup: take it
        anew then."""
        _need_numpy()
        return _array(self._describe(local_replica), self, True)

    def memory(self, local_replica: int) -> memoryview:
        """The same as a flat memoryview."""
        return _flat(self._describe(local_replica), self, True)

    def device(self, local_replica: int) -> str:
        """Where a copy lies: "cpu:0", "gpu:1"."""
        return _place(self._describe(local_replica))

    def tensor(self, local_replica: int) -> Any:
        """The copy itself: numpy(local_replica), or if that lies on a GPU a GpuArray."""
        return _seen(self._describe(local_replica), self, True)

    def assign(self, value: Any, assign: Assign | str = Assign.SET) -> None:
        """Outside of steps, a Value, an array, or a list of numbers, which get the variable's dtype. In a step:
        Replica.assign."""
        value = _value(self._of_dtype(value))
        _call(_lib.mdist_variable_assign, self._handle, _choice(Assign, assign, "assignment"), value._handle)

    def _of_dtype(self, given):
        """Numbers as an array of the variable's dtype; anything else as it is."""
        return _numbers(given, self._describe(0).dtype) if numpy and _is_plain(given) else given

    def read(self, timeout: float | None = None) -> Value:
        """Outside of steps: a Value with a copy, aggregated if the variable is sync-on-read."""
        return Value._of(_new(_lib.mdist_variable_read, self._handle, options=[_options(timeout)]))

    def update(self, function: Callable[..., Any], *values: Any, results: int = 0) -> Any:
        """Calls function(local_replica, copy, *arguments) for each copy; `copy` is to be changed in place. Arguments are
        arrays, or dicts and lists of arrays where structures were given. What it returns, `results` arrays, comes back as
        that many Values."""
        update = _Update(self, function, values, results)
        return update.make(_lib.mdist_update, self._handle)


def _numbers(numbers, dtype):
    """Numbers as an array of that dtype; as they are if it cannot hold them."""
    made, wanted = numpy.array(numbers), numpy.dtype(_TYPES[dtype][0])
    if dtype == Dtype.BFLOAT16 or made.dtype.kind + wanted.kind not in ("ii", "iu", "if", "ui", "uu", "uf", "ff"):
        return numbers
    converted = made.astype(wanted)
    return converted if wanted.kind == "f" or (converted == made).all() else numbers


class _Update(_Calls):
    def __init__(self, variable, function, values, results):
        super().__init__(function)
        self.variable, self.values, self.result_count = variable, [_value(value) for value in values], results

    def make(self, function, handle):
        out = (c_void_p * self.result_count)()
        self.within(function, handle, _UPDATE, _CALLS, _run_io(self.values, out, self.result_count))
        return _unlisted([Value._of(handle) if handle else None for handle in out])

    def call(self, local_replica, copy, arguments, count, results):
        tensors = (arguments[i] for i in range(count))
        views = [value._look_at_all(tensors) for value in self.values]
        if self.variable is not None:
            views.insert(0, _seen(copy[0], self.variable, True))
        returned = _checked(self.function(local_replica, *views), self.result_count)
        for index, one in enumerate(returned):
            results[index] = None if one is None else _given(one)


@_callback(UpdateFn)
def _UPDATE(local_replica, copy, arguments, count, results, _, key):
    update = _kept[key]
    return update.failures.guard(update.call, local_replica, copy, arguments, count, results)


def _variable_options(synchronization, aggregation, colocate_with):
    return byref(VariableOptions(ctypes.sizeof(VariableOptions),
                                 _choice(Synchronization, synchronization, "synchronization"),
                                 _choice(Aggregation, aggregation, "aggregation"), 0,
                                 None if colocate_with is None else _handle(colocate_with, Variable)))
