# SPDX-License-Identifier: Apache-2.0
"""Values: what goes into a run and comes out of it."""
from __future__ import annotations

from ctypes import byref, c_char_p
from typing import Any

from ._abi import Dtype, Status, Tensor, ValueKind
from ._arguments import _handles
from ._capsules import _Export, _Part
from ._held import _FREE, _Held, _keep
from ._library import _lib
from ._numpy import numpy
from ._tensors import _copied, _tensor
from ._trees import _is_tree, _leaves, _tree
from ._views import _flat, _need_numpy, _on_host, _place, _seen
from .errors import Error, _call, _new
from .typing import ArrayLike


class Value(_Held):
    """What goes into a run and comes out: one array (plain), or one per local replica. Never changes.

    Value(array) holds a copy; Value.wrap(array) the array itself, which must not change as long as the value lives.
    Of dicts and lists of arrays or Values, nested, both make a structure: value["grads.0"] is one of its leaves, or
    what lies below; `paths` are the leaves'; numpy() gives dicts and lists back, in which empty ones are gone.
    """

    @staticmethod
    def _destroy(handle):
        _lib.mdist_value_destroy(handle)
        _Export.sweep()

    _borrowed = False  # dies with a callback

    def __init__(self, array: Any) -> None:
        super().__init__(_structure(array, Value) if _is_tree(array) else _create(array))

    @classmethod
    def wrap(cls, array: Any) -> Value:
        """A value around the array itself, without a copy: do not change the array as long as the value lives."""
        if _is_tree(array):
            return cls._of(_structure(array, cls.wrap))
        tensor, view = _tensor(array)
        return cls._of(_new(_lib.mdist_value_wrap, byref(tensor), _keep(view), _FREE))

    @classmethod
    def sparse(cls, indices: ArrayLike, values: Any) -> Value:
        """Rows of larger arrays: row i of `values` is row indices[i] (int64) there. Both are arrays, or Values of one
        kind. For reductions, and for Variable.assign, which leaves other rows alone."""
        indices, values = _value(indices), _value(values)
        return cls._of(_new(_lib.mdist_value_sparse, indices._handle, values._handle))

    def __repr__(self) -> str:
        return f"<Value {self.kind.name.lower()} of {len(self)}>"

    @classmethod
    def _borrow(cls, handle):
        self = cls.__new__(cls)
        self._handle, self._borrowed = handle, True
        return self

    @property
    def kind(self) -> ValueKind:
        """A ValueKind: PLAIN, MIRRORED, PER_REPLICA or STRUCTURE."""
        return ValueKind(_lib.mdist_value_kind(self._handle))

    def __len__(self) -> int:
        return _lib.mdist_value_count(self._handle)

    @property
    def paths(self) -> list[str]:
        """Of the leaves; [""] where there is no structure."""
        count = _lib.mdist_value_leaf_count(self._handle)
        return [_lib.mdist_value_leaf_path(self._handle, index).decode() for index in range(count)]

    def __getitem__(self, path: str) -> Value:
        """A leaf of a structure, or what lies below the path; shares the memory. KeyError lists what there is."""
        if not isinstance(path, str):
            raise TypeError(f"value[{path!r}]: paths are texts; numpy({path!r}) is the array of a local replica")
        try:
            return Value._of(_new(_lib.mdist_value_at, self._handle, path.encode()))
        except Error as error:
            raise (KeyError(str(error)) if error.status == Status.NOT_FOUND else error) from None

    __iter__ = None  # len() counts replicas, and [] takes paths

    def _describe(self, index):
        tensor = Tensor()
        _call(_lib.mdist_value_tensor, self._handle, index, byref(tensor))
        return tensor

    @property
    def dtype(self) -> Dtype:
        """The Dtype of its elements. A structure has none of its own: take that of a leaf."""
        return Dtype(self._describe(0).dtype)

    def shape(self, index: int = 0) -> tuple[int, ...]:
        """The shape of the array of local replica `index`."""
        tensor = self._describe(index)
        return tuple(tensor.shape[:tensor.rank])

    def numpy(self, index: int = 0) -> Any:
        """Read-only; bfloat16 as its bits. In a merge function: a copy, since the value dies with that call."""
        _need_numpy()
        if self.kind == ValueKind.STRUCTURE:
            return _tree((path, self[path].numpy(index)) for path in self.paths)
        tensor = self._describe(index)
        if not self._borrowed:
            _on_host(tensor)
        return self._look(tensor)

    def memory(self, index: int = 0) -> Any:
        """The same as a flat memoryview."""
        if self.kind == ValueKind.STRUCTURE:
            return _tree((path, self[path].memory(index)) for path in self.paths)
        view = _flat(self._describe(index), self, False)
        return memoryview(bytes(view)).cast(view.format) if self._borrowed else view

    def device(self, index: int = 0) -> str:
        """Where an array of it lies: "cpu:0", "gpu:1"."""
        return _place(self._describe(index))

    def tensor(self, index: int = 0) -> Any:
        """numpy(index), or if that lies on a GPU a GpuArray."""
        return self._look(self._describe(index))

    def only(self) -> Any:
        """The array of a value that has one, such as a run's result with one local replica; of a structure, those of its
        leaves. ValueError if there are several."""
        if self.kind == ValueKind.STRUCTURE:
            return _tree((path, self[path].only()) for path in self.paths)
        if len(self) != 1:
            raise ValueError(f"a value of {len(self)} arrays, one per local replica; value.numpy(i) is one of them, and "
                             f"strategy.reduce(op, value) makes one of all")
        return self.tensor()

    def indices(self, index: int = 0) -> Any:
        """Which rows numpy(index) has, if this is a value of rows; else None."""
        tensor = Tensor()
        _call(_lib.mdist_value_indices, self._handle, index, byref(tensor))
        return self._look(tensor) if tensor.dtype else None

    def _look(self, tensor):
        """An array on a tensor of this value."""
        return _copied(tensor) if self._borrowed else _seen(tensor, self)

    def _look_at_all(self, tensors):
        """The same for the next tensor of several, or of a structure for those of its leaves."""
        if self.kind != ValueKind.STRUCTURE:
            return self._look(next(tensors))
        return _tree((path, self._look(next(tensors))) for path in self.paths)

    def part(self, index: int) -> _Part:
        """One of its arrays, for the from_dlpack of another library, which shares the memory and must only read it."""
        return _Part(self, index)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if len(self) != 1:
            raise TypeError(f"a value of {len(self)} arrays, one per local replica; value.numpy(i) is one of them")
        _need_numpy()
        return numpy.asarray(self.numpy(), dtype)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.part(0).__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        if len(self) != 1:
            raise BufferError(f"a value of {len(self)} arrays; value.part(i) is one of them")
        return self.part(0).__dlpack__(**options)

    def _share(self):
        """Another handle of the same, for the library to own."""
        return _new(_lib.mdist_value_at, self._handle, b"")


def _value(thing):
    return thing if isinstance(thing, Value) else Value.wrap(thing)


def _create(array):
    """The handle of a value with a copy."""
    tensor, view = _tensor(array)
    handle = _new(_lib.mdist_value_create, byref(tensor))
    del view
    return handle


def _structure(tree, make):
    """The handle of a structure, whose leaves are Values, or arrays to make such of."""
    leaves = {path: leaf if isinstance(leaf, Value) else make(leaf) for path, leaf in _leaves(tree)}
    paths = (c_char_p * len(leaves))(*(path.encode() for path in leaves))
    return _new(_lib.mdist_value_structure, paths, _handles([*leaves.values()]), len(leaves))


def _given(thing):
    """The handle of what a function returned, for the library to own: of an array a copy."""
    if isinstance(thing, Value):
        return thing._share()  # whose it is may go on with it
    return _structure(thing, Value) if _is_tree(thing) else _create(thing)
