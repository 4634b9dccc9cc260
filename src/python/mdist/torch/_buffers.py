# SPDX-License-Identifier: Apache-2.0
"""Describes tensors of PyTorch as buffers of the library.

A tensor that fills its memory without gaps is used where it lies. Any other tensor, and a list of tensors that do not
lie end to end, goes through memory of its own.
"""
from __future__ import annotations

from typing import Any, Sequence

import torch

from .._abi import Buffer, Dtype, ReduceOp
from .._capsules import _buffer_of, _capsule_of

_DTYPES = {getattr(torch, name): dtype for name, dtype in {
    "float32": Dtype.FLOAT32, "float64": Dtype.FLOAT64, "float16": Dtype.FLOAT16, "bfloat16": Dtype.BFLOAT16,
    "int8": Dtype.INT8, "uint8": Dtype.UINT8, "int16": Dtype.INT16, "uint16": Dtype.UINT16, "int32": Dtype.INT32,
    "uint32": Dtype.UINT32, "int64": Dtype.INT64, "uint64": Dtype.UINT64, "bool": Dtype.BOOL,
}.items() if hasattr(torch, name)}
# Operations on complex numbers that are operations on their parts.
_LINEAR = (ReduceOp.SUM, ReduceOp.MEAN)
_BITWISE = (ReduceOp.AND, ReduceOp.OR, ReduceOp.XOR)
_REFUSED = {"floating-point numbers": _BITWISE, "integers": (ReduceOp.MEAN,),
            "bool": (ReduceOp.SUM, ReduceOp.MEAN, ReduceOp.PROD)}
_INSTEAD = {"floating-point numbers": "bitwise operations take integers and bool",
            "integers": "use SUM and divide, or a type that PyTorch divides, such as int64",
            "bool": "use BAND, BOR, BXOR, MIN or MAX, or a wider integer to count"}


