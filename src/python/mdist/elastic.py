# SPDX-License-Identifier: Apache-2.0
"""Elastic jobs: they lose and gain workers, and go on with the same results."""
from __future__ import annotations

import ctypes
import struct
from ctypes import byref, c_char, c_int32, c_uint32, sizeof
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from ._abi import BlobRestoreFn, BlobSaveFn, Change, Verdict
from ._arguments import _count, _handle, _name, _nanoseconds, _options
from ._held import _Destroyable, _FREE, _keep, _kept
from ._library import _lib
from .errors import Error, _Failures, _call, _callback, _kind, _new, _or_none

if TYPE_CHECKING:
    from .strategy import Strategy


class Regrouped(NamedTuple):
    """What has changed with a regroup."""

    generation: int  # of the job, from 1
    step: int  # of the commit that was restored
    rank: int  # this worker's rank
    worker_count: int
    first_replica_id: int  # of this worker
    local_replica_count: int


class Elastic:
    """The functions of a Strategy for elastic jobs: those with key `elastic.replicas`. `mdist launch -n MIN:MAX` starts
    them."""

    _handle: Any
    _variables: Any
    _blobs: list[Blob]
    _blob_failures: _Failures

    def commit(self, step: int, timeout: float | None = None) -> None:
        """Keeps a copy of the state in memory, for regroup() to go back to: all variables, positions of iterators over
        distributed datasets, and Blobs. All workers call it together, with the same `step`: the number of steps done so
        far, or what else tells where to go on. The library makes the first commit itself, before the first run, with
        step 0."""
        self._with_blobs(_lib.mdist_commit, self._handle, _count(step), _options(timeout))

    def regroup(self, timeout: float | None = None) -> Regrouped:
        """Forms the next generation of the job, of the workers that are left and those that have come, and restores the
        newest commit of which all is left. Call it when a call has failed because a worker was lost, when
        check_membership() says so, and on a newcomer (is_joining) before its first step.

        Afterwards the strategy, variables, datasets, iterators, checkpoints, gradients and blobs go on. Groups, calls,
        works and loops have ended. Take arrays of variables and gradients anew: what lies in the old ones has no
        meaning. The rank and the local replicas are others.

        Error, reason `not_a_loss`, if what failed was no loss of a worker. After any other Error this worker is out of
        the job. `timeout` limits each wait for the next generation."""
        change = Change(sizeof(Change))
        self._with_blobs(_lib.mdist_regroup, self._handle, byref(change), _options(timeout))
        for variable in [reference() for reference in self._variables.valuerefs()]:
            if variable is not None:
                variable._copies = change.local_replica_count
        return Regrouped(*(getattr(change, field) for field in Regrouped._fields))

    def leave(self, grace: float = 0) -> None:
        """This worker must leave; `grace` is the time in seconds from now to the end of the machine.

        signal.signal(signal.SIGTERM, lambda *_: strategy.leave()), and after every step strategy.check_membership().
        """
        _lib.mdist_membership_leave(self._handle, _nanoseconds(grace))

    def check_membership(self, timeout: float | None = None) -> tuple[Verdict, int]:
        """(Verdict, rank of the worker that has said that it leaves, or -1): the same on all workers, which all ask.
        REGROUP, only in an elastic job: commit() and regroup()."""
        verdict, rank = c_int32(), c_uint32()
        _call(_lib.mdist_membership_check, self._handle, byref(verdict), byref(rank), _options(timeout))
        return Verdict(verdict.value), _or_none(rank.value)

    @property
    def is_joining(self) -> bool:
        """Whether this worker is a newcomer to a job that is at work, and has not called regroup() yet. It creates what
        the others have created, in the same order, and then calls regroup()."""
        return bool(_lib.mdist_strategy_is_joining(self._handle))

    def _with_blobs(self, function: Any, *arguments: Any) -> None:
        """Makes a call that calls the functions of all blobs, for each local replica."""
        own_rank = _lib.mdist_strategy_rank(self._handle)
        try:
            _call(function, *arguments)
        except Error as error:
            if error.rank not in (-1, own_rank):
                raise  # the number that a function returned there means nothing here
            raise error from self._blob_failures.cause(error)
        finally:
            self._blob_failures.clear()


