# SPDX-License-Identifier: Apache-2.0
"""Preemption: all workers save at the same step before one must end."""
from __future__ import annotations

import ctypes
from ctypes import byref, c_int32, c_uint32

from ._abi import PreemptionOptions, PreemptionVerdict
from ._arguments import _handle, _nanoseconds, _options
from ._held import _Destroyable
from ._library import _lib
from .errors import _call, _new, _or_none
from .strategy import Strategy


class Preemption(_Destroyable):
    """Where a worker is told to go, so that all save at the same step. `grace` is in seconds.

    signal.signal(signal.SIGTERM, lambda *_: preemption.announce()), and after every step preemption.check().
    """

    _destroy = _lib.mdist_preemption_destroy

    def __init__(self, strategy: Strategy, grace: float = 0) -> None:
        options = PreemptionOptions(ctypes.sizeof(PreemptionOptions), 0, _nanoseconds(grace))
        super().__init__(_new(_lib.mdist_preemption_create, _handle(strategy, Strategy), options=[byref(options)]))

    def announce(self) -> None:
        """This worker is to go."""
        _lib.mdist_preemption_announce(self._handle)

    def check(self, timeout: float | None = None) -> tuple[PreemptionVerdict, int]:
        """(PreemptionVerdict, rank of the worker that is to go, or -1): the same on all workers, which all ask."""
        verdict, worker = c_int32(), c_uint32()
        _call(_lib.mdist_preemption_check, self._handle, byref(verdict), byref(worker), _options(timeout))
        return PreemptionVerdict(verdict.value), _or_none(worker.value)
