# SPDX-License-Identifier: Apache-2.0
"""Input: a dataset distributed over the workers of a job and their replicas."""
from __future__ import annotations

import ctypes
from ctypes import byref, c_double, c_uint64
from typing import NamedTuple, Sequence

from ._abi import (DatasetFn, INPUT_NO_SPLIT, INPUT_PLACE_ON_DEVICE, INPUT_WHOLE_STEPS, InputContext, InputOptions,
                   ReplicationMode, ShardPolicy, Uneven)
from ._arguments import _choice, _count
from ._calls import _Calls
from ._held import _kept
from ._library import _lib
from .datasets import _dataset
from .errors import _call, _callback, _new


class InputPipeline(NamedTuple):
    """For whom a dataset is made: number `pipeline` of `pipeline_count` that are made for the job (one for each worker,
    or for each replica), which has `replica_count` replicas."""

    pipeline_count: int
    pipeline: int
    replica_count: int

    def batch_size(self, global_batch_size: int) -> int:
        """How many rows of the global batch one replica gets. Error, status INVALID_ARGUMENT, if they cannot be shared
        out evenly."""
        context = InputContext(ctypes.sizeof(InputContext), self.pipeline_count, self.pipeline, self.replica_count)
        size = c_uint64()
        _call(_lib.mdist_input_context_batch_size, byref(context), _count(global_batch_size), byref(size))
        return size.value


def _input_options(policy="auto", uneven="default", mode="per_worker", split=True, whole_steps=False,
                   place_on_device=False, fetch_to_device=None, buffer_size=0,
                   weights: Sequence[float] | None = None):
    flags = ((0 if split else INPUT_NO_SPLIT) | (INPUT_WHOLE_STEPS if whole_steps else 0)
             | (INPUT_PLACE_ON_DEVICE if place_on_device else 0))
    numbers = None if weights is None else (c_double * len(weights))(*weights)
    return byref(InputOptions(
        ctypes.sizeof(InputOptions), flags, _choice(ShardPolicy, policy, "policy", "SHARD_"),
        _choice(Uneven, uneven, "way with uneven rows", "UNEVEN_"),
        _choice(ReplicationMode, mode, "mode", "REPLICATION_"),
        0 if fetch_to_device is None else 1 if fetch_to_device else -1, _count(buffer_size), numbers,
        0 if weights is None else len(weights)))


class _MakeDataset(_Calls):
    """Makes datasets for the library, and remembers their maps, whose exceptions the iterator tells."""

    def __init__(self, function):
        super().__init__(function)
        self.maps = []

    def call(self, context, out):
        given = context[0]
        made = _dataset(self.function(InputPipeline(given.pipeline_count, given.pipeline, given.replica_count)))
        self.maps += made._maps
        out[0] = _new(_lib.mdist_dataset_repeat, made._handle, 1, options=[None])  # a handle for the library to own


@_callback(DatasetFn)
def _DATASET(context, out, key):
    made = _kept[key]
    return made.failures.guard(made.call, context, out)
