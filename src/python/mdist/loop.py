# SPDX-License-Identifier: Apache-2.0
"""Loops: a function for each element of an iterator, and the outputs of that function and its steps."""
from __future__ import annotations

from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any

from ._abi import Aggregation, LoopFn
from ._arguments import _choice, _count, _handle, _name, _options
from ._calls import _CALLS, _Calls
from ._held import _Held, _kept
from ._library import _lib
from ._tensors import _tensor
from ._trees import _leaves
from .errors import _call, _callback, _new
from .iterators import Iterator
from .replica import Replica
from .values import Value, _value

if TYPE_CHECKING:
    from .strategy import Strategy


class Loop(_Held):
    """A loop of Strategy.run_steps: while it runs it takes outputs, afterwards it has them.

    An output has a path, as leaves of structures have, and an aggregation: "none" keeps it as it was set; "sum",
    "mean" and "only_first_replica" make it a plain value over all replicas of the job. The last one set counts.
    """

    _destroy = _lib.mdist_loop_destroy

    def __init__(self, handle: Any) -> None:
        super().__init__(handle)
        self._objects: dict[str, dict[int, Any]] = {}

    @classmethod
    def _borrow(cls, handle, objects):
        self = cls.__new__(cls)
        self._handle, self._objects = handle, objects
        return self

    def set_output(self, path: str, value: Any, aggregation: Aggregation | str = Aggregation.NONE) -> None:
        """Sets an output outside of steps: a Value, an array, or dicts and lists of such, whose leaves become outputs
        below the path."""
        value = _value(value)
        _call(_lib.mdist_loop_set_output, self._handle, _name(path), value._handle,
              _choice(Aggregation, aggregation, "aggregation"))

    def set_replica_output(self, replica: Replica, path: str, array: Any, aggregation: Aggregation | str) -> None:
        """Sets a replica's part of an output, in its step: an array (copied), or dicts and lists of such. Every replica
        sets the same paths with the same aggregation, which is not "none"."""
        how = _choice(Aggregation, aggregation, "aggregation")
        for below, leaf in _leaves(array, path):
            tensor, view = _tensor(leaf)
            _call(_lib.mdist_replica_set_output, _handle(replica, Replica), self._handle, _name(below), byref(tensor),
                  how)
            del view

    def outputs(self) -> Value:
        """The outputs of a loop that is over: a structure. Error, reason `loop_running`, before."""
        return Value._of(_new(_lib.mdist_loop_outputs, self._handle))

    def set_object(self, name: str, local_replica: int, thing: Any) -> None:
        """Keeps any object of Python under a name, one for each local replica; the last one counts."""
        self._objects.setdefault(name, {})[local_replica] = thing

    def object(self, name: str, local_replica: int) -> Any:
        """The object kept under a name; KeyError if there is none."""
        return self._objects[name][local_replica]

    @property
    def iterations(self) -> int:
        """How many elements are done."""
        return _lib.mdist_loop_iterations(self._handle)


class _Looping(_Calls):
    def __init__(self, function):
        super().__init__(function)
        self.objects = {}

    def call(self, loop, element):
        self.function(Loop._borrow(loop, self.objects), Value._borrow(element))


@_callback(LoopFn)
def _LOOP(_, loop, element, key):
    looping = _kept[key]
    return looping.failures.guard(looping.call, loop, element)


def _run_steps(strategy: Strategy, iterator: Iterator, iterations: int, function: Any, initial: Any,
               timeout: float | None) -> Loop:
    looping, out = _Looping(function), c_void_p()
    given = None if initial is None else _value(initial)
    looping.within(_lib.mdist_run_steps, strategy._handle, _handle(iterator, Iterator), _count(iterations), _LOOP, _CALLS,
                   None if given is None else given._handle, byref(out), options=[_options(timeout)])
    loop = Loop(out.value)
    loop._objects = looping.objects
    return loop