class Blob(_Destroyable):
    """State that the program has for each replica, such as a random generator, so that commits keep it.

        generators = {}  # by replica id

        def save(replica_id):
            return pickle.dumps(generators[replica_id])

        def restore(replica_id, data):
            generators[replica_id] = pickle.loads(data)

        mdist.Blob(strategy, "random", 1024, save, restore)

    - save(replica_id) returns bytes, or an array, of at most `size` bytes.
    - restore(replica_id, data) gets the same bytes, which it may keep.
    - commit() calls `save` and regroup() calls `restore`, once for each local replica. Replicas may come to this worker
      from others. An exception fails the call, and is the __cause__ of its Error.
    - All workers make the same blobs. `name` is unique within the strategy, which keeps the blob until destroy().

    In a job of fixed size nothing calls the functions.
    """

    _destroy = _lib.mdist_blob_destroy

    def __init__(self, strategy: Strategy, name: str, size: int, save: Callable[[int], Any],
                 restore: Callable[[int, bytes], Any]) -> None:
        from .strategy import Strategy as Kind  # which imports this module

        for function, form in ((save, "save(replica_id)"), (restore, "restore(replica_id, data)")):
            if not callable(function):
                raise TypeError(f"{_kind(function)} {function!r:.60} is no function {form}")
        handle = _handle(strategy, Kind)
        encoded, size = _name(name), _count(size)
        self.name, self._functions = name, _Functions(name, save, restore, strategy._blob_failures)
        # The library calls _FREE also if this fails.
        super().__init__(_new(_lib.mdist_blob_create, handle, encoded, _LENGTH.size + size, _SAVE, _RESTORE,
                              _keep(self._functions), _FREE))
        self._siblings = strategy._blobs
        self._siblings.append(self)

    def destroy(self) -> None:
        """Gives the handle back now: later commits do not keep the blob. All workers do so between the same commits."""
        super().destroy()
        if self in self._siblings:
            self._siblings.remove(self)


_LENGTH = struct.Struct("<Q")  # stands before what `save` returned


class _Functions:
    def __init__(self, name, save, restore, failures):
        self.name, self._save, self._restore, self.failures = name, save, restore, failures

    def save(self, replica_id, to, size):
        given = self._save(replica_id)
        try:
            data = memoryview(given).cast("B")
        except TypeError:
            raise TypeError(f"the save function of blob {self.name!r} returned a {_kind(given)}; it must return bytes, "
                            "or an array that is C-contiguous") from None
        end = _LENGTH.size + len(data)
        if end > size:
            raise ValueError(f"the save function of blob {self.name!r} returned {len(data)} bytes; its size is "
                             f"{size - _LENGTH.size}")
        room = memoryview((c_char * size).from_address(to)).cast("B")
        _LENGTH.pack_into(room, 0, len(data))
        room[_LENGTH.size:end] = data
        ctypes.memset(to + end, 0, size - end)

    def restore(self, replica_id, data, size):
        length = min(_LENGTH.unpack(ctypes.string_at(data, _LENGTH.size))[0], size - _LENGTH.size)
        self._restore(replica_id, ctypes.string_at(data + _LENGTH.size, length))


@_callback(BlobSaveFn)
def _SAVE(replica_id, to, size, key):
    functions = _kept[key]
    return functions.failures.guard(functions.save, replica_id, to, size)


@_callback(BlobRestoreFn)
def _RESTORE(replica_id, data, size, key):
    functions = _kept[key]
    return functions.failures.guard(functions.restore, replica_id, data, size)
