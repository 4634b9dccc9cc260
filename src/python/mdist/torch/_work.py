# SPDX-License-Identifier: Apache-2.0
"""Works of a process group: a collective or message under way, which PyTorch waits for or gets a future of."""
from __future__ import annotations

import inspect
import queue
import threading
import weakref
from ctypes import byref, c_int32
from datetime import timedelta
from typing import Any, Sequence

import torch
import torch._dynamo
import torch.distributed as dist
from torch.autograd import profiler

from .._abi import FOREVER, Status
from .._library import _lib
from ..errors import Error, _call
from ._buffers import Operand


class BackendError(Error, dist.DistBackendError):
    """An mdist.Error that is also the RuntimeError which programs for torch.distributed expect."""


def raised_as_backend_error(error: Error) -> BackendError:
    """PyTorch's programs look for the word "timeout"."""
    text = error.args[0]
    if error.status == Status.TIMEOUT and "timeout" not in text.lower():
        text += ". This is the timeout of the call, or else of the process group"
    return BackendError(text, error.status, error.reason, error.operation, error.replica, error.native,
                        error.rank)


def untraced(kind: Any) -> Any:
    """Has torch.compile pass over the methods of a class: what they tell the library is no computation."""
    for name, function in [*vars(kind).items()]:
        if inspect.isfunction(function) and not name.startswith("__"):
            setattr(kind, name, torch._dynamo.disable(function))
    return kind


def recorded(what: str) -> Any:
    """A record for PyTorch's profiler, until its __exit__: "mdist:all_reduce" while an operation is started, "mdist:wait"
    while one waits. For callers that have seen that a profiler runs: to record for nobody takes microseconds. (A record
    from start to end would end on another thread. PyTorch crashes if the profiler has stopped by then.)"""
    return profiler.record_function(f"mdist:{what}").__enter__()


def _nanoseconds(timeout: Any) -> int:
    """PyTorch says "no limit" by None, by zero or by a negative time."""
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout or 0)
    return min(FOREVER, round(seconds * 1e9)) if seconds > 0 else FOREVER


@untraced
class Work(dist.Work):
    """One operation. Its tensors are kept until it is over.

    Any thread may wait. The results are in the program's tensors when wait() has returned, or when the future is done.
    """

    def __init__(self, handle: Any, tensors: Sequence[torch.Tensor], operands: Sequence[Operand],
                 waiter: Waiter) -> None:
        super().__init__()
        self._handle, self._tensors, self._operands, self._waiter = handle, list(tensors), operands, waiter
        # The process group keeps the work until the operation is over, so this never gives one up.
        weakref.finalize(self, _lib.mdist_work_destroy, handle)
        self._lock = threading.Lock()
        self._over, self._error = False, None  # type: tuple[bool, Error | None]
        self._future: Any = None
        self._promise: Any = None

    # ---- what PyTorch calls

    def wait(self, timeout: Any = None) -> bool:
        """Returns when the operation is over. Raises BackendError if it failed, or is not over in time."""
        record = recorded("wait") if profiler._is_profiler_enabled else None
        try:
            done = self._advance(_lib.mdist_work_wait, _nanoseconds(timeout))
        finally:
            if record is not None:
                record.__exit__(None, None, None)
        if not done:
            raise BackendError(f"wait: the operation is not done after the timeout of {timeout}. Wait longer, or look for a process "
                               "that makes other calls", Status.TIMEOUT)
        return True

    def is_completed(self) -> bool:
        try:
            return self._advance(_lib.mdist_work_test)
        except Error:
            return True

    def is_success(self) -> bool:
        return self.is_completed() and self._error is None

    def exception(self) -> Error | None:
        self.is_completed()
        return self._error

    def synchronize(self) -> None:
        self.wait()

    def result(self) -> list[torch.Tensor]:
        self.wait()
        return self._tensors

    def get_future(self) -> Any:
        """A future of the tensors. A thread of the process group completes it, in the order of the operations."""
        with self._lock:
            if self._future is not None:
                return self._future
            self._promise = torch.futures.Future()
            # An exception passes through then(). Future.set_exception would hide it from PyTorch's C++ code.
            self._future = self._promise.then(self._outcome)
        self._waiter.add(self)
        return self._future

    # ---- inside

    def _outcome(self, _: Any) -> list[torch.Tensor]:
        if self._error is not None:
            raise self._error
        return self._tensors

    def _advance(self, function: Any, *arguments: Any) -> bool:
        """Whether the operation is over. Raises what it failed with."""
        if not self._over:
            done = c_int32(0)
            failure: Error | None = None
            try:
                _call(function, self._handle, *arguments, byref(done))
            except Error as error:
                failure = raised_as_backend_error(error)
            if failure is None and not done.value:
                return False
            self._end(failure)
        if self._error is not None:
            raise self._error
        return True

    def _end(self, failure: Error | None) -> None:
        with self._lock:
            if self._over:
                return
            if failure is None:
                for operand in self._operands:
                    operand.finish()
            self._error, self._over, self._operands = failure, True, ()

    def complete(self) -> None:
        """Waits, and completes the future. For the waiter."""
        try:
            self._advance(_lib.mdist_work_wait, FOREVER)
        except Error:
            pass  # _outcome raises it
        self._promise.set_result(None)

    def over(self) -> bool:
        """Whether it is over, without saying how it ended."""
        return self._over or self.is_completed()


class Waiter:
    """A thread that completes futures. It starts with the first one.

    A function that was chained to a future runs on this thread, and may call collectives. It could not on a thread of
    the library. A future that it asks for is complete at once, since no other thread would complete it.
    """

    def __init__(self) -> None:
        self._works: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def add(self, work: Work) -> None:
        if threading.current_thread() is self._thread:
            work.complete()
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="mdist futures", daemon=True)
            self._thread.start()
        self._works.put(work)

    def _run(self) -> None:
        while (work := self._works.get()) is not None:
            work.complete()
            del work

    def stop(self) -> None:
        if self._thread is not None:
            self._works.put(None)
            if threading.current_thread() is not self._thread:
                self._thread.join()
