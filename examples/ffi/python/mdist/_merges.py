# SPDX-License-Identifier: Apache-2.0
"""Functions that run once for all replicas."""
from __future__ import annotations

from ._abi import MergeFn
from ._held import _kept
from ._results import _checked
from .errors import _callback
from .values import Value, _given


class _Merge:
    def __init__(self, run, function, result_count):
        self.run, self.function, self.result_count = run, function, result_count

    def call(self, arguments, count, results):
        values = [Value._borrow(arguments[i]) for i in range(count)]
        returned = _checked(self.function(self.run.strategy, *values), self.result_count)
        for index, one in enumerate(returned):
            results[index] = None if one is None else _given(one)


@_callback(MergeFn)
def _MERGE(_, arguments, count, results, __, key):
    merge = _kept[key]
    return merge.run.failures.guard(merge.call, arguments, count, results)
