# SPDX-License-Identifier: Apache-2.0
"""The wrapper for modules: reduces gradients in buckets while the backward pass still computes."""
from __future__ import annotations

import contextlib
import threading
import weakref
from ctypes import byref
from typing import Any, Iterator

import torch
import torch.distributed as dist

from .._abi import ReduceOp, Tensor
from .._arguments import _handle, _op
from .._library import _lib
from .._tensors import _described
from ..errors import _call, _new
from ..gradients import Gradients, Reduced, _gradients_options
from ..replica import Replica
from ._buffers import _DTYPES, Operand, checked, in_place
from ._group import ProcessGroup


class DistributedDataParallel(torch.nn.Module):
    """Wraps the module of one replica. All replicas wrap equal modules, in the same order.

        def train(replica):
            model = mdist.torch.DistributedDataParallel(make_model(), replica)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for x, y in batches_of(replica.id):
                optimizer.zero_grad()
                loss(model(x), y).backward()  # ends when the gradients are the means over all replicas
                optimizer.step()

        strategy.run(train)

    - At first, parameters and buffers of replica 0 are copied to all others.
    - Gradients are reduced where PyTorch has them, in buckets, while the backward pass computes. Every backward pass
      says anew where each one lies, so zero_grad(set_to_none=True) and assignments to `.grad` do no harm.
    - The sums follow the library's fixed order. So weights have the same bits with 1 process of 4 replicas, 2 of 2, or
      4 of 1, if the module computes the same in each (OMP_NUM_THREADS=1; no random numbers of PyTorch's one generator).
    - A failure on any replica is an mdist.Error on all others, which names it.

    - In an elastic job, wrap the modules anew in the first step after each regroup. The last wrapper of a module counts.

    `replica`: what the step got; None in a process with dist.init_process_group("mdist"). If you make a run for each
    batch, set `model.replica = replica` at the beginning of each step.
    `op`: "mean" or "sum".
    `bucket_bytes`: a bucket takes gradients until it has this many bytes. 0: 4 MiB.
    `clip_norm`: clips by global norm. 0 disables clipping.
    `norm`: computes the norm also without clipping. See `reduced`.
    `zero_nonfinite`: if the norm is not finite, all gradients become zeros.
    `find_unused_parameters`: parameters without a gradient in a backward pass count as zeros. Those that no replica
    used keep `.grad` as it was. Without it, they are an error.
    `broadcast_buffers`: copies the buffers of replica 0 (running means ...) to all others before each forward pass in
    training.
    """

    replica: Replica

    def __init__(self, module: torch.nn.Module, replica: Replica | None = None, *, op: ReduceOp | str = "mean",
                 bucket_bytes: int = 0, clip_norm: float = 0.0, norm: bool = False, zero_nonfinite: bool = False,
                 find_unused_parameters: bool = False, broadcast_buffers: bool = True) -> None:
        super().__init__()
        self.module = module
        self.replica, self._lock = _place(replica)
        self.reduced = Reduced(0.0, True)  # of the last backward pass: norm before clipping, whether all is finite
        self._find_unused, self._broadcast_buffers = find_unused_parameters, broadcast_buffers
        self._synchronize = True
        named = [(name, one) for name, one in module.named_parameters() if one.requires_grad]
        if not named:
            raise ValueError("the module has no parameter that requires a gradient")
        self._names = [name for name, _ in named]
        self._trained = [one for _, one in named]
        self._strides = [torch.empty_like(_checked_parameter(name, one)).stride() for name, one in named]
        options = _gradients_options(op, bucket_bytes, clip_norm, False, zero_nonfinite,
                                     norm or clip_norm > 0 or zero_nonfinite)
        self._gradients = _shared_gradients(self.replica, self._trained, options, (_op(op), bucket_bytes, clip_norm))
        self._ready = [False] * len(named)
        self._round = -1  # the backward pass that has begun to reduce
        self._copy_from_first([*module.parameters(), *module.buffers()])
        own = weakref.ref(self)
        _replace_hooks(module, [one.register_post_accumulate_grad_hook(_hook(own, index))
                                for index, one in enumerate(self._trained)])

    def forward(self, *arguments: Any, **keywords: Any) -> Any:
        """That of the module."""
        if self._broadcast_buffers and self.training and self._synchronize and torch.is_grad_enabled():
            self._copy_from_first(list(self.module.buffers()))
        return self.module(*arguments, **keywords)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Backward passes inside only accumulate in `.grad`. The next one outside reduces the sums."""
        before, self._synchronize = self._synchronize, False
        try:
            yield
        finally:
            self._synchronize = before

    # ---- inside

    def _copy_from_first(self, tensors: list[torch.Tensor]) -> None:
        operand = Operand()
        for tensor in tensors:
            operand.any_order(checked(tensor, "DistributedDataParallel"))
        if operand.tensors:
            buffers = operand.buffers
            with self._lock:
                _call(_lib.mdist_broadcast, self.replica._handle, 0, buffers, len(buffers), None)
            operand.finish()

    def _complete(self, index: int) -> None:
        """Gradient `index` is complete. Called by the backward pass, on the thread that runs it."""
        if not self._synchronize:
            return
        if self._round != (current := torch._C._current_graph_task_id()):
            if self._round >= 0:
                raise RuntimeError("an earlier backward pass failed before its gradients were reduced. End the step")
            self._round = current
            torch.autograd.Variable._execution_engine.queue_callback(self._finish)
        self._pass_on(index)

    def _pass_on(self, index: int) -> None:
        parameter = self._trained[index]
        gradient = parameter.grad
        if gradient.layout != torch.strided:
            raise TypeError(f"the gradient of {self._names[index]} is sparse; make the layer with sparse=False")
        if gradient.stride() != self._strides[index]:  # replicas must have one order of elements
            parameter.grad = gradient = torch.empty_like(parameter).copy_(gradient)
        with self._lock:
            _call(_lib.mdist_gradients_ready_at, self.replica._handle, self._gradients._handle, index,
                  gradient.data_ptr())
        self._ready[index] = True

    def _finish(self) -> None:
        """The backward pass is over. When this returns, all gradients are reduced."""
        missing = [index for index, ready in enumerate(self._ready) if not ready]
        if missing and not self._find_unused:
            names = ", ".join(self._names[index] for index in missing[:5])
            raise RuntimeError(f"the backward pass gave no gradient to {len(missing)} parameters ({names}"
                               f"{' ...' if len(missing) > 5 else ''}). Pass find_unused_parameters=True if that is "
                               "intended")
        used = torch.tensor(self._ready, dtype=torch.uint8) if self._find_unused else None
        without = [index for index in missing if self._trained[index].grad is None]
        for index in without:
            self._trained[index].grad = torch.zeros_like(self._trained[index])
        for index in missing:
            self._pass_on(index)
        with self._lock:
            self.reduced = self._gradients.wait(self.replica)
        if used is not None:
            self._forget_unused(used, without)
        self._ready = [False] * len(self._ready)
        self._round = -1

    def _forget_unused(self, used: torch.Tensor, without: list[int]) -> None:
        """Optimizers skip a parameter without a gradient. One that no replica used must stay so."""
        buffer = in_place(used)
        with self._lock:
            _call(_lib.mdist_all_reduce, self.replica._handle, ReduceOp.MAX, byref(buffer), byref(buffer), 1, None)
        for index in without:
            if not used[index]:
                self._trained[index].grad = None


def _hook(model: Any, index: int) -> Any:
    def complete(_: torch.Tensor) -> None:
        wrapper = model()
        if wrapper is not None:
            wrapper._complete(index)
    return complete


_hooks: weakref.WeakKeyDictionary[torch.nn.Module, list[Any]] = weakref.WeakKeyDictionary()


def _replace_hooks(module: torch.nn.Module, hooks: list[Any]) -> None:
    """A module has one wrapper. An earlier one may be alive (the traceback of an error has it), and must not reduce any
    more."""
    with _making:
        earlier, _hooks[module] = _hooks.get(module, []), hooks
    for hook in earlier:
        hook.remove()


def _place(replica: Replica | None) -> tuple[Replica, Any]:
    """(the replica, what guards it)."""
    if replica is not None:
        _handle(replica, Replica)
        return replica, contextlib.nullcontext()
    if not dist.is_initialized():
        raise ValueError('there is no replica: pass that of the step, or call dist.init_process_group("mdist") first')
    group = dist.distributed_c10d._get_default_group()
    if not isinstance(group, ProcessGroup):
        raise ValueError(f"the default process group has backend {dist.get_backend()}; the wrapper needs "
                         'init_process_group("mdist"), or the replica of a step')
    return group.replica, group.lock


def _checked_parameter(name: str, parameter: torch.Tensor) -> torch.Tensor:
    checked(parameter, name)
    if not parameter.dtype.is_floating_point or parameter.dtype not in _DTYPES:
        raise TypeError(f"{name}: gradients of {parameter.dtype} cannot be reduced; there are float32, float64, "
                        "float16 and bfloat16")
    return parameter.detach()


# Local replicas share the object that reduces, so the n-th wrapper of a run is one for all of them.
_made: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()
_making = threading.Lock()


def _shared_gradients(replica: Replica, parameters: list[torch.Tensor], options: Any, chosen: Any) -> Gradients:
    run, place = replica._run, replica.local_index
    form = [(_DTYPES[one.dtype], tuple(one.shape)) for one in parameters]
    with _making:
        made = _made.setdefault(run, {})
        number = made[place] = made.get(place, -1) + 1
        if ("gradients", number) not in made:
            described = [_described(*one) for one in form] * run.strategy.local_replica_count
            handle = _new(_lib.mdist_gradients_create_lent, run.strategy._handle, (Tensor * len(described))(*described),
                          len(form), options=[options])
            made["gradients", number] = (Gradients._of(handle, _count=len(form), _lent=None), form, chosen)
        gradients, first_form, first_chosen = made["gradients", number]
    if (form, chosen) != (first_form, first_chosen):
        raise ValueError(f"replica {replica.id} wraps a module with other parameters or options than the first replica "
                         "of this process; wrap equal modules in the same order")
    return gradients
