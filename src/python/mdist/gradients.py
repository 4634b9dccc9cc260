# SPDX-License-Identifier: Apache-2.0
"""Gradients: reduced in buckets while the step still computes; clipped, checked and accumulated."""
from __future__ import annotations

import ctypes
from ctypes import byref, c_double, c_int32
from typing import TYPE_CHECKING, Any, NamedTuple, Sequence

from ._abi import GradientsFlags, GradientsOptions, ReduceOp, Tensor
from ._arguments import _count, _handle, _op
from ._held import _Held
from ._library import _lib
from ._tensors import _described, _tensor
from ._views import _array, _flat, _need_numpy, _place, _seen
from .errors import _call, _kind, _new
from .replica import Replica
from .strategy import Strategy
from .variables import Variable

if TYPE_CHECKING:
    from .typing import ArrayLike, DtypeLike


class Reduced(NamedTuple):
    """What a round came to, the same on all replicas: the norm before clipping; whether all gradients are finite."""

    norm: float
    finite: bool


class Gradients(_Held):
    """The gradients of a model, in memory of the library: one array for each gradient and local replica.

    `like` lists the gradients: variables, arrays (of which only dtype and shape count), or (dtype, shape). Number them
    in the order of the forward pass. Then the all-reduces overlap best with the backward pass.

        gradients = mdist.Gradients(strategy, [weights, bias], clip_norm=1.0)

        def step(replica, x):
            for index in (1, 0):  # as the backward pass completes them
                gradients.numpy(replica.local_index, index)[...] = compute(index, x)
                gradients.ready(replica, index)
            norm, finite = gradients.wait(replica)  # now the arrays hold the reduced gradients

    - `op`: "sum" (use it with Replica.average_loss) or "mean", over replicas and rounds.
    - `bucket_bytes`: a bucket takes gradients until it has this many bytes. 0: 4 MiB.
    - `clip_norm`: clips by global norm. 0 disables clipping.
    - `zero_missing`: gradients that are not ready by the wait count as zeros, not as an error.
    - `zero_nonfinite`: if the norm is not finite, all gradients become zeros.
    - `norm=False`: computes no norm. Each replica reads its share of the memory once less.

    All workers must create them alike. Error, status MISMATCH, if replicas differ.
    """

    _destroy = _lib.mdist_gradients_destroy
    _count: int
    _lent: dict[Any, list[Any]] | None  # what is kept, by local replica, or by that and gradient

    def __init__(self, strategy: Strategy, like: Sequence[Variable | ArrayLike | tuple[DtypeLike, Sequence[int]]], *,
                 op: ReduceOp | str = ReduceOp.SUM, bucket_bytes: int = 0, clip_norm: float = 0,
                 zero_missing: bool = False, zero_nonfinite: bool = False, norm: bool = True) -> None:
        if isinstance(like, (Variable, str)) or not isinstance(like, Sequence):
            raise TypeError(f"gradients are given as a list of variables, arrays or (dtype, shape), not as "
                            f"{_kind(like)} {like!r:.60}")
        described = (Tensor * len(like))(*(_like(one) for one in like))
        options = _gradients_options(op, bucket_bytes, clip_norm, zero_missing, zero_nonfinite, norm)
        super().__init__(_new(_lib.mdist_gradients_create, _handle(strategy, Strategy), described, len(like),
                              options=[options]))
        self._count, self._lent = len(like), None

    @classmethod
    def lent(cls, strategy: Strategy, arrays: Sequence[Sequence[ArrayLike]], *, op: ReduceOp | str = ReduceOp.SUM,
             bucket_bytes: int = 0, clip_norm: float = 0, zero_missing: bool = False, zero_nonfinite: bool = False,
             norm: bool = True) -> Gradients:
        """Gradients that lie in the program's memory: `arrays` has a list of arrays for each local replica. They are
        reduced where they lie, and kept as long as the library may use them. If a framework moves its arrays, lend them
        again, or pass them to ready()."""
        if len(arrays) != strategy.local_replica_count or len(set(map(len, arrays))) != 1:
            raise ValueError(f"lists of {', '.join(str(len(one)) for one in arrays)} arrays for "
                             f"{strategy.local_replica_count} local replicas; pass one list for each, of equal lengths")
        pairs = [_tensor(array, True) for one in arrays for array in one]
        described = (Tensor * len(pairs))(*(tensor for tensor, _ in pairs))
        options = _gradients_options(op, bucket_bytes, clip_norm, zero_missing, zero_nonfinite, norm)
        count = len(arrays[0])
        self = cls._of(_new(_lib.mdist_gradients_create_lent, _handle(strategy, Strategy), described, count,
                            options=[options]))
        self._count = count
        self._lent = {i: [view for _, view in pairs[i * count:(i + 1) * count]] for i in range(len(arrays))}
        return self

    def lend(self, local_replica: int, arrays: Sequence[ArrayLike]) -> None:
        """Says where the gradients of a local replica lie from its next round on. Error, reason `round_has_begun`,
        within a round."""
        pairs = [_tensor(array, True) for array in arrays]
        described = (Tensor * len(pairs))(*(tensor for tensor, _ in pairs))
        _call(_lib.mdist_gradients_lend, self._handle, _count(local_replica), described, len(pairs))
        if self._lent is not None:
            self._lent[local_replica] = [view for _, view in pairs]

    def __len__(self) -> int:
        return self._count

    def _describe(self, local_replica, index):
        tensor = Tensor()
        _call(_lib.mdist_gradients_tensor, self._handle, _count(local_replica), _count(index), byref(tensor))
        return tensor

    def numpy(self, local_replica: int, index: int) -> Any:
        """The memory of gradient `index` of a local replica, to read and write. It moves only with Strategy.regroup: take
        it anew then. Write it until it is ready, and again after the wait."""
        _need_numpy()
        return _array(self._describe(local_replica, index), self, True)

    def memory(self, local_replica: int, index: int) -> memoryview:
        """The same as a flat memoryview."""
        return _flat(self._describe(local_replica, index), self, True)

    def tensor(self, local_replica: int, index: int) -> Any:
        """numpy(local_replica, index), or if that lies on a GPU a GpuArray."""
        return _seen(self._describe(local_replica, index), self, True)

    def device(self, local_replica: int, index: int) -> str:
        """Where a gradient lies: "cpu:0", "gpu:1"."""
        return _place(self._describe(local_replica, index))

    def accumulate(self, replica: Replica) -> None:
        """Marks the round that begins now: its gradients are added to the next round instead of being reduced. Call it
        before the first gradient of the round is ready."""
        _call(_lib.mdist_gradients_accumulate, _handle(replica, Replica), self._handle)

    def ready(self, replica: Replica, index: int, array: ArrayLike | None = None) -> None:
        """Says that gradient `index` of this replica is complete. From now until the wait it belongs to the library.
        Error, reason `ready_twice`, if the round has it already.

        `array` says where a lent gradient lies in this round, for frameworks that may have moved it."""
        if array is None:
            _call(_lib.mdist_gradients_ready, _handle(replica, Replica), self._handle, _count(index))
            return
        tensor, view = _tensor(array, True)
        _call(_lib.mdist_gradients_ready_at, _handle(replica, Replica), self._handle, _count(index), tensor.data)
        if self._lent is not None:
            self._lent[replica.local_index, index] = [view]

    def wait(self, replica: Replica) -> Reduced:
        """Ends the round: on return all gradients are reduced and clipped, with the same bits on every replica. Error,
        reason `gradients_missing`, names one that is not ready. A round that accumulates returns at once, with
        norm 0."""
        norm, finite = c_double(), c_int32()
        _call(_lib.mdist_gradients_wait, _handle(replica, Replica), self._handle, byref(norm), byref(finite))
        return Reduced(norm.value, bool(finite.value))

    def test(self, replica: Replica) -> Reduced | None:
        """Does what wait() does, without waiting for other replicas: None while the round has not ended. Call it until
        it has, and meanwhile nothing else that communicates."""
        done, norm, finite = c_int32(), c_double(), c_int32()
        _call(_lib.mdist_gradients_test, _handle(replica, Replica), self._handle, byref(done), byref(norm),
              byref(finite))
        return Reduced(norm.value, bool(finite.value)) if done.value else None


def _gradients_options(op, bucket_bytes, clip_norm, zero_missing, zero_nonfinite, norm):
    flags = ((GradientsFlags.GRADIENTS_ZERO_MISSING if zero_missing else 0)
             | (GradientsFlags.GRADIENTS_ZERO_NONFINITE if zero_nonfinite else 0)
             | (0 if norm else GradientsFlags.GRADIENTS_NO_NORM))
    return byref(GradientsOptions(ctypes.sizeof(GradientsOptions), flags, _op(op), 0, _count(bucket_bytes), clip_norm))


def _like(one: Any) -> Tensor:
    """Describes a gradient like it. A variable's own memory gives the gradient its name in messages."""
    if isinstance(one, Variable):
        return one._describe(0)
    if isinstance(one, tuple) and len(one) == 2 and isinstance(one[1], (tuple, list)):
        return _described(*one)
    return _tensor(one)[0]
