# SPDX-License-Identifier: Apache-2.0
"""What the library holds, and what holds the library."""
from __future__ import annotations

import itertools
import weakref
from typing import Any

from ._abi import FreeFn
from .errors import _void_callback


# Callbacks are registered with a key as user_data; the C functions under them are made once and live for ever.
_kept: dict[int, Any] = {}
_keys = itertools.count(1)


def _keep(thing):
    key = next(_keys)
    _kept[key] = thing
    return key


@_void_callback(FreeFn)
def _FREE(key):
    _kept.pop(key, None)


class _Held:
    """Holds a handle, and gives it back when nobody can reach this any more, or at the program's end."""

    _destroy: Any  # a function that takes the handle

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._finalizer: Any = weakref.finalize(self, self._destroy, handle)

    @classmethod
    def _of(cls, handle, **attributes):
        self = cls.__new__(cls)
        _Held.__init__(self, handle)
        self.__dict__.update(attributes)
        return self


class _Destroyable(_Held):
    """One behind whose back nobody looks at memory: it can go before its time."""

    def destroy(self) -> None:
        """Gives the handle back now."""
        self._finalizer()
