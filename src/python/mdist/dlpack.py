# SPDX-License-Identifier: Apache-2.0
"""Values around the memory of other libraries."""
from __future__ import annotations

from ctypes import byref
from typing import Any

from ._abi import Dlpack
from ._capsules import _LAYOUTS, _capsule_of, _capsule_rename
from ._library import _lib
from .errors import Error, _new
from .values import Value


def from_dlpack(source: Any) -> Value:
    """A Value around the memory of anything with __dlpack__ (NumPy, PyTorch, JAX ...), not to be changed meanwhile."""
    capsule, layout, managed = _capsule_of(source)
    name, used, *_ = _LAYOUTS[layout]
    _capsule_rename(capsule, used)  # before the call: an interrupt in between costs memory, and not a crash
    try:
        return Value._of(_new(_lib.mdist_value_from_dlpack, byref(Dlpack(**{layout: managed}))))
    except Error:
        _capsule_rename(capsule, name)
        raise
