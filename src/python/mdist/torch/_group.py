# SPDX-License-Identifier: Apache-2.0
"""The process group of backend "mdist"."""
from __future__ import annotations

import atexit
import ctypes
import sys
import threading
import weakref
from collections import deque
from ctypes import byref, c_uint64
from datetime import timedelta
from typing import Any, Mapping, Sequence

import torch
import torch.distributed as dist
from torch.autograd import profiler

from .._abi import CallOptions, ReduceOp
from .._library import _lib
from .._operands import _collective_description
from ..errors import Error, _new
from ._buffers import Operand, checked, operation, reducible
from ._forming import form
from ._sparse import all_reduce as all_reduce_sparse
from ._work import BackendError, Waiter, Work, raised_as_backend_error, recorded, untraced

# How long a program that ends waits for an operation that it has started and forgotten.
_PATIENCE = timedelta(seconds=10)
_KIND = dist.ReduceOp.RedOpType
_OPS = {_KIND.SUM: ReduceOp.SUM, _KIND.AVG: ReduceOp.MEAN, _KIND.MIN: ReduceOp.MIN, _KIND.MAX: ReduceOp.MAX,
        _KIND.PRODUCT: ReduceOp.PROD, _KIND.BAND: ReduceOp.AND, _KIND.BOR: ReduceOp.OR, _KIND.BXOR: ReduceOp.XOR}


def _op(given: Any, what: str) -> ReduceOp:
    for kind, op in _OPS.items():
        if given == kind:
            return op
    raise ValueError(f"{what}: the library has no operation {given}; there are "
                     f"{', '.join(str(kind).rpartition('.')[2] for kind in _OPS)}")


def _flat(lists: Sequence[Sequence[Any]], what: str) -> list[list[torch.Tensor]]:
    return [[checked(one, what) for one in tensors] for tensors in lists]


