# SPDX-License-Identifier: Apache-2.0
"""GPUs."""
from __future__ import annotations

import ctypes
from collections import namedtuple
from ctypes import byref, c_size_t, c_uint32

from ._library import _lib
from ._tensors import _tensor
from .errors import _call
from .typing import ArrayLike


Gpus = namedtuple("Gpus", "count text")


def gpus() -> Gpus:
    """How many GPUs this process can use, and in words what they are, or why there are none. Not before a fork whose
    child uses GPUs."""
    count, needed = c_uint32(), c_size_t()
    _call(_lib.mdist_gpu_count, byref(count), None, 0, byref(needed))
    text = ctypes.create_string_buffer(needed.value)
    _call(_lib.mdist_gpu_count, byref(count), text, needed, None)
    return Gpus(count.value, text.value.decode(errors="replace"))


def copy(to: ArrayLike, source: ArrayLike) -> None:
    """Copies between arrays of one dtype and shape, wherever they lie: of the host, GpuArrays, or those of another
    library with __cuda_array_interface__. Done on return. In a step take replica.copy."""
    pairs = [_tensor(to, True), _tensor(source)]
    _call(_lib.mdist_tensor_copy, *(byref(tensor) for tensor, _ in pairs))
