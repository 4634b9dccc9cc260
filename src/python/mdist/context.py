# SPDX-License-Identifier: Apache-2.0
"""The strategy and the replica that this thread works for."""
from __future__ import annotations

import weakref

from ._arguments import _handle
from ._library import _lib
from ._registry import _replicas, _strategies
from .errors import _Failures, _call, _new
from .replica import Replica
from .runs import Run
from .strategy import Strategy


_default = None


def _strategy(handle):
    known = _strategies.get(handle)
    if known is None:  # the library's own
        known = Strategy.__new__(Strategy)
        known._handle, known._finalizer, known._variables = handle, lambda: None, weakref.WeakValueDictionary()
        known._named_failures, known._blobs, known._blob_failures = _Failures(), [], _Failures()
    return known


def current_strategy() -> Strategy:
    """The Strategy that this thread works for: of its step, merge or update, of a scope, or the default."""
    return _strategy(_new(_lib.mdist_current_strategy))


def current_replica() -> Replica | None:
    """The Replica that this thread works for; None outside of steps, unless the default strategy is the current one.
    (Not in a step that was entered: there the thread does not matter.)"""
    handle = _new(_lib.mdist_current_replica)
    if handle is None:
        return None
    return _replicas.get(handle) or Replica(handle, Run(current_strategy(), None, (), 0))


def set_default_strategy(strategy: Strategy | None = None) -> None:
    """Makes it the current one wherever there is no other, and keeps it; None: the library's own, of one CPU."""
    global _default
    _call(_lib.mdist_set_default_strategy, None if strategy is None else _handle(strategy, Strategy))
    _default = strategy
