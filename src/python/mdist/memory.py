# SPDX-License-Identifier: Apache-2.0
"""Memory of the library."""
from __future__ import annotations

from ctypes import byref
from typing import Any, Sequence

from ._arguments import _count, _handle
from ._held import _Held
from ._library import _lib
from ._tensors import _described, _known
from ._views import _seen
from .errors import _new
from .strategy import Strategy
from .typing import DtypeLike


class _Allocation(_Held):
    _destroy = _lib.mdist_free


def alloc(dtype: DtypeLike, shape: Sequence[int], strategy: Strategy | None = None, local_replica: int = 0) -> Any:
    """An array of zeros in memory of the library, 64-byte aligned; on a replica's device if there is a strategy: of a
    GPU a GpuArray."""
    return _allocated(dtype, shape, _lib.mdist_alloc,
                      None if strategy is None else _handle(strategy, Strategy), _count(local_replica))


def alloc_pinned(dtype: DtypeLike, shape: Sequence[int]) -> Any:
    """An array of zeros in page-locked memory, which GPUs copy from and to at full speed; ordinary memory where there
    are none."""
    return _allocated(dtype, shape, _lib.mdist_alloc_pinned)


def _allocated(dtype, shape, function, *arguments):
    wanted = _described(dtype, shape)
    bytes_ = _lib.mdist_tensor_elements(byref(wanted)) * _lib.mdist_dtype_size(wanted.dtype)
    memory = _Allocation(_new(function, *arguments, bytes_))
    return _seen(_known(memory._handle, wanted.dtype, shape), memory, True)
