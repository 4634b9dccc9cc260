# SPDX-License-Identifier: Apache-2.0
"""Messages of the library."""
from __future__ import annotations

import atexit
from ctypes import cast
from typing import Any, Callable

from ._abi import FreeFn, LogFn, LogLevel
from ._arguments import _choice
from ._held import _FREE, _keep, _kept
from ._library import _lib
from .errors import _call, _void_callback


def log_set_level(level: LogLevel | str) -> None:
    """Messages above this LogLevel are dropped."""
    _call(_lib.mdist_log_set_level, _choice(LogLevel, level, "level"))


def log_set_sink(function: Callable[[LogLevel, str], Any] | None = None) -> None:
    """Sends messages to function(level, text) instead of stderr; None brings stderr back. An exception in it goes to
    sys.unraisablehook; on the main thread, KeyboardInterrupt is raised by the call that sends the message."""
    if function is None:
        atexit.unregister(log_set_sink)
        _call(_lib.mdist_log_set_sink, cast(0, LogFn), None, cast(0, FreeFn))
    else:
        atexit.register(log_set_sink)
        _call(_lib.mdist_log_set_sink, _LOG, _keep(function), _FREE)


@_void_callback(LogFn)
def _LOG(level, text, length, key):
    function, given = _kept[key], (LogLevel(level), text.decode(errors="replace"))
    begun = True  # noqa: F841 (_void_callback says why)
    function(*given)
