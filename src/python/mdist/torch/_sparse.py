# SPDX-License-Identifier: Apache-2.0
"""Sparse tensors of PyTorch (COO), which are reduced as rows of the library."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import torch
import torch.distributed as dist

from .._abi import MAX_RANK, ReduceOp
from ..errors import Error
from ._buffers import Operand, reducible
from ._work import raised_as_backend_error, untraced

if TYPE_CHECKING:
    from ._group import ProcessGroup

_OPS = (ReduceOp.SUM, ReduceOp.MEAN)


@untraced
class Done(dist.Work):
    """An operation that was over before the call returned."""

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self._tensors = list(tensors)

    def wait(self, timeout: Any = None) -> bool:
        return True

    def is_completed(self) -> bool:
        return True

    def is_success(self) -> bool:
        return True

    def exception(self) -> None:
        return None

    def synchronize(self) -> None:
        pass

    def result(self) -> list[torch.Tensor]:
        return self._tensors

    def get_future(self) -> Any:
        future: Any = torch.futures.Future()
        future.set_result(self._tensors)
        return future


def all_reduce(group: ProcessGroup, what: str, tensors: Sequence[torch.Tensor], op: ReduceOp, timeout: Any) -> Done:
    """Writes the sum over all processes to each tensor, coalesced. Returns when it is there: the library starts no
    reductions of rows."""
    for tensor in tensors:
        if tensor.layout != torch.sparse_coo or tensor.device.type != "cpu":
            raise ValueError(f"{what}: a tensor of {tensor.layout} on {tensor.device} beside sparse ones; pass "
                             "torch.sparse_coo on the CPU alone")
        if op not in _OPS or tensor.dim() > MAX_RANK:
            raise ValueError(f"{what}: {op.name} of a sparse tensor of {tensor.dim()} dimensions; there are SUM and AVG "
                             f"of up to {MAX_RANK} dimensions. Use .to_dense()")
        reducible(tensor._values(), op, what)
        _check_shapes(group, what, tensor, timeout)
        with torch.no_grad():
            tensor.copy_(_reduced(group, tensor.coalesce(), op, timeout))
    return Done(tensors)


def _check_shapes(group: ProcessGroup, what: str, tensor: torch.Tensor, timeout: Any) -> None:
    """The library sees numbers of rows, which mean others in other shapes."""
    own = [tensor.sparse_dim(), *tensor.shape]
    padded = own + [-1] * (1 + MAX_RANK - len(own))
    told, heard = torch.tensor(padded), torch.empty(group.size(), len(padded), dtype=torch.int64)
    given, taken = Operand(), Operand()
    given.whole(told, read=True, write=False)
    taken.whole(heard, read=False, write=True)
    group._start(what, "all_gather", [], [given, taken], timeout=timeout).wait()
    for rank, other in enumerate(heard.tolist()):
        if other != padded:
            shape = [length for length in other[1:] if length >= 0]
            raise ValueError(f"{what}: a sparse tensor of shape {own[1:]}, {own[0]} of its dimensions sparse, where "
                             f"process {rank} has shape {shape}, {other[0]} sparse")


def _reduced(group: ProcessGroup, tensor: torch.Tensor, op: ReduceOp, timeout: Any) -> torch.Tensor:
    sizes, values = tensor.shape[:tensor.sparse_dim()], tensor.values().contiguous()
    steps = [1]
    for length in reversed(sizes[1:]):
        steps.insert(0, steps[0] * length)
    numbers = (tensor.indices() * torch.tensor(steps)[:, None]).sum(0)
    try:
        with group.lock:
            rows = group.replica.all_reduce_sparse(op, numbers, reducible(values, op, "all_reduce"),
                                                 group._seconds(timeout))
    except Error as error:
        group._failed = True
        raise raised_as_backend_error(error) from None
    numbers = _copied(rows.indices(), torch.int64)
    values = _copied(rows.memory(), values.dtype).reshape(len(numbers), *values.shape[1:])
    indices = torch.stack([numbers // step % length for step, length in zip(steps, sizes)])
    return torch.sparse_coo_tensor(indices, values, tensor.shape, check_invariants=False).coalesce()


def _copied(memory: Any, dtype: torch.dtype) -> torch.Tensor:
    seen = memoryview(memory)
    return torch.frombuffer(bytearray(seen.cast("B")), dtype=dtype) if seen.nbytes else torch.empty(0, dtype=dtype)
