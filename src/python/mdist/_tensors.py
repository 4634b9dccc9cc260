# SPDX-License-Identifier: Apache-2.0
"""Describes arrays of the program for the library."""
from __future__ import annotations

from array import array as Array
from ctypes import byref, c_uint64, c_void_p

from ._abi import DeviceKind, Dtype, MAX_RANK, Tensor
from ._arguments import _count
from ._capsules import _dlpack_view
from ._dtypes import Typed, _FORMATS, _KNOWN, _TYPES, _TYPESTRS, _dtype
from ._library import _get_buffer, _lib, _release_buffer
from ._numpy import numpy
from ._views import GpuArray, _array
from .errors import _call, _kind


def _copied(tensor, replica=None):
    """A copy on the host; in a step behind what the replica's stream has been given."""
    if tensor.dtype == Dtype.NONE:
        return None
    if tensor.device_kind != DeviceKind.CPU:
        return _fetched(tensor, replica)
    view = _array(tensor, None)
    return view.copy() if numpy else memoryview(bytearray(view.cast("B"))).cast(view.format)


def _fetched(tensor, replica):
    typestr, _, form = _TYPES[tensor.dtype]
    if numpy:
        array = numpy.empty(tuple(tensor.shape[:tensor.rank]), typestr)
    else:
        bytes_ = _lib.mdist_tensor_elements(byref(tensor)) * _lib.mdist_dtype_size(tensor.dtype)
        array = memoryview(bytearray(bytes_)).cast(form)
    to, view = _tensor(Typed(array, Dtype(tensor.dtype)), True)
    to.rank, to.shape = tensor.rank, tensor.shape
    if replica is None:
        _call(_lib.mdist_tensor_copy, byref(to), byref(tensor))
    else:
        _call(_lib.mdist_replica_copy, replica, byref(to), byref(tensor))
    del view
    return array


def _is_plain(thing):
    """Numbers, and lists and tuples of numbers alone, nested: arrays that have no memory yet."""
    if isinstance(thing, (list, tuple)) and not isinstance(thing, Typed):
        return bool(thing) and all(map(_is_plain, thing))
    return type(thing) in (int, float)


def _memory_of(plain):
    """A new array with these numbers: int64 if all are whole, else float64."""
    if numpy:
        array = numpy.array(plain)  # refuses rows of different lengths
        if array.dtype == object or array.dtype == numpy.uint64:
            raise ValueError("a number does not fit in int64; pass numpy.array(numbers, 'uint64'), or 'float64'")
        return array.astype(numpy.int64, copy=False) if array.dtype.kind == "i" else array
    numbers = list(plain) if isinstance(plain, (list, tuple)) else [plain]
    if any(isinstance(one, (list, tuple)) for one in numbers):
        raise TypeError("a nested list needs NumPy, which is not installed; pass a memoryview with a shape")
    form = "q" if all(isinstance(one, int) for one in numbers) else "d"
    view = memoryview(Array(form, numbers))
    return view if isinstance(plain, (list, tuple)) else view.cast("B").cast(form, ())


def _view(array, writable=False):
    """(memoryview, its Dtype if the elements do not say) of an array of the host; None for one on a GPU."""
    try:
        return memoryview(array), None
    except TypeError:
        pass
    except (ValueError, BufferError) as error:
        raise TypeError(f"{_kind(array)} {array!r:.60}: {error}; there are {_KNOWN}") from None
    if hasattr(array, "__cuda_array_interface__"):
        return None
    if hasattr(array, "__dlpack__"):
        return _dlpack_view(array)
    if _is_plain(array):
        if writable:
            raise TypeError(f"a result cannot be written into a {_kind(array)}; pass an array, as "
                            "numpy.array(...) makes one, and look at that afterwards")
        return memoryview(_memory_of(array)), None
    if numpy and not writable and (hasattr(array, "__array__") or hasattr(array, "__array_interface__")):
        return memoryview(numpy.asarray(array)), None
    raise TypeError(f"{_kind(array)} {array!r:.60} is no array; arrays are NumPy's, and whatever has a buffer "
                    "(array.array), __dlpack__ or __cuda_array_interface__, and for what is only read numbers and "
                    "lists of numbers" + ("; a step that returns nothing gives None" if array is None else ""))


