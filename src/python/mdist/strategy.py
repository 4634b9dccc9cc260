# SPDX-License-Identifier: Apache-2.0
"""Strategies: the devices of a process, with a replica on each."""
from __future__ import annotations

import contextlib
import weakref
from ctypes import byref, c_char_p, c_int32, c_uint32, c_void_p, cast
from typing import Any, Callable, Iterator, Mapping, Sequence, TYPE_CHECKING

from ._abi import Aggregation, Buffer, FetchFn, ReplicationMode, ShardPolicy, Status, Synchronization, Uneven
from ._arguments import _count, _function, _handle, _handles, _name, _op, _op_or_operator, _options, _run_io
from ._calls import _CALLS, _FETCH, _Made, _VALUE
from ._dtypes import _dtype
from ._held import _Destroyable, _keep, _kept, _keys
from ._library import _lib
from ._operands import _Operands, _listed
from ._registry import _strategies
from ._tensors import _described, _known, _tensor, _tensors
from ._trees import _is_tree, _leaves
from ._views import _seen
from .config import Config
from .datasets import Dataset
from .elastic import Elastic
from .errors import Error, _Failures, _call, _new, _or_none, _text
from .input import InputPipeline, _DATASET, _MakeDataset, _input_options
from .iterators import Iterator as DatasetIterator
from .loop import Loop, _run_steps
from .prepared import Preparation
from .runs import Run, _ELEMENT, _STEP
from .serving import Naming
from .typing import ArrayLike, Arrays, DtypeLike
from .values import Value, _value
from .variables import Variable, _Update, _variable_options

if TYPE_CHECKING:
    from ._abi import ReduceOp
    from .operators import Operator


