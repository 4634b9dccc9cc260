# SPDX-License-Identifier: Apache-2.0
"""Collectives: what replicas do together, blocking or started."""
from __future__ import annotations

from typing import Any, TYPE_CHECKING

from ._arguments import _count, _op, _options
from ._library import _lib
from ._operands import _Operands, _in_and_out, _listed
from .errors import _call, _new
from .typing import Arrays
from .work import Work

if TYPE_CHECKING:
    from ._abi import ReduceOp
    from .group import Group


class Collectives:
    """The collectives of a Replica, which says how they take arrays."""

    _handle: Any

    @property
    def id(self) -> int:
        """Its number in the job, from 0."""
        raise NotImplementedError  # the Replica knows

    def _collective(self, name, head, arrays, timeout, group):
        waits = not name.endswith("_start")
        operands = []
        for things, writable in arrays:
            in_place = operands and things is not None and things is arrays[0][0]
            operands.append(operands[0] if in_place else
                            None if things is None else _Operands(_listed(things), writable, waits))
        buffers = [one and one.buffers for one in operands]
        counts = [len(one) for one in buffers if one is not None]
        if len(set(counts)) > 1:
            raise ValueError(f"{counts[0]} inputs and {counts[1]} outputs; they must be as many")
        count = counts[:1]
        function = getattr(_lib, "mdist_" + name)
        arguments = [self._handle, *head, *buffers, *count]
        if waits:
            _call(function, *arguments, _options(timeout, group))
            written = operands[-1].results() if operands and operands[-1] else None
            return written[0] if written and _listed(arrays[-1][0]) is not arrays[-1][0] else written
        views = [view for one in operands if one for view in one.views]
        return Work(_new(function, *arguments, options=[_options(timeout, group)]), views)

    def all_reduce(self, op: ReduceOp | str, inputs: Arrays, outputs: Arrays | None = None,
                   timeout: float | None = None, group: Group | None = None) -> Any:
        """Reduces arrays of one shape, element by element, over all replicas. `outputs` have the shapes of `inputs`.
        Error, status MISMATCH, if replicas differ in dtype, count or operation."""
        return self._collective("all_reduce", [_op(op)], _in_and_out(inputs, outputs), timeout, group)

    def all_reduce_start(self, op: ReduceOp | str, inputs: Arrays, outputs: Arrays | None = None,
                         timeout: float | None = None, group: Group | None = None) -> Work:
        """all_reduce, started: the arrays belong to the Work until it is done."""
        return self._collective("all_reduce_start", [_op(op)], _in_and_out(inputs, outputs), timeout, group)

    def broadcast(self, root: int, arrays: Arrays, timeout: float | None = None, group: Group | None = None) -> Any:
        """Copies the arrays of replica `root` into those of all others. Shapes must agree, else Error (MISMATCH)."""
        return self._collective("broadcast", [_count(root)], [(arrays, True)], timeout, group)

    def broadcast_start(self, root: int, arrays: Arrays, timeout: float | None = None,
                        group: Group | None = None) -> Work:
        """broadcast, started: the arrays belong to the Work until it is done."""
        return self._collective("broadcast_start", [_count(root)], [(arrays, True)], timeout, group)

    def all_gather(self, inputs: Arrays, outputs: Arrays, timeout: float | None = None,
                   group: Group | None = None) -> Any:
        """Joins the replicas' arrays by id. Each output has `count` times the elements of its input: (count, *shape).
        """
        return self._collective("all_gather", [], _in_and_out(inputs, outputs), timeout, group)

    def all_gather_start(self, inputs: Arrays, outputs: Arrays, timeout: float | None = None,
                         group: Group | None = None) -> Work:
        """all_gather, started: the arrays belong to the Work until it is done."""
        return self._collective("all_gather_start", [], _in_and_out(inputs, outputs), timeout, group)

    def reduce_scatter(self, op: ReduceOp | str, inputs: Arrays, outputs: Arrays, timeout: float | None = None,
                       group: Group | None = None) -> Any:
        """Reduces arrays over all replicas and gives each replica its part, by id. Each input has `count` times the
        elements of its output: (count, *shape)."""
        return self._collective("reduce_scatter", [_op(op)], _in_and_out(inputs, outputs), timeout, group)

    def reduce_scatter_start(self, op: ReduceOp | str, inputs: Arrays, outputs: Arrays,
                             timeout: float | None = None, group: Group | None = None) -> Work:
        """reduce_scatter, started: the arrays belong to the Work until it is done."""
        return self._collective("reduce_scatter_start", [_op(op)], _in_and_out(inputs, outputs), timeout, group)

    def all_to_all(self, inputs: Arrays, outputs: Arrays, timeout: float | None = None,
                   group: Group | None = None) -> Any:
        """Part i of each input goes to replica i, and part i of each output comes from it. Inputs and outputs have
        equal shapes: (count, *shape)."""
        return self._collective("all_to_all", [], _in_and_out(inputs, outputs), timeout, group)

    def all_to_all_start(self, inputs: Arrays, outputs: Arrays, timeout: float | None = None,
                         group: Group | None = None) -> Work:
        """all_to_all, started: the arrays belong to the Work until it is done."""
        return self._collective("all_to_all_start", [], _in_and_out(inputs, outputs), timeout, group)

    def reduce_to_root(self, op: ReduceOp | str, root: int, inputs: Arrays, outputs: Arrays | None = None,
                       timeout: float | None = None, group: Group | None = None) -> Any:
        """`outputs` are those of replica `root`; without, its inputs become the result."""
        return self._collective("reduce_to_root", [_op(op), _count(root)], self._to(root, inputs, outputs),
                                timeout, group)

    def reduce_to_root_start(self, op: ReduceOp | str, root: int, inputs: Arrays, outputs: Arrays | None = None,
                             timeout: float | None = None, group: Group | None = None) -> Work:
        """reduce_to_root, started: the arrays belong to the Work until it is done."""
        return self._collective("reduce_to_root_start", [_op(op), _count(root)], self._to(root, inputs, outputs),
                                timeout, group)

    def gather_to_root(self, root: int, inputs: Arrays, outputs: Arrays | None = None,
                       timeout: float | None = None, group: Group | None = None) -> Any:
        """`outputs` are those of replica `root`, and may be left out elsewhere."""
        return self._collective("gather_to_root", [_count(root)], self._gathered(root, inputs, outputs), timeout, group)

    def gather_to_root_start(self, root: int, inputs: Arrays, outputs: Arrays | None = None,
                             timeout: float | None = None, group: Group | None = None) -> Work:
        """gather_to_root, started: the arrays belong to the Work until it is done."""
        return self._collective("gather_to_root_start", [_count(root)], self._gathered(root, inputs, outputs),
                                timeout, group)

    def scatter(self, root: int, inputs: Arrays, outputs: Arrays, timeout: float | None = None,
                group: Group | None = None) -> Any:
        """`inputs` are those of replica `root`; None elsewhere."""
        return self._collective("scatter", [_count(root)], self._scattered(root, inputs, outputs), timeout, group)

    def scatter_start(self, root: int, inputs: Arrays, outputs: Arrays, timeout: float | None = None,
                      group: Group | None = None) -> Work:
        """scatter, started: the arrays belong to the Work until it is done."""
        return self._collective("scatter_start", [_count(root)], self._scattered(root, inputs, outputs), timeout, group)

    # The library would take any number of arrays at no address: what is missing is refused, what is not looked at
    # stays out.

    def _to(self, root, inputs, outputs):
        return _in_and_out(inputs, outputs) if self.id == root else [(inputs, False), (None, True)]

    def _gathered(self, root, inputs, outputs):
        if self.id != root:
            return [(inputs, False), (None, True)]
        if outputs is None:
            raise TypeError(f"replica {root} is the root; it needs outputs")
        return [(inputs, False), (outputs, True)]

    def _scattered(self, root, inputs, outputs):
        if self.id != root:
            return [(None, False), (outputs, True)]
        if inputs is None:
            raise TypeError(f"replica {root} is the root; it needs inputs")
        return [(inputs, False), (outputs, True)]

    def barrier(self, timeout: float | None = None, group: Group | None = None) -> None:
        """Waits until every replica has come here. Error, status TIMEOUT, names the replicas that did not."""
        self._collective("barrier", [], [], timeout, group)

    def barrier_start(self, timeout: float | None = None, group: Group | None = None) -> Work:
        """barrier, started: the Work is done when every replica has come here."""
        return self._collective("barrier_start", [], [], timeout, group)
