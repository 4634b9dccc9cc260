# SPDX-License-Identifier: Apache-2.0
"""Runs of a step on every replica."""
from __future__ import annotations

from ctypes import c_void_p
from typing import Any, Callable, Iterable

from ._abi import ElementFn, StepFn
from ._arguments import _run_io
from ._held import _kept
from ._library import _lib
from ._registry import _replicas
from ._results import _checked, _unlisted
from .errors import Error, _Failures, _call, _callback, _common_failures, _new
from .replica import Replica
from .values import Value, _value


class Run:
    """A run under way, whose steps are entered by threads of your own (Strategy.run_begin)."""

    def __init__(self, strategy: Any, step: Any, arguments: Iterable[Any], results: int) -> None:
        self.strategy, self.step, self.result_count = strategy, step, results
        self.arguments = [_value(argument) for argument in arguments]
        self.failures = _Failures()
        self.merged: list[list[str]] = []  # the paths of the results of the last merge

    def call(self, handle: Any, *extra: Any) -> None:
        """Runs the step of a replica. For the library."""
        replica = _replicas[handle] = Replica(handle, self)
        returned = self.step(replica, *extra, *map(replica.argument, range(len(self.arguments))))
        for index, result in enumerate(_checked(returned, self.result_count)):
            if result is not None:
                replica.set_result(index, result)

    def enter(self, local_replica: int) -> Replica:
        """Enters a replica's step: with run.enter(i) as replica: ..."""
        return Replica(_new(_lib.mdist_replica_enter, self.strategy._handle, local_replica), self)

    def end(self) -> Any:
        """Closes the run when all have left, and returns what Strategy.run would."""
        return self.finish(_lib.mdist_run_end, self.strategy._handle)

    def finish(self, function: Callable[..., Any], *arguments: Any, timeout: float | None = None) -> Any:
        """Makes the call that ends the run."""
        results = (c_void_p * self.result_count)()
        still_open = False
        try:
            given = _run_io(self.arguments, results, self.result_count, timeout)
            _call(function, *arguments, *([results, self.result_count] if function is _lib.mdist_run_end else [given]))
        except Error as error:
            still_open = error.reason == "replica_inside"
            raise error from self.failures.cause(error)
        finally:
            if not still_open:
                self.failures.clear()  # their tracebacks lead back here
                _common_failures.forget()
        return _unlisted([Value._of(handle) if handle else None for handle in results])


@_callback(StepFn)
def _STEP(handle, key):
    run = _kept[key]
    return run.failures.guard(run.call, handle)


@_callback(ElementFn)
def _ELEMENT(handle, element, key):
    run = _kept[key]
    return run.failures.guard(run.call, handle, element)
