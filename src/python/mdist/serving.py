# SPDX-License-Identifier: Apache-2.0
"""Steps and updates by name: registered on every worker, run by one of them for all."""
from __future__ import annotations

import weakref
from ctypes import c_void_p
from typing import TYPE_CHECKING, Any, Callable

from ._abi import StepFn, UpdateFn
from ._arguments import _count, _handle, _name, _options, _run_io
from ._held import _keep, _kept
from ._library import _lib
from ._registry import _replicas
from ._results import _checked, _unlisted
from ._tensors import _copied
from ._views import _seen
from .errors import Error, _Failures, _call, _callback, _new
from .replica import Replica
from .values import Value, _given, _value
from .variables import Variable

if TYPE_CHECKING:
    from .strategy import Strategy


class _Registered:
    """A step or update under a name. It stands for the run, too, which may be another worker's: so it knows neither
    its arguments nor how many results it wants."""

    arguments = ()

    def __init__(self, strategy, function, argument_count, result_count):
        if not callable(function):
            raise TypeError(f"{function!r:.60} is no function")
        self._strategy, self.function = weakref.ref(strategy), function
        self.argument_count, self.result_count = _count(argument_count), _count(result_count)
        self.failures = strategy._named_failures

    @property
    def strategy(self):
        return self._strategy()

    def step(self, handle):
        replica = _replicas[handle] = Replica(handle, self)
        returned = self.function(replica, *map(replica.argument, range(self.argument_count)))
        for index, result in enumerate(_checked(returned, self.result_count)):
            if result is not None:
                replica.set_result(index, result)

    def update(self, local_replica, copy, arguments, argument_count, results, wanted):
        views = [_copied(arguments[i]) for i in range(argument_count)]
        if copy:
            views.insert(0, _seen(copy[0], self._variable(copy[0]), True))
        returned = _checked(self.function(local_replica, *views), wanted)
        for index, one in enumerate(returned):
            results[index] = None if one is None else _given(one)

    def _variable(self, copy):
        """The owner of a copy's memory, which views of it keep."""
        return Variable._of(_new(_lib.mdist_variable_at_address, self.strategy._handle, copy.data, options=[None]))


@_callback(StepFn)
def _NAMED_STEP(handle, key):
    one = _kept[key]
    return one.failures.guard(one.step, handle)


@_callback(UpdateFn)
def _NAMED_UPDATE(local_replica, copy, arguments, argument_count, results, result_count, key):
    one = _kept[key]
    return one.failures.guard(one.update, local_replica, copy, arguments, argument_count, results, result_count)


class Naming:
    """The functions of a Strategy that go by names."""

    _handle: Any
    _named_failures: _Failures

    def _register(self, function, name, callback, registered):
        key = _keep(registered)
        try:
            _call(function, self._handle, _name(name), callback, key)
        except BaseException:
            del _kept[key]
            raise
        weakref.finalize(self, _kept.pop, key, None)

    def register_step(self, name: str, step: Callable[..., Any], *, arguments: int = 0, results: int = 0) -> None:
        """Registers step(replica, *arrays) under a name for run_named. It gets `arguments` arrays, which are copies, and
        returns `results` arrays. Of an argument that is a structure it reads the leaves: replica.argument(0, "x"). The
        last registration of a name counts. With `strategy: in_graph`, all workers register the same names before they
        serve."""
        self._register(_lib.mdist_step_register, name, _NAMED_STEP, _Registered(self, step, arguments, results))

    def register_update(self, name: str, update: Callable[..., Any]) -> None:
        """Registers update(local_replica, copy, *arrays) under a name for update_named: `copy` is to be changed in place,
        the arrays are copies. Without a variable there is no `copy`."""
        self._register(_lib.mdist_update_register, name, _NAMED_UPDATE, _Registered(self, update, 0, 0))

    def run_named(self, name: str, *arguments: Any, results: int = 0, timeout: float | None = None) -> Any:
        """Runs the step that is registered under a name, as run() does; on a client, on the replicas of all workers. Error,
        status NOT_FOUND, lists the names that there are."""
        return self._named(_lib.mdist_run_named, [self._handle, _name(name)], arguments, results, timeout)

    def update_named(self, variable: Variable | None, name: str, *values: Any, results: int = 0) -> Any:
        """Updates a variable with the update registered under a name, as Variable.update does, or without one as
        update_devices does; on a client, the copies of all workers."""
        handle = None if variable is None else _handle(variable, Variable)
        return self._named(_lib.mdist_update_named, [self._handle, handle, _name(name)], values, results, None)

    def _named(self, function, head, arguments, result_count, timeout):
        given, out = [*map(_value, arguments)], (c_void_p * result_count)()
        self._with_causes(function, *head, _run_io(given, out, result_count, timeout))
        return _unlisted([Value._of(handle) if handle else None for handle in out])

    def serve(self, timeout: float | None = None) -> None:
        """Does what the client (worker 0) asks, until the client destroys its strategy. With `strategy: in_graph`, workers
        other than the client call it. `timeout` is for each wait for the client's next command."""
        self._with_causes(_lib.mdist_serve, self._handle, _options(timeout))

    def find_variable(self, name: str) -> Variable:
        """The variable of that name, also in a step. Error, status NOT_FOUND, lists the names that there are."""
        return self._has(Variable._of(_new(_lib.mdist_variable_named, self._handle, _name(name))))

    def _has(self, variable: Variable) -> Variable:
        raise NotImplementedError  # the Strategy knows

    def _with_causes(self, function, *arguments):
        try:
            _call(function, *arguments)
        except Error as error:
            raise error from self._named_failures.cause(error)
        finally:
            self._named_failures.clear()