class Strategy(_Destroyable, Naming, Elastic):
    """This process's devices with a replica on each: Strategy(), which asks the environment, Strategy(devices="cpu*4"),
    whose keys override it, or Strategy(config). A context manager; without `with` it goes when nobody can reach it any
    more."""

    _destroy = _lib.mdist_strategy_destroy

    def __init__(self, config: Config | Mapping[str, Any] | None = None, **keys: Any) -> None:
        if isinstance(config, Config):
            if keys:
                raise TypeError(f"a Config and keys ({', '.join(keys)}); set them in the Config: config[key] = value")
        elif config is not None or keys:
            config = Config(config or {}, **keys)
        super().__init__(_new(_lib.mdist_strategy_create, config and config._handle))
        _strategies[self._handle] = self
        self._named_failures = _Failures()
        self._blobs, self._blob_failures = [], _Failures()
        # A WeakSet cannot be listed while other threads add to it.
        self._variables: weakref.WeakValueDictionary[int, Variable] = weakref.WeakValueDictionary()

    def destroy(self) -> None:
        """Gives the handle back now, and those of the blobs."""
        for blob in [*self._blobs]:
            blob.destroy()
        super().destroy()

    def __enter__(self) -> Strategy:
        return self

    def __exit__(self, *_: Any) -> None:
        self.destroy()

    @property
    def replica_count(self) -> int:
        """Replicas of the job."""
        return _lib.mdist_strategy_replica_count(self._handle)

    @property
    def local_replica_count(self) -> int:
        """Replicas of this process."""
        return _lib.mdist_strategy_local_replica_count(self._handle)

    @property
    def worker_count(self) -> int:
        """Workers (processes) of the job."""
        return _lib.mdist_strategy_worker_count(self._handle)

    @property
    def rank(self) -> int:
        """This worker's rank, from 0."""
        return _or_none(_lib.mdist_strategy_rank(self._handle))

    @property
    def is_chief(self) -> bool:
        """Whether it is this worker that does what is done once for all: writes checkpoints, prints."""
        return bool(_lib.mdist_strategy_is_chief(self._handle))

    @property
    def first_replica_id(self) -> int:
        """The id of this worker's first local replica. In an elastic job it changes with regroup()."""
        return int(_lib.mdist_strategy_first_replica_id(self._handle))

    def device(self, local_replica: int) -> str:
        """The device of a local replica: "cpu:0", "gpu:1"."""
        return _text(_lib.mdist_strategy_device, self._handle, local_replica)

    def abort(self) -> None:
        """Ends all collectives: those that wait fail now. From any thread."""
        _lib.mdist_strategy_abort(self._handle)

    def check_health(self) -> None:
        """Raises what ended all collectives, a worker that was lost, say; at once, from any thread."""
        _call(_lib.mdist_strategy_check_health, self._handle)

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        """`with strategy.scope():` current_strategy() is this one on this thread."""
        _call(_lib.mdist_scope_enter, self._handle)
        try:
            yield self
        finally:
            _call(_lib.mdist_scope_exit, self._handle)

    def run(self, step: Callable[..., Any], *arguments: Any, results: int = 0, timeout: float | None = None) -> Any:
        """Calls step(replica, *arrays) on every replica, with each its part of the arguments (Values, or arrays).

        What steps return, `results` arrays (Nones are fine), comes back as that many Values. Arguments and results may
        be dicts and lists of arrays, nested: see Value.
        """
        run = Run(self, _function(step, "step(replica, ...)"), arguments, results)
        key = _keep(run)
        try:
            return run.finish(_lib.mdist_run, self._handle, _STEP, key, timeout=timeout)
        finally:
            del _kept[key]

    def map(self, count: int, function: Callable[..., Any], *arguments: Any, results: int = 0,
            timeout: float | None = None) -> Any:
        """Calls function(replica, element, *arrays) for elements 0 to count - 1, spread over all replicas of the job.
        Results are stacked: a row for each element of a replica."""
        run = Run(self, _function(function, "function(replica, element, ...)"), arguments, results)
        key = _keep(run)
        try:
            return run.finish(_lib.mdist_map, self._handle, _count(count), _ELEMENT, key, timeout=timeout)
        finally:
            del _kept[key]

    def prepare(self, local_replica: int) -> Preparation:
        """Prepares collectives of a local replica: call = strategy.prepare(0).all_reduce("sum", x), and in its steps
        call.run(replica). The library checks and describes the arrays once."""
        return Preparation(self, local_replica)

    def run_begin(self, *arguments: Any, results: int = 0, timeout: float | None = None) -> Run:
        """Opens a run whose steps are on threads of your own, one for each local replica."""
        run = Run(self, None, arguments, results)
        _call(_lib.mdist_run_begin, self._handle, _run_io(run.arguments, None, _count(results), timeout))
        return run

    def variable(self, name: str, initial: ArrayLike | tuple[DtypeLike, Sequence[int]],
                 synchronization: Synchronization | str = Synchronization.AUTO,
                 aggregation: Aggregation | str = Aggregation.NONE, colocate_with: Variable | None = None) -> Variable:
        """`initial` is an array, which is copied, or (dtype, shape) for zeros."""
        tensor, view = (_described(*initial), None) if isinstance(initial, tuple) else _tensor(initial)
        handle = _new(_lib.mdist_variable_create, self._handle, _name(name), byref(tensor),
                      options=[_variable_options(synchronization, aggregation, colocate_with)])
        del view
        return self._has(Variable._of(handle))

    def _has(self, variable):
        self._variables[next(_keys)] = variable
        variable._copies = self.local_replica_count
        return variable

    def arena(self, dtype: DtypeLike, local_replica: int) -> Any:
        """All variables of a dtype on a replica as one array (a GpuArray on a GPU) to read and write; None if there are
        none.

        It keeps all variables that the strategy has by then."""
        variables = [reference() for reference in self._variables.valuerefs()]
        buffer = Buffer()
        _call(_lib.mdist_variable_arena, self._handle, _dtype(dtype), local_replica, byref(buffer))
        if not buffer.data:
            return None
        return _seen(_known(buffer.data, buffer.dtype, (buffer.elements,)), (self, variables), True)

    def variable_of(self, array: ArrayLike) -> tuple[Variable, int]:
        """(variable, local replica) of the copy that an array lies in; KeyError if it lies in none."""
        tensor, view = _tensor(array, exact=True)
        local_replica = c_uint32()
        try:
            handle = _new(_lib.mdist_variable_at_address, self._handle, tensor.data, options=[byref(local_replica)])
        except Error as error:
            raise (KeyError(str(error)) if error.status == Status.NOT_FOUND else error) from None
        del view
        return self._has(Variable._of(handle)), local_replica.value

    def update_devices(self, function: Callable[..., Any], *values: Any, results: int = 0) -> Any:
        """Calls function(local_replica, *arguments) for each device: for state that is no variable's."""
        update = _Update(None, function, values, results)
        return update.make(_lib.mdist_update_devices, self._handle)

    def per_replica(self, *arrays: Any) -> Value:
        """A Value with copies of the arrays, one for each local replica; of dicts and lists of arrays, each with the
        same leaves, a structure."""
        if not any(map(_is_tree, arrays)):
            tensors, views = _tensors(arrays)
            return Value._of(_new(_lib.mdist_value_per_replica, self._handle, tensors, len(views)))
        parts = [dict(_leaves(tree)) for tree in arrays]
        for part in parts:
            if part.keys() != parts[0].keys():
                raise ValueError(f"leaves {', '.join(part)}, where the first replica has {', '.join(parts[0])}")
        leaves = {path: self.per_replica(*(part[path] for part in parts)) for path in parts[0]}
        paths = (c_char_p * len(leaves))(*(path.encode() for path in leaves))
        return Value._of(_new(_lib.mdist_value_structure, paths, _handles([*leaves.values()]), len(leaves)))

    def values_from_function(self, function: Callable[..., Any]) -> Value:
        """A Value of what function(replica_id, replica_count) returns for each local replica: arrays (copied), or
        dicts and lists of such."""
        made, out = _Made(function), c_void_p()
        made.within(_lib.mdist_values_from_function, self._handle, _VALUE, _CALLS, byref(out))
        return Value._of(out.value)

    def broadcast_to(self, array: ArrayLike) -> Value:
        """A mirrored Value with a copy of the array for every local replica."""
        tensor, view = _tensor(array)
        handle = _new(_lib.mdist_strategy_broadcast, self._handle, byref(tensor))
        del view
        return Value._of(handle)

    def reduce(self, op: ReduceOp | str, value: Any, axes: Sequence[int] = (), timeout: float | None = None) -> Value:
        """Over replicas, and first over axes of each array: a plain Value."""
        numbers, value = (c_int32 * len(axes))(*axes), _value(value)
        return Value._of(_new(_lib.mdist_strategy_reduce_axes, self._handle, _op(op), value._handle, numbers, len(axes),
                              options=[_options(timeout)]))

    def reduce_to(self, op: ReduceOp | str, value: Any, destination: str = '', timeout: float | None = None) -> Value:
        """Over replicas, to all devices (a mirrored Value) or to the one named (a plain Value)."""
        return self.batch_reduce_to(op, [value], [destination], timeout)[0]

    def batch_reduce_to(self, op: ReduceOp | str, values: Sequence[Any], destinations: Sequence[str] | None = None,
                        timeout: float | None = None) -> list[Value]:
        """Many reduce_to in one operation: a list of Values."""
        if destinations is not None and len(destinations) != len(values):
            raise ValueError(f"{len(values)} values and {len(destinations)} destinations; they must be as many")
        names = destinations and (c_char_p * len(values))(*map(_name, destinations))
        out, values = (c_void_p * len(values))(), [*map(_value, values)]
        _call(_lib.mdist_strategy_reduce_to, self._handle, _op(op), _handles(values), names, len(values), out,
              _options(timeout))
        return [Value._of(handle) for handle in out]

    def gather(self, value: Any, axis: int = 0, timeout: float | None = None) -> Value:
        """The replicas' arrays, joined: a plain Value."""
        value = _value(value)
        return Value._of(_new(_lib.mdist_strategy_gather, self._handle, value._handle, axis,
                              options=[_options(timeout)]))

    def fetch(self, value: Any, destination: str = '', function: Callable[..., Any] | None = None) -> Value:
        """A plain Value in host memory, or on the device named, of a plain or mirrored one; or of what function(array)
        makes of it (a copy) where it lies."""
        value, made, out = _value(value), _Made(function), c_void_p()
        made.within(_lib.mdist_strategy_fetch, self._handle, value._handle, _name(destination),
                    cast(0, FetchFn) if function is None else _FETCH, _CALLS, byref(out))
        return Value._of(out.value)

    def all_reduce(self, op: ReduceOp | Operator | str, inputs: Sequence[Arrays], outputs: Sequence[Arrays] | None = None,
                   timeout: float | None = None) -> list[Any]:
        """Between runs: `inputs` has an array, or a list of arrays, for each local replica. In place without outputs.
        Returns what it has written, in one list, replica by replica."""
        count = len(_listed(inputs[0])) if len(inputs) else 0
        given = _Operands(self._flattened(inputs, count), outputs is None, True)
        written = given if outputs is None else _Operands(self._flattened(outputs, count), True, True)
        _call(_lib.mdist_strategy_all_reduce, self._handle, _op_or_operator(op), given.buffers, written.buffers, count,
              _options(timeout))
        return written.results()

    def _flattened(self, rows, count):
        """The arrays of all replicas, `count` of each: as many as the library will read."""
        replicas = self.local_replica_count or len(rows)  # that it was destroyed is for the library to say
        if len(rows) != replicas:
            raise ValueError(f"arrays for {len(rows)} replicas; there are {replicas}")
        rows = [_listed(row) for row in rows]
        for row in rows:
            if len(row) != count:
                raise ValueError(f"{len(row)} arrays for a replica, where the first has {count}")
        return [array for row in rows for array in row]

    def run_steps(self, iterator: DatasetIterator, iterations: int, function: Callable[[Loop, Value], Any],
                  initial: Any = None, timeout: float | None = None) -> Loop:
        """Calls function(loop, element) for the next `iterations` elements of an iterator (mdist.FOREVER: all), and
        returns the loop, which has the outputs. `element` is one Value, a structure if it has more than one array, and
        of use in the call only: strategy.run(step, element). All workers call it together.

        If elements run out before, loop.iterations says how many there were. `initial` gives the outputs before any is
        set: arrays, in dicts and lists; then no other outputs may be set. The first exception ends the loop on all
        workers, and is the __cause__ of the Error."""
        return _run_steps(self, iterator, iterations, function, initial, timeout)

    def distribute_dataset(self, dataset: Dataset, *, policy: ShardPolicy | str = ShardPolicy.SHARD_AUTO,
                           uneven: Uneven | str = Uneven.UNEVEN_DEFAULT, split: bool = True, whole_steps: bool = False,
                           fetch_to_device: bool | None = None, buffer_size: int = 0,
                           weights: Sequence[float] | None = None) -> Dataset:
        """Distributes a dataset of global batches over the replicas of the job. All workers call it together.

        - `policy`, who reads what: "file" shares out the files; "data" keeps a part of every batch; "off" reads
          everything everywhere; "marked" obeys shard(mdist.ONE_PER_WORKER, 0); "auto" takes "file" where only files are
          read, else "data". The configuration's choice if left out.
        - `uneven`, rows that cannot be shared out evenly: "default" (as TensorFlow does), "spread" or "drop".
        - `split=False`: replicas get whole elements in turn, instead of a part of each.
        - `whole_steps`: ends before a step in which some replica would get nothing.
        - `fetch_to_device`: True makes the next `buffer_size` elements of each replica while the program works, False
          does not; the configuration's choice if left out.
        - `weights`, one for each replica of the job: rows are shared out in proportion to them.

        Error, reason `too_few_files`, `too_few_elements`, or status MISMATCH if workers differ. Dataset.explain says
        what was decided, Iterator.row_counts how many rows each replica got.
        """
        options = _input_options(policy, uneven, split=split, whole_steps=whole_steps, fetch_to_device=fetch_to_device,
                                 buffer_size=buffer_size, weights=weights)
        source = _handle(dataset, Dataset)
        made = dataset._derive(_lib.mdist_distribute_dataset, self._handle, source, options=[options])
        made._replicas = self.replica_count
        return made

    def distribute_from_function(self, function: Callable[[InputPipeline], Dataset], *,
                                 mode: ReplicationMode | str = ReplicationMode.REPLICATION_PER_WORKER,
                                 whole_steps: bool = False, place_on_device: bool = False,
                                 fetch_to_device: bool | None = None, buffer_size: int = 0) -> Dataset:
        """Distributes the dataset that function(pipeline) makes, whose elements are batches of one replica. In each
        step every replica of this worker in turn takes one. All workers call it together.

        `mode` "per_replica" makes one dataset for each replica, in a job of one worker; then `place_on_device` runs
        each where its replica runs. The other keywords are those of distribute_dataset.
        """
        options = _input_options(mode=mode, whole_steps=whole_steps, place_on_device=place_on_device,
                                 fetch_to_device=fetch_to_device, buffer_size=buffer_size)
        made, out = _MakeDataset(function), c_void_p()
        made.within(_lib.mdist_distribute_from_function, self._handle, _DATASET, _CALLS, byref(out), options=[options])
        return Dataset._of(out.value, _maps=made.maps, _replicas=self.replica_count)