def checked(tensor: Any, what: str) -> torch.Tensor:
    """The memory of a tensor of the host, without its history. Refuses what has no memory of its own."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{what}: {type(tensor).__name__} {tensor!r:.60}, where a tensor belongs")
    if tensor.device.type != "cpu":
        raise ValueError(f"{what}: a tensor on {tensor.device}; backend mdist works on tensors of the CPU. Use .cpu()")
    if tensor.layout != torch.strided:
        raise ValueError(f"{what}: a sparse tensor ({tensor.layout}); use .to_dense(), or Replica.all_reduce_sparse")
    return tensor.detach()


def dense(tensor: torch.Tensor) -> bool:
    """Whether it fills its memory without gaps, in any order of its dimensions."""
    if tensor.is_contiguous():
        return True
    expected = 1
    for stride, length in sorted(zip(tensor.stride(), tensor.shape)):
        if length != 1:
            if stride != expected:
                return False
            expected *= length
    return True


def reducible(tensor: torch.Tensor, op: int, what: str) -> torch.Tensor:
    """A view with a type that the library can reduce."""
    if tensor.dtype.is_complex and op in _LINEAR and tensor.is_contiguous():
        return torch.view_as_real(tensor)
    if tensor.dtype not in _DTYPES:
        raise TypeError(f"{what}: tensors of {tensor.dtype} cannot be reduced; there are "
                        f"{', '.join(str(one).replace('torch.', '') for one in _DTYPES)}")
    kind = ("floating-point numbers" if tensor.dtype.is_floating_point else
            "bool" if tensor.dtype == torch.bool else "integers")
    if op in _REFUSED[kind]:  # the library refuses it, too, but that ends all collectives of several processes
        raise TypeError(f"{what}: {ReduceOp(op).name} of {kind}; {_INSTEAD[kind]}")
    return tensor


_DIVISIBLE = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)


def operation(op: ReduceOp, tensors: Sequence[torch.Tensor], size: int) -> tuple[ReduceOp, int]:
    """The library's operation, and what to divide its results by: a mean of integers is a sum, divided and cut to whole
    numbers, as programs make it over Gloo."""
    whole = op == ReduceOp.MEAN and len(tensors) > 0 and all(tensor.dtype in _DIVISIBLE for tensor in tensors)
    return (ReduceOp.SUM, size) if whole else (op, 1)


def movable(tensor: torch.Tensor) -> torch.Tensor:
    """A view of a contiguous tensor with a type that the library can move: its own, or its bytes."""
    if tensor.dtype in _DTYPES:
        return tensor
    return tensor.reshape(-1).view(torch.uint8)


def in_place(tensor: torch.Tensor) -> Buffer:
    """The buffer of a dense tensor."""
    if tensor.is_contiguous():
        return Buffer(tensor.data_ptr(), tensor.numel(), _DTYPES[tensor.dtype], 0)
    capsule, layout, managed = _capsule_of(tensor)
    return _buffer_of(layout, managed)


def array(buffers: Sequence[Buffer]) -> Any:
    return (Buffer * len(buffers))(*buffers)


class Operand:
    """The tensors of one side of a collective: `buffers` for the library, and what to do when the call is over."""

    def __init__(self, divisor: int = 1) -> None:
        self._divisor = divisor  # of the results
        self.tensors: list[torch.Tensor] = []  # those that the library reads or writes
        self._copies: list[tuple[torch.Tensor, torch.Tensor]] = []  # (where the program wants it, where it is)

    @property
    def buffers(self) -> Any:
        return array([in_place(tensor) for tensor in self.tensors])

    def elementwise(self, tensor: torch.Tensor) -> None:
        """Adds a tensor of a call that works element by element, in place."""
        if dense(tensor):
            self.tensors.append(tensor)
        else:
            self._stand_in(tensor, read=True)

    def any_order(self, tensor: torch.Tensor) -> None:
        """Adds a tensor of a call that only copies, in place."""
        if dense(tensor) and tensor.dtype in _DTYPES:
            self.tensors.append(tensor)
        else:
            self.whole(tensor, read=True, write=True)

    def whole(self, tensor: torch.Tensor, read: bool, write: bool) -> None:
        """Adds a tensor of a call that joins or cuts buffers."""
        if tensor.is_contiguous():
            self.tensors.append(movable(tensor))
        elif write:
            self._stand_in(tensor, read)
        else:
            self.tensors.append(movable(tensor.contiguous()))

    def _stand_in(self, tensor: torch.Tensor, read: bool) -> None:
        made = tensor.contiguous() if read else torch.empty(tensor.shape, dtype=tensor.dtype)
        self._copies.append((tensor, made))
        self.tensors.append(movable(made))

    def joined(self, tensors: Sequence[torch.Tensor], read: bool, write: bool) -> None:
        """Adds tensors as one buffer: where they lie if they lie end to end, else by way of a copy."""
        if _end_to_end(tensors):
            size = sum(tensor.numel() for tensor in tensors)
            first = next((tensor for tensor in tensors if tensor.numel()), tensors[0])
            self.tensors.append(movable(first.as_strided((size,), (1,))))
            return
        flat = torch.empty(sum(tensor.numel() for tensor in tensors), dtype=tensors[0].dtype)
        at = 0
        for tensor in tensors:
            part = flat[at:at + tensor.numel()].view(tensor.shape)
            at += tensor.numel()
            if read:
                part.copy_(tensor)
            if write:
                self._copies.append((tensor, part))
        self.tensors.append(movable(flat))

    def finish(self) -> None:
        """Divides results, and copies them to where the program wants them; once."""
        for tensor in self.tensors if self._divisor != 1 else ():
            tensor.div_(self._divisor, rounding_mode="trunc")
        self._divisor = 1
        for target, source in self._copies:
            target.copy_(source)
        self._copies.clear()


def _end_to_end(tensors: Sequence[torch.Tensor]) -> bool:
    at = None
    for tensor in tensors:
        if tensor.numel() == 0:
            continue
        if not tensor.is_contiguous() or at is not None and tensor.data_ptr() != at:
            return False
        if at is not None and tensor.untyped_storage().data_ptr() != tensors[0].untyped_storage().data_ptr():
            return False  # neighbours by chance
        at = tensor.data_ptr() + tensor.numel() * tensor.element_size()
    return True