def _tensor(thing, writable=False, exact=False):
    """Describes an array: (Tensor, what must live as long as that is in use).

    Of one that is only read and has no dense memory, that is a copy; `exact` refuses such, as `writable` does."""
    array, dtype = thing if isinstance(thing, Typed) else (thing, None)
    seen = _view(array, writable)
    if seen is None:
        return _gpu_tensor(array, dtype, writable), array
    view, found = seen
    found = found or _FORMATS.get(f"{view.format.lstrip('<@=')}{view.itemsize}")
    if dtype is not None:
        found = _dtype(dtype)
        if _lib.mdist_dtype_size(found) != view.itemsize:
            raise TypeError(f"elements of {view.itemsize} bytes are not {found.name.lower()}")
    if found is None:
        raise TypeError(f"elements of {getattr(array, 'dtype', repr(view.format))}; there are {_KNOWN}")
    if writable and view.readonly:
        raise ValueError(f"a read-only array of shape {view.shape}, where results are to be written")
    if not view.c_contiguous:
        if writable or exact:
            raise ValueError(f"an array of shape {view.shape} and strides {view.strides} is not C-contiguous, and this "
                             "call works on its memory; give it one that is (numpy.empty(shape, dtype)), and copy from "
                             "or to that: x[...] = result")
        view = _dense(view)
    tensor = _described(found, view.shape)
    raw = (c_void_p * 16)()  # a Py_buffer, whose first field is the address
    _get_buffer(view, raw, 0)
    tensor.data = raw[0]
    _release_buffer(raw)
    return tensor, (view, array)


def _dense(view):
    """A C-contiguous copy."""
    if numpy:
        return memoryview(numpy.ascontiguousarray(view))
    return memoryview(bytearray(view.tobytes())).cast(view.format.lstrip("<@="), view.shape)


def _gpu_tensor(array, dtype, writable):
    """Describes an array of CuPy, PyTorch, Numba ..., or of ours; which GPU's it is, the library sees by itself."""
    seen = array.__cuda_array_interface__
    form, shape, (data, readonly) = seen["typestr"], seen["shape"], seen["data"]
    if dtype is None and isinstance(array, GpuArray):
        dtype = array.dtype
    found = _TYPESTRS.get(form) if dtype is None else _dtype(dtype)
    if found is None or _lib.mdist_dtype_size(found) != int(form[2:]):
        raise TypeError(f"elements of {form}; there are {_KNOWN}")
    if seen.get("strides") is not None and 0 not in shape:
        dense = int(form[2:])
        for length, stride in zip(reversed(shape), reversed(seen["strides"])):
            if length != 1 and stride != dense:
                raise ValueError(f"an array of shape {shape} on a GPU that is not C-contiguous; work on one that is, "
                                 "and copy from or to that")
            dense *= length
    if writable and readonly:
        raise ValueError(f"a read-only array of shape {shape}, where results are to be written")
    tensor = _described(found, shape)
    tensor.data = data
    return tensor


def _described(dtype, shape):
    """A Tensor without memory."""
    if len(shape) > MAX_RANK:
        raise ValueError(f"an array of {len(shape)} dimensions; {MAX_RANK} is the most")
    return Tensor(None, _dtype(dtype), len(shape), 0, 0, (c_uint64 * MAX_RANK)(*map(_count, shape)))


def _tensors(things, writable=False):
    pairs = [_tensor(thing, writable) for thing in things]
    return (Tensor * len(pairs))(*(tensor for tensor, _ in pairs)), [view for _, view in pairs]


def _known(data, dtype, shape):
    """A Tensor of the library's memory, which says where it lies."""
    tensor, dimensions = Tensor(), (c_uint64 * MAX_RANK)(*shape)
    _call(_lib.mdist_tensor_describe, data, dtype, dimensions, len(shape), byref(tensor))
    return tensor
