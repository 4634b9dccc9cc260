# SPDX-License-Identifier: Apache-2.0
"""Types of elements."""
from __future__ import annotations

import ctypes
from collections import namedtuple
from ctypes import c_int32, c_int64, c_uint32, c_uint64

from ._abi import Dtype
from ._numpy import numpy


# NumPy's and ctypes' word for each Dtype. bfloat16 has none: its bits are shown.
_TYPES = {
    Dtype.FLOAT32: ("<f4", ctypes.c_float, "f"), Dtype.FLOAT64: ("<f8", ctypes.c_double, "d"),
    Dtype.FLOAT16: ("<f2", ctypes.c_uint16, "H"), Dtype.BFLOAT16: ("<u2", ctypes.c_uint16, "H"),
    Dtype.INT8: ("|i1", ctypes.c_int8, "b"), Dtype.UINT8: ("|u1", ctypes.c_uint8, "B"),
    Dtype.INT32: ("<i4", c_int32, "i"), Dtype.UINT32: ("<u4", c_uint32, "I"),
    Dtype.INT64: ("<i8", c_int64, "q"), Dtype.UINT64: ("<u8", c_uint64, "Q"),
    Dtype.INT16: ("<i2", ctypes.c_int16, "h"), Dtype.UINT16: ("<u2", ctypes.c_uint16, "H"),
    Dtype.BOOL: ("|b1", ctypes.c_bool, "?"),
}
_KNOWN = ", ".join(one.name.lower() for one in _TYPES)
# A buffer's format and size for each Dtype, in this machine's order.
_FORMATS = {"f4": Dtype.FLOAT32, "d8": Dtype.FLOAT64, "e2": Dtype.FLOAT16, "b1": Dtype.INT8, "B1": Dtype.UINT8,
            "i4": Dtype.INT32, "I4": Dtype.UINT32, "l8": Dtype.INT64, "L8": Dtype.UINT64, "q8": Dtype.INT64,
            "Q8": Dtype.UINT64, "h2": Dtype.INT16, "H2": Dtype.UINT16, "?1": Dtype.BOOL}
_TYPESTRS = {typestr: dtype for dtype, (typestr, _, _) in _TYPES.items() if dtype != Dtype.BFLOAT16}
Typed = namedtuple("Typed", "array dtype")
Dense = namedtuple("Dense", "tensor")
Dense.__doc__ = """A tensor with __dlpack__ whose strides may have any order, such as a transposed matrix or PyTorch's
channels_last, taken as it lies in memory, without a copy: replica.all_reduce("sum", Dense(x.T)).

For all_reduce, reduce_to_root and broadcast. All replicas must have the same order (Error, status MISMATCH). A tensor
with gaps is an Error, reason `dlpack_strides`."""
Typed.__doc__ = """An array whose elements are `dtype`, whatever their own dtype says: Typed(bits, "bfloat16")."""


def _dtype(name):
    """Dtype.FLOAT32, "float32" and numpy.float32 alike."""
    if isinstance(name, Dtype):
        return name
    text = name if isinstance(name, str) else numpy.dtype(name).name if numpy else str(name)
    try:
        return Dtype[text.upper()]
    except KeyError:
        raise TypeError(f"no dtype {text}; there are {_KNOWN}") from None
