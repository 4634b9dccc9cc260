# SPDX-License-Identifier: Apache-2.0
"""Functions that run once for all replicas."""
from __future__ import annotations

from ctypes import byref
from typing import Any

from ._abi import MergeFn, Tensor
from ._held import _kept
from ._library import _lib
from ._results import _checked
from ._tensors import _copied, _is_plain, _tensor
from ._trees import _is_tree, _leaves, _tree
from .errors import _call, _callback
from .values import Value


class _Merge:
    def __init__(self, run, function, result_count):
        self.run, self.function, self.result_count = run, function, result_count

    def call(self, arguments, count, results):
        values = [Value._borrow(arguments[i]) for i in range(count)]
        returned = _checked(self.function(self.run.strategy, *values), self.result_count)
        made = [one if one is None or isinstance(one, Value) else Value(one) for one in returned]
        self.run.merged = _paths(made)
        for index, one in enumerate(made):
            results[index] = None if one is None else one._share()


@_callback(MergeFn)
def _MERGE(_, arguments, count, results, __, key):
    merge = _kept[key]
    return merge.run.failures.guard(merge.call, arguments, count, results)


def _paths(values: Any) -> Any:
    """The paths of each result of a merge, for all replicas: the library does not name them."""
    return [[] if value is None else value.paths for value in values]


def _arguments(replica: Any, arrays: Any) -> Any:
    """(tensors, what must live meanwhile) of a merge's arguments. The leaves of structures are copied now."""
    pairs = [(Tensor(), None) if _is_tree(array) and not _is_plain(array) else _tensor(array) for array in arrays]
    for index, (array, (tensor, _)) in enumerate(zip(arrays, pairs)):
        for path, leaf in _leaves(array) if not tensor.dtype else ():
            described, view = _tensor(leaf)
            _call(_lib.mdist_replica_set_merge_argument, replica, index, path.encode(), byref(described))
            del view
    return (Tensor * len(pairs))(*(tensor for tensor, _ in pairs)), [view for _, view in pairs]


def _part(replica: Any, index: Any, tensor: Any, paths: Any) -> Any:
    """A replica's part of a result: a copy."""
    if tensor.dtype or not paths:
        return _copied(tensor, replica)
    return _tree((path, _copied(_leaf(replica, index, path), replica)) for path in paths)


def _leaf(replica, index, path):
    tensor = Tensor()
    _call(_lib.mdist_replica_merge_result, replica, index, path.encode(), byref(tensor))
    return tensor
