# SPDX-License-Identifier: Apache-2.0
"""Collectives: what replicas do together, blocking or started."""
from __future__ import annotations

from ctypes import byref
from typing import Any, Sequence, TYPE_CHECKING

from ._arguments import _count, _op_or_operator, _options
from ._library import _lib
from ._operands import _all_operands, _collective_description, _described, _in_and_out, _kept_views, _part_lengths, _written
from .errors import _call, _new
from .typing import Arrays
from .work import Work

if TYPE_CHECKING:
    from ._abi import ReduceOp
    from .group import Group
    from .operators import Operator


class Collectives:
    """The collectives of a Replica, which says how they take arrays."""

    _handle: Any

    @property
    def id(self) -> int:
        """Its number in the job, from 0."""
        raise NotImplementedError  # the Replica knows

    @property
    def count(self) -> int:
        """Replicas in the whole job."""
        raise NotImplementedError  # the Replica knows

    def _collective(self, name, head, arrays, timeout, group, parts=None, keep=None):
        """Makes the collective of that name. `parts` has the lengths of the parts of each list of arrays. `keep` is what
        a started one keeps."""
        waits = not name.endswith("_start")
        operands = _all_operands(arrays, waits)
        buffers, count = _described(operands, parts)
        if waits:
            _call(getattr(_lib, "mdist_" + name), self._handle, *head, *buffers, *count, _options(timeout, group))
            return _written(operands, arrays)
        description = _collective_description(name.removesuffix("_start"), head, buffers, count, parts is not None)
        handle = _new(_lib.mdist_collective_start, self._handle, byref(description), options=[_options(timeout, group)])
        return Work(handle, _kept_views(operands, keep))

    def all_reduce(self, op: ReduceOp | Operator | str, inputs: Arrays, outputs: Arrays | None = None,
                   timeout: float | None = None, group: Group | None = None) -> Any:
        """Reduces arrays of one shape, element by element, over all replicas. `outputs` have the shapes of `inputs`.
        Error, status MISMATCH, if replicas differ in dtype, count or operation."""
        return self._collective("all_reduce", [_op_or_operator(op)], _in_and_out(inputs, outputs), timeout, group, keep=op)

    def all_reduce_start(self, op: ReduceOp | Operator | str, inputs: Arrays, outputs: Arrays | None = None,
                         timeout: float | None = None, group: Group | None = None) -> Work:
        """all_reduce, started: the arrays belong to the Work until it is done."""
        return self._collective("all_reduce_start", [_op_or_operator(op)], _in_and_out(inputs, outputs), timeout, group,
                                keep=op)

    def broadcast(self, root: int, arrays: Arrays, timeout: float | None = None, group: Group | None = None) -> Any:
        """Copies the arrays of replica `root` into those of all others. Shapes must agree, else Error (MISMATCH)."""
        return self._collective("broadcast", [_count(root)], [(arrays, True)], timeout, group)

    def broadcast_start(self, root: int, arrays: Arrays, timeout: float | None = None,
                        group: Group | None = None) -> Work:
        """broadcast, started: the arrays belong to the Work until it is done."""
        return self._collective("broadcast_start", [_count(root)], [(arrays, True)], timeout, group)

    def all_gather(self, inputs: Arrays, outputs: Arrays, timeout: float | None = None,
                   group: Group | None = None) -> Any:
        """Joins the replicas' arrays by id, or in the order of the group. Each output has as many elements as its
        inputs on all replicas that take part together: (members, *shape) if they are alike."""
        return self._collective("all_gather", [], _in_and_out(inputs, outputs), timeout, group)

    def all_gather_start(self, inputs: Arrays, outputs: Arrays, timeout: float | None = None,
                         group: Group | None = None) -> Work:
        """all_gather, started: the arrays belong to the Work until it is done."""
        return self._collective("all_gather_start", [], _in_and_out(inputs, outputs), timeout, group)

    def reduce_scatter(self, op: ReduceOp | Operator | str, inputs: Arrays, outputs: Arrays, timeout: float | None = None,
                       group: Group | None = None) -> Any:
        """Reduces arrays over all replicas and gives each replica its part, by id, or in the order of the group. Each
        input has as many elements as its outputs on all replicas that take part together."""
        return self._collective("reduce_scatter", [_op_or_operator(op)], _in_and_out(inputs, outputs), timeout, group,
                                keep=op)

    def reduce_scatter_start(self, op: ReduceOp | Operator | str, inputs: Arrays, outputs: Arrays,
                             timeout: float | None = None, group: Group | None = None) -> Work:
        """reduce_scatter, started: the arrays belong to the Work until it is done."""
        return self._collective("reduce_scatter_start", [_op_or_operator(op)], _in_and_out(inputs, outputs), timeout,
                                group, keep=op)

    def all_to_all(self, inputs: Arrays, outputs: Arrays, timeout: float | None = None,
                   group: Group | None = None) -> Any:
        """Part i of each input goes to replica i, or to member i of the group, and part i of each output comes from it.
        Inputs and outputs have equal shapes, with a part for each replica that takes part: (members, *shape)."""
        return self._collective("all_to_all", [], _in_and_out(inputs, outputs), timeout, group)

    def all_to_all_start(self, inputs: Arrays, outputs: Arrays, timeout: float | None = None,
                         group: Group | None = None) -> Work:
        """all_to_all, started: the arrays belong to the Work until it is done."""
        return self._collective("all_to_all_start", [], _in_and_out(inputs, outputs), timeout, group)

    def all_to_all_parts(self, inputs: Arrays, input_parts: Sequence[Any], outputs: Arrays,
                         output_parts: Sequence[Any], timeout: float | None = None, group: Group | None = None) -> Any:
        """All-to-all with parts of any lengths, which lie end to end: `input_parts` has the elements that go to each
        replica, `output_parts` those that come from each. For a list of arrays, pass a list of such lists. Error, status
        MISMATCH, names the sender and receiver of a part that do not agree on its length."""
        parts = [_part_lengths(one, self._members(group)) for one in (input_parts, output_parts)]
        return self._collective("all_to_all_parts", [], _in_and_out(inputs, outputs), timeout, group, parts)

    def all_to_all_parts_start(self, inputs: Arrays, input_parts: Sequence[Any], outputs: Arrays,
                               output_parts: Sequence[Any], timeout: float | None = None,
                               group: Group | None = None) -> Work:
        """all_to_all_parts, started: the arrays belong to the Work until it is done."""
        parts = [_part_lengths(one, self._members(group)) for one in (input_parts, output_parts)]
        return self._collective("all_to_all_parts_start", [], _in_and_out(inputs, outputs), timeout, group, parts)

    def _members(self, group):
        return self.count if group is None else len(group)

    def reduce_to_root(self, op: ReduceOp | Operator | str, root: int, inputs: Arrays, outputs: Arrays | None = None,
                       timeout: float | None = None, group: Group | None = None) -> Any:
        """`outputs` are those of replica `root`; without, its inputs become the result."""
        return self._collective("reduce_to_root", [_op_or_operator(op), _count(root)], self._to(root, inputs, outputs),
                                timeout, group, keep=op)

    def reduce_to_root_start(self, op: ReduceOp | Operator | str, root: int, inputs: Arrays, outputs: Arrays | None = None,
                             timeout: float | None = None, group: Group | None = None) -> Work:
        """reduce_to_root, started: the arrays belong to the Work until it is done."""
        return self._collective("reduce_to_root_start", [_op_or_operator(op), _count(root)],
                                self._to(root, inputs, outputs), timeout, group, keep=op)

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

    def barrier(self, timeout: float | None = None, group: Group | None = None) -> Any:
        """Waits until every replica has come here. Error, status TIMEOUT, names the replicas that did not."""
        return self._collective("barrier", [], [], timeout, group)

    def barrier_start(self, timeout: float | None = None, group: Group | None = None) -> Work:
        """barrier, started: the Work is done when every replica has come here."""
        return self._collective("barrier_start", [], [], timeout, group)
