# SPDX-License-Identifier: Apache-2.0
"""Replicas: what a step gets, and what replicas do together."""
from __future__ import annotations

from ctypes import byref, c_double, c_int32, c_uint64, c_void_p
from typing import Any, Callable, TYPE_CHECKING

from ._abi import Aggregation, Assign, Synchronization, Tensor, ValueKind
from ._arguments import _choice, _count, _handle, _name, _op, _options
from ._held import _keep, _kept
from ._library import _lib
from ._merges import _MERGE, _Merge, _arguments, _part, _paths
from ._results import _unlisted
from ._tensors import _copied, _tensor
from ._trees import _leaves, _tree
from .collectives import Collectives
from .errors import Error, _call, _new, _or_none
from .messages import Messages
from .typing import ArrayLike
from .values import Value, _value
from .variables import Variable, _variable_options

if TYPE_CHECKING:
    from ._abi import ReduceOp
    from .group import Group


class Replica(Collectives, Messages):
    """What a step gets first: its place, and what replicas do together. Of use until the step is over.

    Collectives take one array or a list of them, each of which becomes one operation with the others. Without outputs
    they work in place. An operation is a ReduceOp or its name ("sum"). `timeout` is in seconds. With a `group` only its
    members take part, in the order of its list.

    They return what they have written: the array, or the list of arrays. So numbers and lists of numbers can go in,
    too: total = replica.all_reduce("sum", [loss, hits]) makes an array (float64, or int64 of whole numbers). Arrays
    that are not C-contiguous are copied in and out. Those that end in _start return a Work, and need C-contiguous
    arrays to write to.
    """

    def __init__(self, handle: Any, run: Any) -> None:
        self._handle, self._run = handle, run

    @property
    def id(self) -> int:
        """Its number in the job, from 0."""
        return _or_none(_lib.mdist_replica_id(self._handle))

    @property
    def local_index(self) -> int:
        """Its number in this process, from 0."""
        return _or_none(_lib.mdist_replica_local_index(self._handle))

    @property
    def count(self) -> int:
        """Replicas in the whole job."""
        return _lib.mdist_replica_count(self._handle)

    def argument(self, index: int, path: str = "") -> Any:
        """This replica's array of an argument of the run; read-only, a GpuArray if it lies on a GPU. Of a structure
        dicts and lists of arrays, or the leaf at a path. (In a step that was registered under a name: copies of arrays,
        and of a structure the leaf at the path.)"""
        argument = self._run.arguments[index] if 0 <= index < len(self._run.arguments) else None
        if path or argument is None or argument.kind != ValueKind.STRUCTURE:
            return self._look(argument, index, path)
        return _tree((path, self._look(argument, index, path)) for path in argument.paths)

    def _look(self, argument, index, path):
        tensor = Tensor()
        _call(_lib.mdist_replica_argument, self._handle, index, path.encode(), byref(tensor))
        return _copied(tensor, self._handle) if argument is None else argument._look(tensor)

    def set_result(self, index: int, array: Any) -> None:
        """A copy of the array becomes this replica's part of a result of the run; a dict or list of such, nested, a
        structure."""
        for path, leaf in _leaves(array):
            tensor, view = _tensor(leaf)
            _call(_lib.mdist_replica_set_result, self._handle, index, path.encode(), byref(tensor))
            del view

    def all_reduce_sparse(self, op: ReduceOp | str, indices: ArrayLike, values: ArrayLike,
                        timeout: float | None = None, group: Group | None = None) -> Value:
        """A Value of the rows of all replicas, one after another; see Value.sparse. MEAN divides by the replicas."""
        pairs = [_tensor(indices), _tensor(values)]
        tensors = [byref(tensor) for tensor, _ in pairs]
        return Value._of(_new(_lib.mdist_all_reduce_sparse, self._handle, _op(op), *tensors,
                              options=[_options(timeout, group)]))

    def average_loss(self, per_example: ArrayLike, weights: ArrayLike | None = None, global_batch: int = 0,
                     timeout: float | None = None) -> tuple[float, int]:
        """(loss, global batch): this replica's part of the mean over all replicas' examples, so that SUM over them
        is that mean. The gradient of an element is its weight / the global batch, which is counted where it is 0."""
        pairs = [_tensor(per_example), (None, None) if weights is None else _tensor(weights)]
        count, loss = c_uint64(_count(global_batch)), c_double()
        _call(_lib.mdist_average_loss, self._handle, *(tensor and byref(tensor) for tensor, _ in pairs), byref(count),
              byref(loss), _options(timeout))
        return loss.value, count.value

    def scale_regularization(self, terms: ArrayLike) -> float:
        """The sum of `terms`, which are the same on all replicas, divided by the number of those."""
        tensor, view = _tensor(terms)
        loss = c_double()
        _call(_lib.mdist_scale_regularization, self._handle, byref(tensor), byref(loss))
        del view
        return loss.value

    def variable_create(self, name: str, initial: ArrayLike,
                        synchronization: Synchronization | str = Synchronization.AUTO,
                        aggregation: Aggregation | str = Aggregation.NONE,
                        colocate_with: Variable | None = None) -> Variable:
        """Creates a variable in a step. Every replica makes the same call, and gets a Variable of its own for the same
        state. The value of replica 0 counts."""
        tensor, view = _tensor(initial)
        handle = _new(_lib.mdist_replica_variable_create, self._handle, _name(name), byref(tensor),
                      options=[_variable_options(synchronization, aggregation, colocate_with)])
        del view
        return self._run.strategy._has(Variable._of(handle))

    def assign(self, variable: Variable, array: ArrayLike, assign: Assign | str = Assign.SET,
               timeout: float | None = None) -> None:
        """Writes what the replicas' arrays come to by the variable's aggregation. Numbers and lists of numbers get the
        variable's dtype."""
        handle = _handle(variable, Variable)
        tensor, view = _tensor(variable._of_dtype(array))
        _call(_lib.mdist_replica_assign, self._handle, handle, _choice(Assign, assign, "assignment"), byref(tensor),
              _options(timeout))
        del view

    def assign_sparse(self, variable: Variable, indices: ArrayLike, values: ArrayLike, assign: Assign | str = Assign.SET,
                    timeout: float | None = None) -> None:
        """Writes row i of `values` into row indices[i] (int64), of all replicas by the variable's aggregation."""
        handle = _handle(variable, Variable)
        pairs = [_tensor(indices), _tensor(variable._of_dtype(values))]
        _call(_lib.mdist_replica_assign_sparse, self._handle, handle, _choice(Assign, assign, "assignment"),
              *(byref(tensor) for tensor, _ in pairs), _options(timeout))

    def merge_call(self, function: Callable[..., Any], *arrays: Any, results: int = 0,
                   timeout: float | None = None) -> Any:
        """Once for all replicas, outside of the step: function(strategy, *values), which returns values or arrays.
        Arguments and results may be dicts and lists of arrays, nested.

        Both are copied. Each replica gets its part of them (a copy): None, an array or a structure, or for more results
        a list.
        """
        merge = _Merge(self._run, function, results)
        tensors, views = _arguments(self._handle, arrays)
        parts = (Tensor * results)()
        key = _keep(merge)
        try:
            _call(_lib.mdist_merge_call, self._handle, _MERGE, key, tensors, len(views), parts, results,
                  _options(timeout))
        except Error as error:
            raise error from self._run.failures.cause(error)
        finally:
            del _kept[key]
        return self._merged(parts)

    def _merged(self, parts):
        """Nobody begins the next merge, whose results have other paths, before all replicas have come to it."""
        paths = self._run.merged if len(parts) else []
        return _unlisted([_part(self._handle, index, part, paths[index]) for index, part in enumerate(parts)])

    def merge_begin(self, *arrays: Any, timeout: float | None = None) -> list[Value | None]:
        """For entered replicas. What local replica 0 does from here to merge_end happens once for all, outside of the
        step. There it returns the Values of the replicas' arrays; elsewhere Nones."""
        tensors, views = _arguments(self._handle, arrays)
        handles = (c_void_p * len(views))()
        _call(_lib.mdist_merge_begin, self._handle, tensors, len(views), handles, _options(timeout))
        return [Value._of(handle) if handle else None for handle in handles]

    def merge_end(self, *values: Any, results: int | None = None) -> Any:
        """Each replica's part (a copy) of the values that local replica 0 gives; the others say how many `results`."""
        count = len(values) if results is None else results
        given = [None if value is None else _value(value) for value in values]
        if self.local_index == 0:
            self._run.merged = _paths(given)
        handles = (c_void_p * count)(*(None if value is None else value._handle for value in given))
        parts = (Tensor * count)()
        _call(_lib.mdist_merge_end, self._handle, 0, handles, parts, count)
        return self._merged(parts)

    @property
    def stream(self) -> int | None:
        """The address of the cudaStream_t on which all that the step asks of the library is done in order: put your
        kernels there, as on cupy.cuda.ExternalStream(replica.stream). None on the CPU."""
        stream = c_void_p()
        _call(_lib.mdist_replica_stream, self._handle, byref(stream))
        return stream.value

    def use_stream(self, stream: int | None) -> None:
        """Has the library work on a stream of yours, the address of a cudaStream_t of the replica's GPU, until the step
        ends or None is given. It must live until the step has ended: another address crashes the process."""
        _call(_lib.mdist_replica_use_stream, self._handle, stream)

    def copy(self, to: ArrayLike, source: ArrayLike) -> None:
        """mdist.copy behind what the replica's stream has been given. Between GPUs it is done in its turn, else on
        return."""
        pairs = [_tensor(to, True), _tensor(source)]
        _call(_lib.mdist_replica_copy, self._handle, *(byref(tensor) for tensor, _ in pairs))

    def graph(self, key: int, body: Callable[[], Any]) -> None:
        """Does what `body` puts on the replica's stream, as a CUDA graph: the first time body() is called and recorded,
        later the graph is launched. Where nothing is recorded, as on the CPU, body() is called each time."""
        record = c_int32()
        _call(_lib.mdist_replica_graph_begin, self._handle, key, byref(record))
        if record.value:
            body()
        _call(_lib.mdist_replica_graph_end, self._handle)

    def exit(self, code: int = 0) -> None:
        """Leaves a step that was entered; `with` does it by itself. A code other than 0 fails the run."""
        _call(_lib.mdist_replica_exit, self._handle, code)

    def __enter__(self) -> Replica:
        return self

    def __exit__(self, kind: Any, exception: Any, _: Any) -> None:
        try:
            self.exit(self._run.failures.add(exception) if exception else 0)
        except Error:
            if exception is None:
                raise
