# SPDX-License-Identifier: Apache-2.0
"""DLPack: the capsules, and the tensors in them."""
from __future__ import annotations

import ctypes
import sys
from collections import deque
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int32, c_int64, c_uint64, c_void_p, py_object

from ._abi import Buffer, DeviceKind, Dlpack, Dtype
from ._dtypes import _KNOWN, _TYPES
from ._library import _lib, _python
from ._numpy import numpy
from .errors import _call, _kind


# The two layouts, by their fields of Dlpack: name of a capsule, name once it is taken, where a managed tensor has its
# deleter, major version.
_LAYOUTS = {
    "plain": (b"dltensor", b"used_dltensor", 56, 0),
    "versioned": (b"dltensor_versioned", b"used_dltensor_versioned", 16, 1),
}
_capsule_new = _python("PyCapsule_New", py_object, c_void_p, c_char_p, c_void_p)
_capsule_has_name = _python("PyCapsule_IsValid", ctypes.c_int, py_object, c_char_p)
_capsule_pointer = _python("PyCapsule_GetPointer", c_void_p, py_object, c_char_p)
_capsule_rename = _python("PyCapsule_SetName", ctypes.c_int, py_object, c_char_p)


class _DLTensor(Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


# Where a managed tensor has its DLTensor, and its flags, of which 1 says that it is read-only.
_DLPACK_TENSORS = {"plain": (0, None), "versioned": (32, 24)}
_DLPACK_TYPES = {(0, 8): Dtype.INT8, (0, 32): Dtype.INT32, (0, 64): Dtype.INT64, (1, 8): Dtype.UINT8,
                 (1, 32): Dtype.UINT32, (1, 64): Dtype.UINT64, (2, 16): Dtype.FLOAT16, (2, 32): Dtype.FLOAT32,
                 (2, 64): Dtype.FLOAT64, (4, 16): Dtype.BFLOAT16, (0, 16): Dtype.INT16, (1, 16): Dtype.UINT16,
                 (6, 8): Dtype.BOOL}


def _capsule_of(source):
    """(capsule, its layout, the address in it)"""
    try:
        capsule = source.__dlpack__(max_version=(1, 0))
    except TypeError:  # older than DLPack 1.0
        capsule = source.__dlpack__()
    for layout, (name, *_) in _LAYOUTS.items():
        if _capsule_has_name(capsule, name):
            return capsule, layout, _capsule_pointer(capsule, name)
    raise TypeError(f"{_kind(source)}.__dlpack__ gave {capsule!r}, which is no DLPack capsule, or a used one")


def _read_only(layout, managed):
    flags_at = _DLPACK_TENSORS[layout][1]
    return flags_at is not None and bool(c_uint64.from_address(managed + flags_at).value & 1)


def _buffer_of(layout, managed):
    buffer = Buffer()
    _call(_lib.mdist_buffer_from_dlpack, ctypes.byref(Dlpack(**{layout: managed})), ctypes.byref(buffer))
    return buffer


def _dense_buffer(source, writable):
    """(Buffer, the capsule that keeps its memory) of anything with __dlpack__ whose elements leave no gaps."""
    if not hasattr(source, "__dlpack__"):
        raise TypeError(f"{_kind(source)} {source!r:.60} has no __dlpack__, which Dense needs")
    capsule, layout, managed = _capsule_of(source)
    if writable and _read_only(layout, managed):
        raise ValueError("a read-only tensor, where results are to be written")
    return _buffer_of(layout, managed), capsule


def _dlpack_view(source):
    """(memoryview, Dtype) of the memory of anything with __dlpack__ on the host. The capsule stays whole: its owner
    deletes it when the view has gone."""
    kind, number = source.__dlpack_device__()
    if kind not in (1, 3):  # the CPU's, and what CUDA has locked
        raise BufferError(f"{_kind(source)} lies on a device (DLPack's {int(kind)}:{int(number)}) and has no "
                          "__cuda_array_interface__; bring it to the host first")
    capsule, layout, managed = _capsule_of(source)
    at, _ = _DLPACK_TENSORS[layout]
    tensor = _DLTensor.from_address(managed + at)
    dtype = _DLPACK_TYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype is None:
        kinds = dict(enumerate(("int", "uint", "float", "opaque", "bfloat", "complex", "bool")))
        raise TypeError(f"elements of {kinds.get(tensor.code, f'DLPack type {tensor.code}, ')}{tensor.bits}; there are "
                        f"{_KNOWN}")
    shape = tuple(tensor.shape[:tensor.ndim])
    strides = tuple(one * tensor.bits // 8 for one in tensor.strides[:tensor.ndim]) if tensor.strides else None
    writable = not _read_only(layout, managed)
    data = (tensor.data or 0) + tensor.byte_offset
    if numpy:
        return memoryview(numpy.asarray(_Foreign(data, dtype, shape, strides, writable, capsule))), dtype
    return _without_numpy(data, dtype, shape, strides, capsule), dtype


class _Foreign:
    """Memory that a capsule keeps alive, for NumPy to look at."""

    def __init__(self, data, dtype, shape, strides, writable, owner):
        self.owner = owner
        self.__array_interface__ = {"version": 3, "typestr": _TYPES[dtype][0], "shape": shape, "strides": strides,
                                    "data": (data, not writable)}


def _without_numpy(data, dtype, shape, strides, owner):
    _, element, form = _TYPES[dtype]
    elements, dense = 1, ctypes.sizeof(element)
    for index in reversed(range(len(shape))):
        if strides and shape[index] > 1 and strides[index] != dense:
            raise ValueError(f"a tensor of shape {shape} that is not C-contiguous needs NumPy, which is not installed")
        elements, dense = elements * shape[index], dense * shape[index]
    if elements == 0:
        return memoryview(bytearray()).cast(form)
    memory = (element * elements).from_address(data)
    memory.owner = owner
    return memoryview(memory).cast("B").cast(form, shape)


class _Export:
    """A capsule that was given out. It has no destructor: one in Python would lose the exception under way where a
    capsule dies of it. Instead it is looked after here, and what nobody took in time is deleted later."""

    waiting: deque[_Export] = deque()

    def __init__(self, value, index, layout):
        self.name, _, self.deleter_at, major = _LAYOUTS[layout]
        out = Dlpack()
        _call(_lib.mdist_value_to_dlpack, value._handle, index, major, ctypes.byref(out))
        self.managed = getattr(out, layout)
        self.capsule = _capsule_new(self.managed, self.name, None)

    def finished(self):
        alone = sys.getrefcount(self.capsule) <= 2  # ours, and this call's; first, for a taker renames and lets go
        if not _capsule_has_name(self.capsule, self.name):
            return True  # taken: the taker deletes it
        if not alone:
            return False
        deleter = c_void_p.from_address(self.managed + self.deleter_at).value
        CFUNCTYPE(None, c_void_p)(deleter)(self.managed)
        return True

    @classmethod
    def sweep(cls):
        for _ in range(len(cls.waiting)):
            try:
                one = cls.waiting.popleft()
            except IndexError:  # another thread sweeps, too
                return
            if not one.finished():
                cls.waiting.append(one)


class _Part:
    """One array of a value, for other libraries to take: numpy.from_dlpack(value.part(1))."""

    def __init__(self, value, index):
        self._value, self._index = value, index

    def __dlpack_device__(self):
        tensor = self._value._describe(self._index)
        return (2, tensor.device_index) if tensor.device_kind == DeviceKind.GPU else (1, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if copy:
            raise BufferError("a value is shared, never copied; copy what comes out")
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"a value on device {self.__dlpack_device__()} does not move to {tuple(dl_device)}")
        _Export.sweep()
        layout = "versioned" if max_version and max_version[0] >= 1 else "plain"
        one = _Export(self._value, self._index, layout)
        capsule = one.capsule  # held from before others sweep
        _Export.waiting.append(one)
        return capsule
