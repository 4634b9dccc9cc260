# SPDX-License-Identifier: Apache-2.0
"""Arrays over memory of the library."""
from __future__ import annotations

from ctypes import byref
from typing import Any

from ._abi import DeviceKind, Dtype
from ._dtypes import _TYPES
from ._library import _lib
from ._numpy import numpy


class _Memory:
    """An address and shape for NumPy to look at, which keeps the owner of the memory alive."""

    def __init__(self, tensor, owner, writable):
        shape = tuple(tensor.shape[:tensor.rank])
        self.owner = owner
        self.__array_interface__ = {"version": 3, "typestr": _TYPES[tensor.dtype][0], "shape": shape,
                                    "data": (tensor.data or 0, not writable)}


def _on_host(tensor):
    if tensor.device_kind != DeviceKind.CPU:
        raise BufferError(f"the tensor lies on {_place(tensor)}, and an array is memory of the host; mdist.copy, in a "
                          "step replica.copy, brings it there from its tensor()")


def _place(tensor):
    return f"{DeviceKind(tensor.device_kind).name.lower()}:{tensor.device_index}"


def _flat(tensor, owner, writable):
    _on_host(tensor)
    elements = _lib.mdist_tensor_elements(byref(tensor))
    _, element, form = _TYPES[tensor.dtype]
    memory = (element * elements).from_address(tensor.data) if elements else (element * 0)()
    memory.owner = owner
    view = memoryview(memory).cast("B").cast(form)
    return view if writable else view.toreadonly()


def _array(tensor, owner, writable=False):
    """The tensor's memory as an array (without NumPy: a flat memoryview) that keeps `owner`."""
    _on_host(tensor)
    return numpy.asarray(_Memory(tensor, owner, writable)) if numpy else _flat(tensor, owner, writable)


def _seen(tensor, owner, writable=False):
    """The tensor's memory as an array, or as a GpuArray."""
    return (_array if tensor.device_kind == DeviceKind.CPU else GpuArray)(tensor, owner, writable)


def _need_numpy():
    if not numpy:
        raise ImportError("numpy() needs NumPy, which is not installed; memory() does without")


class GpuArray:
    """Memory of the library on a GPU, which it keeps: `data` is its address, `device` "gpu:1", `dtype` and `shape` what
    lies there. It goes wherever arrays go in, and other libraries take it without a copy: cupy.asarray(x),
    torch.as_tensor(x, device="cuda"). In a step, have them work on replica.stream."""

    def __init__(self, tensor: Any, owner: Any, writable: bool) -> None:
        self.data, self.device, self.dtype = tensor.data or 0, _place(tensor), Dtype(tensor.dtype)
        self.shape, self._owner, self._writable = tuple(tensor.shape[:tensor.rank]), owner, writable

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"version": 3, "typestr": _TYPES[self.dtype][0], "shape": self.shape,
                "data": (self.data, not self._writable), "strides": None}

    def __repr__(self) -> str:
        return f"<GpuArray {self.dtype.name.lower()} {self.shape} on {self.device}>"
