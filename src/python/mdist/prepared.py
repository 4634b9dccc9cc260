# SPDX-License-Identifier: Apache-2.0
"""Prepared calls: collectives that are described once and run many times."""
from __future__ import annotations

import weakref
from ctypes import byref, c_void_p
from typing import Any, TYPE_CHECKING

from ._arguments import _count, _options
from ._library import _lib
from ._operands import _all_operands, _collective_description, _described, _kept_views, _written
from .collectives import Collectives
from .errors import Error, _new
from .work import Work

if TYPE_CHECKING:
    from .replica import Replica
    from .strategy import Strategy

_RUN = _lib.mdist_prepared_run


class Prepared:
    """A collective that is described once and runs many times, made by Strategy.prepare. It belongs to one local replica,
    and may run in any of that replica's steps. It keeps its arrays, and reads and writes them each time. It keeps its
    Operator, too."""

    def __init__(self, handle: Any, views: list[Any], results: Any, op: Any = None) -> None:
        self._handle, self._views, self.results, self._op = handle, views, results, op
        weakref.finalize(self, Prepared._destroy, handle, views)

    @staticmethod
    def _destroy(handle, views):
        _lib.mdist_prepared_destroy(handle)
        views.clear()

    def run(self, replica: Replica) -> Any:
        """Makes the call, as the collective does. Returns what that returns: the arrays that it wrote."""
        error = c_void_p()
        if _RUN(replica._handle, self._handle, byref(error)) < 0:
            raise Error._take(error)
        return self.results

    def start(self, replica: Replica) -> Work:
        """Starts the call, as the collective's _start does."""
        return Work(_new(_lib.mdist_prepared_start, replica._handle, self._handle), [*self._views])


class Preparation(Collectives):
    """The collectives of one local replica, to be prepared: its methods make a Prepared of what Replica's would do at
    once. Arrays must be C-contiguous where they are written. There is no _start here: use Prepared.start."""

    def __init__(self, strategy: Strategy, local_replica: int) -> None:
        self._strategy, self._local = strategy, _count(local_replica)

    @property
    def id(self) -> int:
        """The replica's number in the job, from 0."""
        return self._strategy.first_replica_id + self._local

    @property
    def count(self) -> int:
        """Replicas in the whole job."""
        return self._strategy.replica_count

    def _collective(self, name, head, arrays, timeout, group, parts=None, keep=None):
        if name.endswith("_start"):
            raise TypeError(f"{name} is not prepared: prepare {name.removesuffix('_start')}, and use Prepared.start")
        operands = _all_operands(arrays, False)
        buffers, count = _described(operands, parts)
        description = _collective_description(name, head, buffers, count, parts is not None)
        handle = _new(_lib.mdist_prepared_create, self._strategy._handle, self._local, byref(description),
                      options=[_options(timeout, group)])
        return Prepared(handle, _kept_views(operands), _written(operands, arrays), keep)