@untraced
class ProcessGroup(dist.ProcessGroup):
    """A process group whose processes are the workers of one strategy, with one replica each.

    `strategy` and `replica` are the objects of this package behind it. The process stays inside one step of the
    strategy as long as the group lives. Any thread may call collectives; they are started one at a time, in the order
    of the calls, which must be the same on all processes.
    """

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta,
                 options: Mapping[str, Any] | None = None) -> None:
        super().__init__(rank, size)
        self._rank, self._size = rank, size
        self._group_name = self._group_desc = ""
        self.strategy = form(store, rank, size, timeout, options)
        self._run = self.strategy.run_begin()
        self.replica = self._run.enter(0)
        self.lock = threading.RLock()  # one thread at a time may use a replica
        self._waiter = Waiter()
        self._pending: deque[Work] = deque()  # collectives; they end in the order of their starts
        self._messages: list[Work] = []
        self._sequence = 0
        self._closed = False
        self._failed = False  # an operation, of which the program has heard
        self._timeout: timedelta | None = None  # of operations that have none of their own
        _groups.add(self)

    # ---- what PyTorch asks

    def getBackendName(self) -> str:  # noqa: N802 (PyTorch's name)
        return "mdist"

    def name(self) -> str:
        return "mdist"

    def rank(self) -> int:
        return self._rank

    def size(self) -> int:
        return self._size

    def getRank(self) -> int:  # noqa: N802
        return self._rank

    def getSize(self) -> int:  # noqa: N802
        return self._size

    def _get_backend(self, _: Any) -> ProcessGroup:
        """PyTorch asks the result what it can do, of what only its own backends can."""
        return self

    @property
    def _device_types(self) -> list[torch.device]:
        """None while PyTorch makes the group: it would ask its own backends, of which there are none."""
        return [torch.device("cpu")] if self in dist.distributed_c10d._world.pg_map else []

    supports_coalescing = supports_splitting = False

    # PyTorch keeps names in the C++ backends of a group, and this one has none.

    @property
    def group_name(self) -> str:
        return self._group_name

    @property
    def group_desc(self) -> str:
        return self._group_desc

    def getGroupName(self) -> str:  # noqa: N802
        return self._group_name

    def getGroupDesc(self) -> str:  # noqa: N802
        return self._group_desc

    def _set_group_name(self, name: str) -> None:
        self._group_name = name

    def _set_group_desc(self, description: str) -> None:
        self._group_desc = description

    def _get_sequence_number_for_group(self) -> int:
        return self._sequence

    def _set_sequence_number_for_group(self) -> None:
        pass  # the library counts by itself

    def _set_default_timeout(self, timeout: timedelta) -> None:
        """Of operations from now on that have no timeout of their own."""
        self._timeout = timeout

    set_timeout = _set_default_timeout

    # ---- starting operations

    def _start(self, what: str, function: str, head: Sequence[Any], operands: Sequence[Operand | None], *tail: Any,
               timeout: Any = None, results: Sequence[torch.Tensor] = (),
               message: bool = False) -> Work:
        """Starts the collective, or the message, of that name."""
        if self._closed:
            raise BackendError(f"{what}: the process group was destroyed")
        buffers: list[Any] = [operand and operand.buffers for operand in operands]
        count = [len(next(one for one in buffers if one is not None))] if buffers and not message else []
        arguments = [*head, *_interleaved(buffers, tail), *count] if message else \
            [byref(_collective_description(function, head, _interleaved(buffers, tail), count, bool(tail)))]
        start = getattr(_lib, f"mdist_{function}_start") if message else _lib.mdist_collective_start
        with self.lock:
            self._forget()
            record = recorded(what) if profiler._is_profiler_enabled else None
            try:
                handle = _new(start, self.replica._handle, *arguments, options=[_limit(self._seconds(timeout))])
            except Error as error:
                self._failed = True
                raise raised_as_backend_error(error) from None
            finally:
                if record is not None:
                    record.__exit__(None, None, None)
            self._sequence += 1
            kept = [operand for operand in operands if operand is not None]
            work = Work(handle, results, kept, self._waiter)
            (self._messages if message else self._pending).append(work)
        return work

    def _seconds(self, timeout: Any) -> float | None:
        """The timeout of one call; None is that of the strategy. PyTorch says "that of the group" by a negative time."""
        if not isinstance(timeout, timedelta) or timeout.total_seconds() <= 0:
            timeout = self._timeout
        return None if timeout is None or timeout.total_seconds() <= 0 else timeout.total_seconds()

    def _forget(self) -> None:
        """Gives back the works of operations that are over. Others are kept: PyTorch lets a program drop a work."""
        while self._pending and self._pending[0].over():
            self._failed |= not self._pending.popleft().is_success()
        if self._messages:
            self._failed |= any(work.over() and not work.is_success() for work in self._messages)
            self._messages = [work for work in self._messages if not work.over()]

    # ---- collectives. Each has PyTorch's name and arguments; see the documentation of torch.distributed.

    def allreduce(self, tensors: Any, opts: Any = None) -> Work:
        tensors = [tensors] if isinstance(tensors, torch.Tensor) else tensors
        return self._all_reduce("all_reduce", tensors, opts)

    def allreduce_coalesced(self, tensors: Any, opts: Any = None) -> Work:
        return self._all_reduce("all_reduce_coalesced", tensors, opts)

    def _all_reduce(self, what: str, tensors: Sequence[Any], opts: Any) -> Work:
        kind = _op(opts.reduceOp if opts is not None else _KIND.SUM, what)
        if any(isinstance(one, torch.Tensor) and one.layout == torch.sparse_coo for one in tensors):
            return all_reduce_sparse(self, what, tensors, kind, opts and opts.timeout)
        op, divisor = operation(kind, tensors, self._size)
        operand = Operand(divisor)
        for tensor in tensors:
            operand.elementwise(reducible(checked(tensor, what), op, what))
        return self._start(what, "all_reduce", [op], [operand, operand], timeout=opts and opts.timeout, results=tensors)

    def broadcast(self, tensors: Any, opts: Any) -> Work:
        operand = Operand()
        tensors = [tensors] if isinstance(tensors, torch.Tensor) else tensors
        for tensor in tensors:
            operand.any_order(checked(tensor, "broadcast"))
        return self._start("broadcast", "broadcast", [opts.rootRank], [operand], timeout=opts.timeout, results=tensors)

    def allgather(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        given, taken = Operand(), Operand()
        for tensor in inputs:
            given.whole(checked(tensor, "all_gather"), read=True, write=False)
        for tensors in _flat(outputs, "all_gather"):
            taken.joined(tensors, read=False, write=True)
        return self._start("all_gather", "all_gather", [], [given, taken], timeout=opts and opts.timeout,
                           results=[one for tensors in outputs for one in tensors])

    def _allgather_base(self, output: Any, input: Any, opts: Any = None) -> Work:
        return self.allgather_into_tensor_coalesced([output], [input], opts)

    def allgather_into_tensor_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        given, taken = Operand(), Operand()
        for tensor in inputs:
            given.whole(checked(tensor, "all_gather_into_tensor"), read=True, write=False)
        for tensor in outputs:
            taken.whole(checked(tensor, "all_gather_into_tensor"), read=False, write=True)
        return self._start("all_gather_into_tensor", "all_gather", [], [given, taken], timeout=opts and opts.timeout,
                           results=outputs)

    def allgather_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """`outputs` has a list of tensors for each process; one call gathers them all."""
        return self.allgather([list(one) for one in zip(*outputs)], inputs, opts)

    def reduce_scatter(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        op, divisor = operation(_op(opts.reduceOp if opts is not None else _KIND.SUM, "reduce_scatter"), outputs,
                                self._size)
        given, taken = Operand(), Operand(divisor)
        for tensors in _flat(inputs, "reduce_scatter"):
            given.joined([reducible(one, op, "reduce_scatter") for one in tensors], read=True, write=False)
        for tensor in outputs:
            taken.whole(reducible(checked(tensor, "reduce_scatter"), op, "reduce_scatter"), read=False, write=True)
        return self._start("reduce_scatter", "reduce_scatter", [op], [given, taken], timeout=opts and opts.timeout,
                           results=outputs)

    def _reduce_scatter_base(self, output: Any, input: Any, opts: Any = None) -> Work:
        return self.reduce_scatter_tensor_coalesced([output], [input], opts)

    def reduce_scatter_tensor_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        return self.reduce_scatter(outputs, [[one] for one in inputs], opts)

    def alltoall_base(self, output: Any, input: Any, output_split_sizes: Any, input_split_sizes: Any,
                      opts: Any = None) -> Work:
        given, taken = Operand(), Operand()
        given.whole(checked(input, "all_to_all_single"), read=True, write=False)
        taken.whole(checked(output, "all_to_all_single"), read=False, write=True)
        if not output_split_sizes and not input_split_sizes:
            return self._start("all_to_all_single", "all_to_all", [], [given, taken], timeout=opts and opts.timeout,
                               results=[output])
        parts = [self._parts(operand.tensors[0], tensor, sizes)
                 for operand, tensor, sizes in ((given, input, input_split_sizes), (taken, output, output_split_sizes))]
        return self._start("all_to_all_single", "all_to_all_parts", [], [given, taken], *parts,
                           timeout=opts and opts.timeout, results=[output])

    def _parts(self, moved: torch.Tensor, tensor: torch.Tensor, sizes: Sequence[int]) -> Any:
        """Lengths along dimension 0, as elements of the buffer."""
        if not sizes:
            if tensor.shape[0] % self._size:
                raise ValueError(f"all_to_all_single: {tensor.shape[0]} rows cannot be split evenly among {self._size} "
                                 "processes; pass the split sizes")
            sizes = [tensor.shape[0] // self._size] * self._size
        if sum(sizes) != tensor.shape[0] or len(sizes) != self._size:
            raise ValueError(f"all_to_all_single: split sizes {list(sizes)} for {tensor.shape[0]} rows and {self._size} "
                             "processes; pass one for each process, with that sum")
        row = moved.numel() // tensor.shape[0] if tensor.shape[0] else 0
        return (c_uint64 * len(sizes))(*(size * row for size in sizes))

    def alltoall(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        given, taken = Operand(), Operand()
        (sent,), (received,) = _flat([inputs], "all_to_all"), _flat([outputs], "all_to_all")
        given.joined(sent, read=True, write=False)
        taken.joined(received, read=False, write=True)
        parts = [_lengths(sent, given.tensors[0]), _lengths(received, taken.tensors[0])]
        return self._start("all_to_all", "all_to_all_parts", [], [given, taken], *parts, timeout=opts and opts.timeout,
                           results=outputs)

    def gather(self, outputs: Any, inputs: Any, opts: Any) -> Work:
        given, taken = Operand(), None
        for tensor in inputs:
            given.whole(checked(tensor, "gather"), read=True, write=False)
        if opts.rootRank == self._rank:
            taken = Operand()
            for tensors in _flat(outputs, "gather"):
                taken.joined(tensors, read=False, write=True)
        return self._start("gather", "gather_to_root", [opts.rootRank], [given, taken], timeout=opts.timeout,
                           results=[one for tensors in outputs for one in tensors])

    def gather_single(self, output: Any, input: Any, opts: Any) -> Work:
        return self.gather([[output]] if opts.rootRank == self._rank else [], [input], opts)

    def scatter(self, outputs: Any, inputs: Any, opts: Any) -> Work:
        given, taken = None, Operand()
        if opts.rootRank == self._rank:
            given = Operand()
            for tensors in _flat(inputs, "scatter"):
                given.joined(tensors, read=True, write=False)
        for tensor in outputs:
            taken.whole(checked(tensor, "scatter"), read=False, write=True)
        return self._start("scatter", "scatter", [opts.rootRank], [given, taken], timeout=opts.timeout, results=outputs)

    def reduce(self, tensors: Any, opts: Any) -> Work:
        tensors = [tensors] if isinstance(tensors, torch.Tensor) else tensors
        op, divisor = operation(_op(opts.reduceOp, "reduce"), tensors, self._size)
        operand = Operand(divisor if opts.rootRank == self._rank else 1)
        for tensor in tensors:
            operand.elementwise(reducible(checked(tensor, "reduce"), op, "reduce"))
        taken = operand if opts.rootRank == self._rank else None
        return self._start("reduce", "reduce_to_root", [op, opts.rootRank], [operand, taken], timeout=opts.timeout,
                           results=tensors)

    def barrier(self, opts: Any = None) -> Work:
        return self._start("barrier", "barrier", [], [], timeout=opts and opts.timeout, results=[])

    def monitored_barrier(self, timeout: Any = None, wait_all_ranks: bool = False) -> None:
        """Any barrier names the processes that did not come."""
        self._start("monitored_barrier", "barrier", [], [], timeout=timeout).wait()

    # PyTorch 2.15 has other names for some of these.
    all_gather_single = _allgather_base
    all_gather_single_coalesced = allgather_into_tensor_coalesced
    reduce_scatter_single = _reduce_scatter_base
    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced
    all_to_all_single = alltoall_base
    gather_into_tensor = gather_single

    # ---- messages

    def send(self, tensors: Any, dst: int, tag: int = 0) -> Work:
        return self._message("send", "send", tensors, dst, tag)

    def recv(self, tensors: Any, src: int, tag: int = 0) -> Work:
        return self._message("recv", "receive", tensors, src, tag)

    def _message(self, what: str, function: str, tensors: Sequence[Any], peer: int, tag: int) -> Work:
        (tensor,) = tensors
        operand = Operand()
        operand.whole(checked(tensor, what), read=function == "send", write=function != "send")
        return self._start(what, function, [peer, tag], [operand], results=list(tensors), message=True)

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Work:
        raise NotImplementedError("recv: a message of the library names its sender; pass src")

    # ---- the end

    def shutdown(self) -> None:
        """Waits for the operations under way, and leaves. For dist.destroy_process_group(). What has failed before, the
        program has been told."""
        with self.lock:
            if self._closed:
                return
            for work in [*self._pending, *self._messages]:
                try:
                    work.wait()
                except Error:
                    self._failed = True
            try:
                self._leave(1 if self._failed else 0)
            except Error as error:
                raise raised_as_backend_error(error) from None

    def abort(self) -> None:
        """Leaves at once. Operations under way fail on all processes."""
        with self.lock:
            if not self._closed:
                self.strategy.abort()
                self._leave(1)

    def _leave(self, code: int) -> None:
        self._closed = True
        try:
            for last in (lambda: self.replica.exit(code), self._run.end):
                try:
                    last()
                except Error:
                    if code == 0:
                        raise
        finally:
            self.strategy.destroy()  # what is still under way fails
            self._pending.clear()
            self._messages.clear()
            self._waiter.stop()

    def _end_with_program(self) -> None:
        """The program has not destroyed the group. If an exception ends it, the others hear which."""
        failure = getattr(sys, "last_value", None)
        code = self._run.failures.add(failure) if isinstance(failure, Exception) else 0
        try:
            if code == 0:
                for work in [*self._pending, *self._messages]:
                    work.wait(_PATIENCE)
            if not self._closed:
                self._leave(code)
        except Error:
            pass  # nobody is left to tell


_groups: weakref.WeakSet[ProcessGroup] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    for group in list(_groups):
        group._end_with_program()


def _interleaved(buffers: Sequence[Any], parts: Sequence[Any]) -> list[Any]:
    """mdist_all_to_all_parts takes the parts of each side after its buffers."""
    return [one for pair in zip(buffers, parts) for one in pair] if parts else list(buffers)


def _lengths(tensors: Sequence[torch.Tensor], moved: torch.Tensor) -> Any:
    total = sum(tensor.numel() for tensor in tensors)
    each = moved.numel() // total if total else 0
    return (c_uint64 * len(tensors))(*(tensor.numel() * each for tensor in tensors))


def _limit(seconds: float | None) -> Any:
    return seconds and byref(CallOptions(ctypes.sizeof(CallOptions), 0, round(seconds * 1e9), 0, 0, 0, None))


def create(options: Any, chosen: Any = None) -> ProcessGroup:
    """Makes a process group, for PyTorch (register_backend with extended_api)."""
    timeout = options.timeout
    return ProcessGroup(options.store, options.group_rank, options.group_size, timeout, chosen)
