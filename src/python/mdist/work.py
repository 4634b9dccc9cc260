# SPDX-License-Identifier: Apache-2.0
"""Collectives under way."""
from __future__ import annotations

import weakref
from ctypes import byref, c_int32
from typing import Any, Callable

from ._abi import Status, WorkDoneFn
from ._arguments import _nanoseconds
from ._held import _Destroyable, _keep, _kept
from ._library import _lib
from .errors import _call, _void_callback


class Work(_Destroyable):
    """A collective under way. Its arrays belong to it, and are kept, until it is done, has failed or is destroyed."""

    def __init__(self, handle: Any, views: list[Any]) -> None:
        self._handle, self._views = handle, views
        self._finalizer = weakref.finalize(self, self._destroy, handle, views)

    @staticmethod
    def _destroy(handle, views):
        _lib.mdist_work_destroy(handle)
        views.clear()

    def _ask(self, function, *arguments):
        done = c_int32(1)
        try:
            _call(function, self._handle, *arguments, byref(done))
        finally:
            if done.value:  # or failed
                self._views.clear()
        return bool(done.value)

    def test(self) -> bool:
        """Moves it on, without waiting for others. Whether it is done."""
        return self._ask(_lib.mdist_work_test)

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it is done, after so many seconds at most."""
        return self._ask(_lib.mdist_work_wait, _nanoseconds(timeout))

    def on_done(self, function: Callable[[Status], Any]) -> None:
        """Calls function(status) once when the operation is over: Status.OK, or the status of the Error that test()
        raises from then on. That is at once if it is over already, else on any thread, before the step of its replica has
        ended. The function may test works, but must not wait. An exception in it goes to sys.unraisablehook; on the main
        thread, KeyboardInterrupt is raised by the call that calls the function."""
        if not callable(function):
            raise TypeError(f"{function!r:.60} is no function(status)")
        key = _keep(function)
        try:
            _call(_lib.mdist_work_on_done, self._handle, _DONE, key)
        except BaseException:
            _kept.pop(key, None)
            raise

    def descriptor(self) -> int:
        """A new file descriptor, yours to os.close(), for select and asyncio: call test() whenever it is readable."""
        out = c_int32()
        _call(_lib.mdist_work_descriptor, self._handle, byref(out))
        return out.value


@_void_callback(WorkDoneFn)
def _DONE(status, key):
    function, result = _kept[key], Status(status)
    begun = True  # noqa: F841 (_void_callback says why)
    try:
        function(result)
    finally:
        _kept.pop(key, None)
