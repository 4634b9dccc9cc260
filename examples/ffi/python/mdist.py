# SPDX-License-Identifier: Apache-2.0
"""libmdist for Python: mirrored training on all devices of a machine. One file; copy it to where you need it.

    import mdist
    import numpy as np

    def step(replica, x):  # runs on every replica at the same time
        total = x * (replica.id + 1)
        replica.all_reduce("sum", total)  # in place
        return total

    with mdist.Strategy(devices="cpu*2") as strategy:
        total = strategy.run(step, np.ones(3, "float32"), results=1)  # a Value: one array per replica
        print(total.numpy(0))  # [3. 3. 3.]

Needs CPython 3.9 or later, 64-bit Linux and libmdist (MDIST_LIBRARY says where, if the loader does not know). NumPy is
optional: without it arrays are flat memoryviews.

Arrays. Whatever has a buffer (NumPy, array.array, ctypes), __dlpack__ (tensors of PyTorch on the CPU) or
__cuda_array_interface__ goes in as an array. Where it is only read, so do numbers and lists of numbers, whose elements
are int64 if all are whole, else float64.

Memory. Arrays go in and come out without copies, except where a docstring says "a copy", and except for arrays that are
not C-contiguous: of these the library reads a copy. What the library keeps, it keeps alive; an array that looks into
the library keeps that memory alive. Dtypes are those of the array, exactly; Typed(array, "bfloat16") says that
16-bit elements are something else than their dtype tells.

Threads. The interpreter's lock is released in every call, so replicas compute in parallel wherever NumPy does. Steps
run on threads of the library, replica 0 on the caller's; with Strategy.run_begin they run on threads of your own. Any
thread may use any object; two at once on one strategy, iterator or replica is an Error, reason `busy`, or forbidden by
the C header (see @thread there).

Errors. Failures are Error. An exception in a step, merge, map or update function fails the whole run, and the Error
that run() raises has the first of them as its __cause__.
"""
import atexit
import contextlib
import ctypes
import itertools
import operator
import os
import re
import sys
import threading
import traceback
import weakref
from array import array as Array
from collections import deque, namedtuple
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32,
                    c_uint64, c_void_p, py_object)
from enum import IntEnum

try:
    import numpy
except ImportError:
    numpy = None

# ---- Written by ./generate from include/mdist/*.h, from here ...
VERSION_MAJOR = 0
VERSION_MINOR = 2
VERSION_PATCH = 0
VERSION = 200
FOREVER = 9223372036854775807
NONE = 4294967295
LATEST = 9223372036854775807
RESTORE_PARTIAL = 1
ROWS = 9223372036854775807
UNKNOWN = 9223372036854775807
MAP_UNORDERED = 1
GENERATOR_ANY_THREAD = 1
SHARD_HINT = 9223372036854775807
INPUT_NO_SPLIT = 1
INPUT_WHOLE_STEPS = 2
INPUT_PLACE_ON_DEVICE = 4
MAX_RANK = 8
c_void_pp = POINTER(c_void_p)


class CallKind(IntEnum):
    CALL_ALL_REDUCE = 1
    CALL_BROADCAST = 2
    CALL_ALL_GATHER = 3
    CALL_REDUCE_SCATTER = 4
    CALL_ALL_TO_ALL = 5
    CALL_ALL_TO_ALL_PARTS = 6
    CALL_REDUCE_TO_ROOT = 7
    CALL_GATHER_TO_ROOT = 8
    CALL_SCATTER = 9
    CALL_BARRIER = 10


class TaskType(IntEnum):
    NONE = 0
    CHIEF = 1
    WORKER = 2
    EVALUATOR = 3
    PS = 4


class ReduceOp(IntEnum):
    SUM = 1
    MEAN = 2
    MIN = 3
    MAX = 4
    PROD = 5


class Compression(IntEnum):
    COMPRESSION_NONE = 0
    COMPRESSION_GZIP = 1
    COMPRESSION_ZLIB = 2


class OnCorrupt(IntEnum):
    ON_CORRUPT_FAIL = 0
    ON_CORRUPT_SKIP = 1


class GradientsFlags(IntEnum):
    GRADIENTS_ZERO_MISSING = 1
    GRADIENTS_ZERO_NONFINITE = 2
    GRADIENTS_NO_NORM = 4


class ShardPolicy(IntEnum):
    SHARD_OFF = -1
    SHARD_AUTO = 0
    SHARD_FILE = 1
    SHARD_DATA = 2
    SHARD_BY_HINT = 3


class Uneven(IntEnum):
    UNEVEN_DEFAULT = 0
    UNEVEN_SPREAD = 1
    UNEVEN_DROP = 2


class ReplicationMode(IntEnum):
    REPLICATION_PER_WORKER = 0
    REPLICATION_PER_REPLICA = 1


class LogLevel(IntEnum):
    OFF = 0
    ERROR = 1
    WARN = 2
    INFO = 3
    DEBUG = 4


class PreemptionVerdict(IntEnum):
    GO_ON = 0
    SAVE = 1
    END = 2


class Status(IntEnum):
    OK = 0
    END = 1
    INVALID_ARGUMENT = -1
    BAD_HANDLE = -2
    WRONG_CONTEXT = -3
    FAILED_PRECONDITION = -4
    CONFIG = -5
    NOT_FOUND = -6
    UNSUPPORTED = -7
    OUT_OF_MEMORY = -8
    RESOURCE = -9
    IO = -10
    DATA_LOSS = -11
    MISMATCH = -12
    TIMEOUT = -13
    PEER_LOST = -14
    ABORTED = -15
    UNAUTHENTICATED = -16
    CALLBACK = -17
    DEVICE = -18
    INTERNAL = -19


class Implementation(IntEnum):
    IMPLEMENTATION_AUTO = 0
    IMPLEMENTATION_RING = 1
    IMPLEMENTATION_NCCL = 2


class Dtype(IntEnum):
    NONE = 0
    FLOAT32 = 1
    FLOAT64 = 2
    FLOAT16 = 3
    BFLOAT16 = 4
    INT8 = 5
    UINT8 = 6
    INT32 = 7
    UINT32 = 8
    INT64 = 9
    UINT64 = 10


class DeviceKind(IntEnum):
    CPU = 0
    GPU = 1


class ValueKind(IntEnum):
    NONE = 0
    PLAIN = 1
    MIRRORED = 2
    PER_REPLICA = 3
    STRUCTURE = 4


class Synchronization(IntEnum):
    AUTO = 0
    ON_WRITE = 1
    ON_READ = 2


class Aggregation(IntEnum):
    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


class Assign(IntEnum):
    SET = 1
    ADD = 2
    SUB = 3
    MUL = 4
    DIV = 5
    MIN = 6
    MAX = 7


class Buffer(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("elements", c_uint64),
        ("dtype", c_int32),
        ("reserved", c_int32),
    ]


class CallDescription(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_int32),
        ("op", c_int32),
        ("root", c_uint32),
        ("inputs", POINTER(Buffer)),
        ("outputs", POINTER(Buffer)),
        ("buffer_count", c_size_t),
        ("input_parts", POINTER(c_uint64)),
        ("output_parts", POINTER(c_uint64)),
    ]


class RestoreOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("timeout_ns", c_uint64),
    ]


class ClusterInfo(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("task_counts", c_uint32 * 5),
        ("task_type", c_int32),
        ("task_index", c_uint32),
        ("leader_type", c_int32),
        ("leader_index", c_uint32),
    ]


class TaskInfo(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("is_chief", c_int32),
        ("worker", c_uint32),
        ("worker_count", c_uint32),
        ("address", c_char_p),
        ("master", c_char_p),
    ]


class ConfigKey(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("name", c_char_p),
        ("environment", c_char_p),
        ("kind", c_char_p),
        ("choices", c_char_p),
        ("default_text", c_char_p),
        ("help", c_char_p),
    ]


class MapOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("parallel_calls", c_uint32),
    ]


class ReadOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("compression", c_int32),
        ("on_corrupt", c_int32),
        ("cycle_length", c_uint64),
        ("block_length", c_uint64),
        ("max_record_bytes", c_uint64),
        ("parallel_files", c_uint64),
    ]


class GradientsOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("op", c_int32),
        ("reserved", c_int32),
        ("bucket_bytes", c_uint64),
        ("clip_norm", c_double),
    ]


class InputOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("policy", c_int32),
        ("uneven", c_int32),
        ("replication_mode", c_int32),
        ("fetch_to_device", c_int32),
        ("buffer_size", c_uint64),
        ("weights", POINTER(c_double)),
        ("weight_count", c_size_t),
    ]


class InputContext(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("pipeline_count", c_uint32),
        ("pipeline", c_uint32),
        ("replica_count", c_uint32),
    ]


class PreemptionOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("grace_ns", c_uint64),
    ]


class CallOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("timeout_ns", c_uint64),
        ("bytes_per_pack", c_int64),
        ("implementation", c_int32),
        ("reserved", c_uint32),
        ("group", c_void_p),
    ]


class Tensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("dtype", c_int32),
        ("rank", c_int32),
        ("device_kind", c_int32),
        ("device_index", c_int32),
        ("shape", c_uint64 * 8),
    ]


class VariableOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("synchronization", c_int32),
        ("aggregation", c_int32),
        ("reserved", c_int32),
        ("colocate_with", c_void_p),
    ]


FreeFn = CFUNCTYPE(None, c_void_p)
FetchFn = CFUNCTYPE(c_int32, POINTER(Tensor), c_void_pp, c_void_p)
MapFn = CFUNCTYPE(c_int32, POINTER(Tensor), c_size_t, POINTER(Tensor), c_size_t, c_void_p)
GenerateFn = CFUNCTYPE(c_int32, c_uint64, POINTER(Tensor), c_size_t, c_void_pp, c_void_p)
FilterFn = CFUNCTYPE(c_int32, POINTER(Tensor), c_size_t, POINTER(c_int32), c_void_p)
DatasetFn = CFUNCTYPE(c_int32, POINTER(InputContext), c_void_pp, c_void_p)
LogFn = CFUNCTYPE(None, c_int32, c_char_p, c_size_t, c_void_p)
LoopFn = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, c_void_p)
StepFn = CFUNCTYPE(c_int32, c_void_p, c_void_p)
ElementFn = CFUNCTYPE(c_int32, c_void_p, c_uint64, c_void_p)
MergeFn = CFUNCTYPE(c_int32, c_void_p, c_void_pp, c_size_t, c_void_pp, c_size_t, c_void_p)
ValueFn = CFUNCTYPE(c_int32, c_uint32, c_uint32, c_void_pp, c_void_p)
UpdateFn = CFUNCTYPE(c_int32, c_uint32, POINTER(Tensor), POINTER(Tensor), c_size_t, c_void_pp, c_size_t, c_void_p)
WorkDoneFn = CFUNCTYPE(None, c_int32, c_void_p)
# Result, parameters. Handles are 64-bit numbers: without this table ctypes would cut them to 32 bits.
FUNCTIONS = {
    "mdist_version": (c_uint32, []),
    "mdist_has": (c_int32, [c_char_p]),
    "mdist_call_create": (c_int32, [c_void_p, c_uint32, POINTER(CallDescription), c_void_pp, POINTER(CallOptions),
        c_void_pp]),
    "mdist_call_run": (c_int32, [c_void_p, c_void_p, c_void_pp]),
    "mdist_call_start": (c_int32, [c_void_p, c_void_p, c_void_pp, c_void_pp]),
    "mdist_call_destroy": (None, [c_void_p]),
    "mdist_checkpoint_create": (c_int32, [c_void_p, c_char_p, c_uint32, c_void_pp, c_void_pp]),
    "mdist_checkpoint_add": (c_int32, [c_void_p, c_char_p, c_void_p, c_void_pp]),
    "mdist_checkpoint_add_iterator": (c_int32, [c_void_p, c_char_p, c_void_p, c_void_pp]),
    "mdist_checkpoint_set_text": (c_int32, [c_void_p, c_char_p, c_char_p, c_void_pp]),
    "mdist_checkpoint_text": (c_int32, [c_void_p, c_char_p, c_char_p, c_size_t, POINTER(c_size_t), c_void_pp]),
    "mdist_checkpoint_save": (c_int32, [c_void_p, c_uint64, POINTER(CallOptions), c_void_pp]),
    "mdist_checkpoint_restore": (c_int32, [c_void_p, c_uint64, POINTER(c_uint64), POINTER(RestoreOptions), c_void_pp]),
    "mdist_checkpoint_clear": (c_int32, [c_void_p, POINTER(CallOptions), c_void_pp]),
    "mdist_checkpoint_latest": (c_int32, [c_char_p, POINTER(c_uint64), c_void_pp]),
    "mdist_checkpoint_destroy": (None, [c_void_p]),
    "mdist_cluster_create": (c_int32, [c_void_pp, c_void_pp]),
    "mdist_cluster_add_task": (c_int32, [c_void_p, c_int32, c_uint32, c_char_p, c_void_pp]),
    "mdist_cluster_set_task": (c_int32, [c_void_p, c_int32, c_uint32, c_void_pp]),
    "mdist_cluster_from_config": (c_int32, [c_void_p, c_void_pp, c_void_pp]),
    "mdist_cluster_from_tf_config": (c_int32, [c_char_p, c_size_t, c_void_pp, c_void_pp]),
    "mdist_cluster_from_slurm": (c_int32, [POINTER(c_int32), POINTER(c_uint32), c_size_t, c_uint32, c_void_pp,
        c_void_pp]),
    "mdist_cluster_union": (c_int32, [c_void_pp, c_size_t, c_void_pp, c_void_pp]),
    "mdist_cluster_describe": (c_int32, [c_void_p, POINTER(ClusterInfo), c_void_pp]),
    "mdist_cluster_describe_task": (c_int32, [c_void_p, c_int32, c_uint32, POINTER(TaskInfo), c_void_pp]),
    "mdist_cluster_explain": (c_int32, [c_void_p, c_char_p, c_size_t, POINTER(c_size_t), c_void_pp]),
    "mdist_config_set_cluster": (c_int32, [c_void_p, c_void_p, c_void_pp]),
    "mdist_cluster_destroy": (None, [c_void_p]),
    "mdist_all_reduce": (c_int32, [c_void_p, c_int32, POINTER(Buffer), POINTER(Buffer), c_size_t, POINTER(CallOptions),
        c_void_pp]),
    "mdist_all_reduce_rows": (c_int32, [c_void_p, c_int32, POINTER(Tensor), POINTER(Tensor), c_void_pp,
        POINTER(CallOptions), c_void_pp]),
    "mdist_broadcast": (c_int32, [c_void_p, c_uint32, POINTER(Buffer), c_size_t, POINTER(CallOptions), c_void_pp]),
    "mdist_all_gather": (c_int32, [c_void_p, POINTER(Buffer), POINTER(Buffer), c_size_t, POINTER(CallOptions),
        c_void_pp]),
    "mdist_reduce_scatter": (c_int32, [c_void_p, c_int32, POINTER(Buffer), POINTER(Buffer), c_size_t,
        POINTER(CallOptions), c_void_pp]),
    "mdist_all_to_all": (c_int32, [c_void_p, POINTER(Buffer), POINTER(Buffer), c_size_t, POINTER(CallOptions),
        c_void_pp]),
    "mdist_all_to_all_parts": (c_int32, [c_void_p, POINTER(Buffer), POINTER(c_uint64), POINTER(Buffer),
        POINTER(c_uint64), c_size_t, POINTER(CallOptions), c_void_pp]),
    "mdist_reduce_to_root": (c_int32, [c_void_p, c_int32, c_uint32, POINTER(Buffer), POINTER(Buffer), c_size_t,
        POINTER(CallOptions), c_void_pp]),
    "mdist_gather_to_root": (c_int32, [c_void_p, c_uint32, POINTER(Buffer), POINTER(Buffer), c_size_t,
        POINTER(CallOptions), c_void_pp]),
    "mdist_scatter": (c_int32, [c_void_p, c_uint32, POINTER(Buffer), POINTER(Buffer), c_size_t, POINTER(CallOptions),
        c_void_pp]),
    "mdist_barrier": (c_int32, [c_void_p, POINTER(CallOptions), c_void_pp]),
    "mdist_strategy_all_reduce": (c_int32, [c_void_p, c_int32, POINTER(Buffer), POINTER(Buffer), c_size_t,
        POINTER(CallOptions), c_void_pp]),
    "mdist_strategy_reduce": (c_int32, [c_void_p, c_int32, c_void_p, POINTER(c_int32), c_size_t, c_void_pp,
        POINTER(CallOptions), c_void_pp]),
    "mdist_strategy_reduce_to": (c_int32, [c_void_p, c_int32, c_void_pp, POINTER(c_char_p), c_size_t, c_void_pp,
        POINTER(CallOptions), c_void_pp]),
    "mdist_strategy_broadcast": (c_int32, [c_void_p, POINTER(Tensor), c_void_pp, c_void_pp]),
    "mdist_strategy_fetch": (c_int32, [c_void_p, c_void_p, c_char_p, FetchFn, c_void_p, c_void_pp, c_void_pp]),
    "mdist_strategy_gather": (c_int32, [c_void_p, c_void_p, c_int32, c_void_pp, POINTER(CallOptions), c_void_pp]),
    "mdist_config_key_count": (c_size_t, []),
    "mdist_config_key_describe": (c_int32, [c_size_t, POINTER(ConfigKey), c_void_pp]),
    "mdist_config_create": (c_int32, [c_void_pp, c_void_pp]),
    "mdist_config_set": (c_int32, [c_void_p, c_char_p, c_char_p, c_void_pp]),
    "mdist_config_get": (c_int32, [c_void_p, c_char_p, c_char_p, c_size_t, POINTER(c_size_t), c_void_pp]),
    "mdist_config_load": (c_int32, [c_void_p, c_char_p, c_void_pp]),
    "mdist_config_load_text": (c_int32, [c_void_p, c_char_p, c_size_t, c_void_pp]),
    "mdist_config_load_environment": (c_int32, [c_void_p, c_void_pp]),
    "mdist_config_destroy": (None, [c_void_p]),
    "mdist_scope_enter": (c_int32, [c_void_p, c_void_pp]),
    "mdist_scope_exit": (c_int32, [c_void_p, c_void_pp]),
    "mdist_current_strategy": (c_int32, [c_void_pp, c_void_pp]),
    "mdist_current_replica": (c_int32, [c_void_pp, c_void_pp]),
    "mdist_set_default_strategy": (c_int32, [c_void_p, c_void_pp]),
    "mdist_dataset_from_tensors": (c_int32, [POINTER(Tensor), c_size_t, c_void_p, FreeFn, c_void_pp, c_void_pp]),
    "mdist_dataset_shard": (c_int32, [c_void_p, c_uint64, c_uint64, c_void_pp, c_void_pp]),
    "mdist_dataset_shuffle": (c_int32, [c_void_p, c_uint64, c_uint64, c_int32, c_void_pp, c_void_pp]),
    "mdist_dataset_repeat": (c_int32, [c_void_p, c_uint64, c_void_pp, c_void_pp]),
    "mdist_dataset_map": (c_int32, [c_void_p, MapFn, c_void_p, FreeFn, POINTER(Tensor), c_size_t, c_void_pp,
        POINTER(MapOptions), c_void_pp]),
    "mdist_dataset_batch": (c_int32, [c_void_p, c_uint64, c_int32, c_void_pp, c_void_pp]),
    "mdist_dataset_prefetch": (c_int32, [c_void_p, c_uint64, c_void_pp, c_void_pp]),
    "mdist_dataset_name": (c_int32, [c_void_p, POINTER(c_char_p), c_size_t, c_void_pp, c_void_pp]),
    "mdist_dataset_component_count": (c_size_t, [c_void_p]),
    "mdist_dataset_component": (c_int32, [c_void_p, c_size_t, POINTER(Tensor), POINTER(c_char_p), POINTER(c_int32),
        c_void_pp]),
    "mdist_dataset_destroy": (None, [c_void_p]),
    "mdist_iterator_create": (c_int32, [c_void_p, c_void_pp, c_void_pp]),
    "mdist_iterator_next": (c_int32, [c_void_p, c_void_pp, c_size_t, c_void_pp]),
    "mdist_iterator_next_value": (c_int32, [c_void_p, c_void_pp, c_void_pp]),
    "mdist_iterator_component_count": (c_size_t, [c_void_p]),
    "mdist_iterator_component": (c_int32, [c_void_p, c_size_t, POINTER(Tensor), POINTER(c_char_p), POINTER(c_int32),
        c_void_pp]),
    "mdist_iterator_save": (c_int32, [c_void_p, c_char_p, c_size_t, POINTER(c_size_t), c_void_pp]),
    "mdist_iterator_restore": (c_int32, [c_void_p, c_char_p, c_void_pp]),
    "mdist_iterator_close": (c_int32, [c_void_p, c_void_pp]),
    "mdist_iterator_destroy": (None, [c_void_p]),
    "mdist_iterators_settle": (c_int32, [c_uint64, POINTER(c_int32), c_void_pp]),
    "mdist_dataset_range": (c_int32, [c_int64, c_int64, c_int64, c_void_pp, c_void_pp]),
    "mdist_dataset_from_generator": (c_int32, [GenerateFn, c_void_p, FreeFn, FreeFn, POINTER(Tensor), c_size_t,
        c_uint32, c_void_pp, c_void_pp]),
    "mdist_dataset_files": (c_int32, [POINTER(c_char_p), c_size_t, c_void_pp, c_void_pp]),
    "mdist_dataset_match_files": (c_int32, [POINTER(c_char_p), c_size_t, c_void_pp, c_void_pp]),
    "mdist_dataset_text_lines": (c_int32, [c_void_p, c_void_pp, POINTER(ReadOptions), c_void_pp]),
    "mdist_dataset_fixed_records": (c_int32, [c_void_p, c_uint64, c_uint64, c_uint64, c_void_pp, POINTER(ReadOptions),
        c_void_pp]),
    "mdist_dataset_tfrecords": (c_int32, [c_void_p, c_void_pp, POINTER(ReadOptions), c_void_pp]),
    "mdist_iterator_skipped": (c_int32, [c_void_p, POINTER(c_uint64), c_void_pp]),
    "mdist_record_writer_create": (c_int32, [c_char_p, c_int32, c_void_pp, c_void_pp]),
    "mdist_record_writer_write": (c_int32, [c_void_p, c_void_p, c_size_t, c_void_pp]),
    "mdist_record_writer_close": (c_int32, [c_void_p, c_void_pp]),
    "mdist_record_writer_destroy": (None, [c_void_p]),
    "mdist_dataset_filter": (c_int32, [c_void_p, FilterFn, c_void_p, FreeFn, c_void_pp, c_void_pp]),
    "mdist_dataset_take": (c_int32, [c_void_p, c_uint64, c_void_pp, c_void_pp]),
    "mdist_dataset_skip": (c_int32, [c_void_p, c_uint64, c_void_pp, c_void_pp]),
    "mdist_dataset_concatenate": (c_int32, [c_void_p, c_void_p, c_void_pp, c_void_pp]),
    "mdist_dataset_zip": (c_int32, [c_void_pp, c_size_t, c_void_pp, c_void_pp]),
    "mdist_dataset_cache": (c_int32, [c_void_p, c_void_pp, c_void_pp]),
    "mdist_dataset_padded_batch": (c_int32, [c_void_p, c_uint64, c_int32, POINTER(Tensor), c_size_t, c_void_pp,
        c_void_pp]),
    "mdist_dataset_unbatch": (c_int32, [c_void_p, c_void_pp, c_void_pp]),
    "mdist_dataset_rebatch": (c_int32, [c_void_p, POINTER(c_uint64), c_size_t, c_int32, c_void_pp, c_void_pp]),
    "mdist_value_from_dlpack": (c_int32, [c_void_p, c_void_pp, c_void_pp]),
    "mdist_value_from_dlpack_versioned": (c_int32, [c_void_p, c_void_pp, c_void_pp]),
    "mdist_value_to_dlpack": (c_int32, [c_void_p, c_size_t, c_void_pp, c_void_pp]),
    "mdist_value_to_dlpack_versioned": (c_int32, [c_void_p, c_size_t, c_void_pp, c_void_pp]),
    "mdist_gpu_count": (c_int32, [POINTER(c_uint32), c_char_p, c_size_t, POINTER(c_size_t), c_void_pp]),
    "mdist_replica_stream": (c_int32, [c_void_p, c_void_pp, c_void_pp]),
    "mdist_replica_use_stream": (c_int32, [c_void_p, c_void_p, c_void_pp]),
    "mdist_tensor_copy": (c_int32, [POINTER(Tensor), POINTER(Tensor), c_void_pp]),
    "mdist_replica_copy": (c_int32, [c_void_p, POINTER(Tensor), POINTER(Tensor), c_void_pp]),
    "mdist_replica_graph": (c_int32, [c_void_p, c_uint64, StepFn, c_void_p, c_void_pp]),
    "mdist_alloc_pinned": (c_int32, [c_size_t, c_void_pp, c_void_pp]),
    "mdist_gradients_create": (c_int32, [c_void_p, POINTER(Tensor), c_size_t, c_void_pp, POINTER(GradientsOptions),
        c_void_pp]),
    "mdist_gradients_create_lent": (c_int32, [c_void_p, POINTER(Tensor), c_size_t, c_void_pp, POINTER(GradientsOptions),
        c_void_pp]),
    "mdist_gradients_lend": (c_int32, [c_void_p, c_uint32, POINTER(Tensor), c_size_t, c_void_pp]),
    "mdist_gradients_tensor": (c_int32, [c_void_p, c_uint32, c_size_t, POINTER(Tensor), c_void_pp]),
    "mdist_gradients_accumulate": (c_int32, [c_void_p, c_void_p, c_void_pp]),
    "mdist_gradients_ready": (c_int32, [c_void_p, c_void_p, c_size_t, c_void_pp]),
    "mdist_gradients_ready_at": (c_int32, [c_void_p, c_void_p, c_size_t, c_void_p, c_void_pp]),
    "mdist_gradients_wait": (c_int32, [c_void_p, c_void_p, POINTER(c_double), POINTER(c_int32), c_void_pp]),
    "mdist_gradients_destroy": (None, [c_void_p]),
    "mdist_group_create": (c_int32, [c_void_p, POINTER(c_uint32), c_size_t, c_void_pp, c_void_pp]),
    "mdist_group_size": (c_uint32, [c_void_p]),
    "mdist_group_position": (c_uint32, [c_void_p, c_uint32]),
    "mdist_group_destroy": (None, [c_void_p]),
    "mdist_distribute_dataset": (c_int32, [c_void_p, c_void_p, c_void_pp, POINTER(InputOptions), c_void_pp]),
    "mdist_input_context_batch_size": (c_int32, [POINTER(InputContext), c_uint64, POINTER(c_uint64), c_void_pp]),
    "mdist_distribute_from_function": (c_int32, [c_void_p, DatasetFn, c_void_p, c_void_pp, POINTER(InputOptions),
        c_void_pp]),
    "mdist_dataset_explain": (c_int32, [c_void_p, c_char_p, c_size_t, POINTER(c_size_t), c_void_pp]),
    "mdist_iterator_rows": (c_int32, [c_void_p, POINTER(c_uint64), c_size_t, c_void_pp]),
    "mdist_log_set_sink": (c_int32, [LogFn, c_void_p, FreeFn, c_void_pp]),
    "mdist_log_set_level": (c_int32, [c_int32, c_void_pp]),
    "mdist_run_steps": (c_int32, [c_void_p, c_void_p, c_uint64, LoopFn, c_void_p, c_void_p, c_void_pp,
        POINTER(CallOptions), c_void_pp]),
    "mdist_loop_set_output": (c_int32, [c_void_p, c_char_p, c_void_p, c_int32, c_void_pp]),
    "mdist_replica_set_output": (c_int32, [c_void_p, c_void_p, c_char_p, POINTER(Tensor), c_int32, c_void_pp]),
    "mdist_loop_outputs": (c_int32, [c_void_p, c_void_pp, c_void_pp]),
    "mdist_loop_set_object": (c_int32, [c_void_p, c_char_p, c_uint32, c_void_p, c_void_pp]),
    "mdist_loop_object": (c_int32, [c_void_p, c_char_p, c_uint32, c_void_pp, c_void_pp]),
    "mdist_loop_iterations": (c_uint64, [c_void_p]),
    "mdist_loop_destroy": (None, [c_void_p]),
    "mdist_average_loss": (c_int32, [c_void_p, POINTER(Tensor), POINTER(Tensor), POINTER(c_uint64), POINTER(c_double),
        POINTER(CallOptions), c_void_pp]),
    "mdist_scale_regularization": (c_int32, [c_void_p, POINTER(Tensor), POINTER(c_double), c_void_pp]),
    "mdist_alloc": (c_int32, [c_void_p, c_uint32, c_size_t, c_void_pp, c_void_pp]),
    "mdist_free": (None, [c_void_p]),
    "mdist_preemption_create": (c_int32, [c_void_p, c_void_pp, POINTER(PreemptionOptions), c_void_pp]),
    "mdist_preemption_announce": (None, [c_void_p]),
    "mdist_preemption_check": (c_int32, [c_void_p, POINTER(c_int32), POINTER(c_uint32), POINTER(CallOptions),
        c_void_pp]),
    "mdist_preemption_destroy": (None, [c_void_p]),
    "mdist_step_register": (c_int32, [c_void_p, c_char_p, StepFn, c_void_p, c_void_pp]),
    "mdist_update_register": (c_int32, [c_void_p, c_char_p, UpdateFn, c_void_p, c_void_pp]),
    "mdist_run_named": (c_int32, [c_void_p, c_char_p, c_void_pp, c_size_t, c_void_pp, c_size_t, POINTER(CallOptions),
        c_void_pp]),
    "mdist_update_named": (c_int32, [c_void_p, c_void_p, c_char_p, c_void_pp, c_size_t, c_void_pp, c_size_t,
        c_void_pp]),
    "mdist_serve": (c_int32, [c_void_p, POINTER(CallOptions), c_void_pp]),
    "mdist_status_name": (c_char_p, [c_int32]),
    "mdist_error_status": (c_int32, [c_void_p]),
    "mdist_error_message": (c_char_p, [c_void_p]),
    "mdist_error_reason": (c_char_p, [c_void_p]),
    "mdist_error_operation": (c_char_p, [c_void_p]),
    "mdist_error_replica": (c_uint32, [c_void_p]),
    "mdist_error_worker": (c_uint32, [c_void_p]),
    "mdist_error_native": (c_int64, [c_void_p]),
    "mdist_fail_because": (None, [c_char_p]),
    "mdist_error_free": (None, [c_void_p]),
    "mdist_run_begin": (c_int32, [c_void_p, c_void_pp, c_size_t, c_size_t, POINTER(CallOptions), c_void_pp]),
    "mdist_run_end": (c_int32, [c_void_p, c_void_pp, c_size_t, c_void_pp]),
    "mdist_replica_enter": (c_int32, [c_void_p, c_uint32, c_void_pp, c_void_pp]),
    "mdist_replica_exit": (c_int32, [c_void_p, c_int32, c_void_pp]),
    "mdist_merge_begin": (c_int32, [c_void_p, POINTER(Tensor), c_size_t, c_void_pp, POINTER(CallOptions), c_void_pp]),
    "mdist_merge_end": (c_int32, [c_void_p, c_int32, c_void_pp, POINTER(Tensor), c_size_t, c_void_pp]),
    "mdist_store_create": (c_int32, [c_char_p, c_uint32, c_char_p, c_uint32, c_char_p, c_void_pp, c_void_pp]),
    "mdist_store_address": (c_int32, [c_void_p, c_char_p, c_size_t, POINTER(c_size_t), c_void_pp]),
    "mdist_store_restart": (c_int32, [c_void_p, c_uint32, c_uint32, c_void_pp]),
    "mdist_store_progress": (c_int32, [c_void_p, POINTER(c_uint32), c_char_p, c_size_t, POINTER(c_size_t), c_void_pp]),
    "mdist_store_first_gone": (c_int32, [c_void_p, POINTER(c_uint32), c_void_pp]),
    "mdist_store_destroy": (None, [c_void_p]),
    "mdist_strategy_create": (c_int32, [c_void_p, c_void_pp, c_void_pp]),
    "mdist_strategy_abort": (None, [c_void_p]),
    "mdist_strategy_check_health": (c_int32, [c_void_p, c_void_pp]),
    "mdist_strategy_destroy": (None, [c_void_p]),
    "mdist_strategy_replica_count": (c_uint32, [c_void_p]),
    "mdist_strategy_local_replica_count": (c_uint32, [c_void_p]),
    "mdist_strategy_worker_count": (c_uint32, [c_void_p]),
    "mdist_strategy_worker": (c_uint32, [c_void_p]),
    "mdist_strategy_is_chief": (c_int32, [c_void_p]),
    "mdist_strategy_device": (c_int32, [c_void_p, c_uint32, c_char_p, c_size_t, POINTER(c_size_t), c_void_pp]),
    "mdist_run": (c_int32, [c_void_p, StepFn, c_void_p, c_void_pp, c_size_t, c_void_pp, c_size_t, POINTER(CallOptions),
        c_void_pp]),
    "mdist_map": (c_int32, [c_void_p, c_uint64, ElementFn, c_void_p, c_void_pp, c_size_t, c_void_pp, c_size_t,
        POINTER(CallOptions), c_void_pp]),
    "mdist_replica_id": (c_uint32, [c_void_p]),
    "mdist_replica_local_index": (c_uint32, [c_void_p]),
    "mdist_replica_count": (c_uint32, [c_void_p]),
    "mdist_replica_argument": (c_int32, [c_void_p, c_size_t, c_char_p, POINTER(Tensor), c_void_pp]),
    "mdist_replica_set_result": (c_int32, [c_void_p, c_size_t, c_char_p, POINTER(Tensor), c_void_pp]),
    "mdist_merge_call": (c_int32, [c_void_p, MergeFn, c_void_p, POINTER(Tensor), c_size_t, POINTER(Tensor), c_size_t,
        POINTER(CallOptions), c_void_pp]),
    "mdist_replica_set_merge_argument": (c_int32, [c_void_p, c_size_t, c_char_p, POINTER(Tensor), c_void_pp]),
    "mdist_replica_merge_result": (c_int32, [c_void_p, c_size_t, c_char_p, POINTER(Tensor), c_void_pp]),
    "mdist_dtype_size": (c_size_t, [c_int32]),
    "mdist_dtype_name": (c_char_p, [c_int32]),
    "mdist_tensor_describe": (c_int32, [c_void_p, c_int32, POINTER(c_uint64), c_size_t, POINTER(Tensor), c_void_pp]),
    "mdist_tensor_elements": (c_uint64, [POINTER(Tensor)]),
    "mdist_value_create": (c_int32, [POINTER(Tensor), c_void_pp, c_void_pp]),
    "mdist_value_wrap": (c_int32, [POINTER(Tensor), c_void_p, FreeFn, c_void_pp, c_void_pp]),
    "mdist_value_per_replica": (c_int32, [c_void_p, POINTER(Tensor), c_size_t, c_void_pp, c_void_pp]),
    "mdist_value_mirrored": (c_int32, [c_void_p, c_void_p, c_void_pp, c_void_pp]),
    "mdist_value_kind": (c_int32, [c_void_p]),
    "mdist_value_count": (c_size_t, [c_void_p]),
    "mdist_value_tensor": (c_int32, [c_void_p, c_size_t, POINTER(Tensor), c_void_pp]),
    "mdist_value_structure": (c_int32, [POINTER(c_char_p), c_void_pp, c_size_t, c_void_pp, c_void_pp]),
    "mdist_value_leaf_count": (c_size_t, [c_void_p]),
    "mdist_value_leaf_path": (c_char_p, [c_void_p, c_size_t]),
    "mdist_value_at": (c_int32, [c_void_p, c_char_p, c_void_pp, c_void_pp]),
    "mdist_values_from_function": (c_int32, [c_void_p, ValueFn, c_void_p, c_void_pp, c_void_pp]),
    "mdist_value_rows": (c_int32, [c_void_p, c_void_p, c_void_pp, c_void_pp]),
    "mdist_value_indices": (c_int32, [c_void_p, c_size_t, POINTER(Tensor), c_void_pp]),
    "mdist_value_destroy": (None, [c_void_p]),
    "mdist_variable_create": (c_int32, [c_void_p, c_char_p, POINTER(Tensor), c_void_pp, POINTER(VariableOptions),
        c_void_pp]),
    "mdist_replica_variable_create": (c_int32, [c_void_p, c_char_p, POINTER(Tensor), c_void_pp,
        POINTER(VariableOptions), c_void_pp]),
    "mdist_variable_assign": (c_int32, [c_void_p, c_int32, c_void_p, c_void_pp]),
    "mdist_replica_assign": (c_int32, [c_void_p, c_void_p, c_int32, POINTER(Tensor), POINTER(CallOptions), c_void_pp]),
    "mdist_replica_assign_rows": (c_int32, [c_void_p, c_void_p, c_int32, POINTER(Tensor), POINTER(Tensor),
        POINTER(CallOptions), c_void_pp]),
    "mdist_variable_read": (c_int32, [c_void_p, c_void_pp, POINTER(CallOptions), c_void_pp]),
    "mdist_cached_reads_enter": (c_int32, [c_void_p, c_void_pp]),
    "mdist_cached_reads_exit": (c_int32, [c_void_p, c_void_pp]),
    "mdist_variable_tensor": (c_int32, [c_void_p, c_uint32, POINTER(Tensor), c_void_pp]),
    "mdist_variable_name": (c_char_p, [c_void_p]),
    "mdist_variable_arena": (c_int32, [c_void_p, c_int32, c_uint32, POINTER(Buffer), c_void_pp]),
    "mdist_variable_of": (c_int32, [c_void_p, c_void_p, c_void_pp, POINTER(c_uint32), c_void_pp]),
    "mdist_variable_find": (c_int32, [c_void_p, c_char_p, c_void_pp, c_void_pp]),
    "mdist_update": (c_int32, [c_void_p, UpdateFn, c_void_p, c_void_pp, c_size_t, c_void_pp, c_size_t, c_void_pp]),
    "mdist_update_non_slot": (c_int32, [c_void_p, UpdateFn, c_void_p, c_void_pp, c_size_t, c_void_pp, c_size_t,
        c_void_pp]),
    "mdist_variable_destroy": (None, [c_void_p]),
    "mdist_all_reduce_start": (c_int32, [c_void_p, c_int32, POINTER(Buffer), POINTER(Buffer), c_size_t, c_void_pp,
        POINTER(CallOptions), c_void_pp]),
    "mdist_broadcast_start": (c_int32, [c_void_p, c_uint32, POINTER(Buffer), c_size_t, c_void_pp, POINTER(CallOptions),
        c_void_pp]),
    "mdist_all_gather_start": (c_int32, [c_void_p, POINTER(Buffer), POINTER(Buffer), c_size_t, c_void_pp,
        POINTER(CallOptions), c_void_pp]),
    "mdist_reduce_scatter_start": (c_int32, [c_void_p, c_int32, POINTER(Buffer), POINTER(Buffer), c_size_t, c_void_pp,
        POINTER(CallOptions), c_void_pp]),
    "mdist_all_to_all_start": (c_int32, [c_void_p, POINTER(Buffer), POINTER(Buffer), c_size_t, c_void_pp,
        POINTER(CallOptions), c_void_pp]),
    "mdist_all_to_all_parts_start": (c_int32, [c_void_p, POINTER(Buffer), POINTER(c_uint64), POINTER(Buffer),
        POINTER(c_uint64), c_size_t, c_void_pp, POINTER(CallOptions), c_void_pp]),
    "mdist_reduce_to_root_start": (c_int32, [c_void_p, c_int32, c_uint32, POINTER(Buffer), POINTER(Buffer), c_size_t,
        c_void_pp, POINTER(CallOptions), c_void_pp]),
    "mdist_gather_to_root_start": (c_int32, [c_void_p, c_uint32, POINTER(Buffer), POINTER(Buffer), c_size_t, c_void_pp,
        POINTER(CallOptions), c_void_pp]),
    "mdist_scatter_start": (c_int32, [c_void_p, c_uint32, POINTER(Buffer), POINTER(Buffer), c_size_t, c_void_pp,
        POINTER(CallOptions), c_void_pp]),
    "mdist_barrier_start": (c_int32, [c_void_p, c_void_pp, POINTER(CallOptions), c_void_pp]),
    "mdist_work_test": (c_int32, [c_void_p, POINTER(c_int32), c_void_pp]),
    "mdist_work_wait": (c_int32, [c_void_p, c_uint64, POINTER(c_int32), c_void_pp]),
    "mdist_work_descriptor": (c_int32, [c_void_p, POINTER(c_int32), c_void_pp]),
    "mdist_work_on_done": (c_int32, [c_void_p, WorkDoneFn, c_void_p, c_void_pp]),
    "mdist_work_destroy": (None, [c_void_p]),
}
# ---- ... to here.


_SONAME = "libmdist.so.1"


def _load():
    name = os.environ.get("MDIST_LIBRARY", _SONAME)
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        raise ImportError(f"{error}; set MDIST_LIBRARY to the path of {_SONAME}") from None
    for function, (result, parameters) in FUNCTIONS.items():
        try:
            found = getattr(library, function)
        except AttributeError:
            raise ImportError(f"{name} is older than this mdist.py: it has no {function}") from None
        found.restype, found.argtypes = result, parameters
    return library


_lib = _load()


def _python(name, result, *parameters):
    """A function of the interpreter itself."""
    return ctypes.PYFUNCTYPE(result, *parameters)((name, ctypes.pythonapi))


_get_buffer = _python("PyObject_GetBuffer", ctypes.c_int, py_object, c_void_p, ctypes.c_int)
_release_buffer = _python("PyBuffer_Release", None, c_void_p)


# ---- Errors


def _or_none(number):
    """The number of a replica or worker, or -1 for NONE."""
    return -1 if number == NONE else number


class Error(Exception):
    """A call that failed. str() is the library's sentence; `reason` is a stable word for programs, often ""."""

    def __init__(self, message, status=Status.INTERNAL, reason="", operation="", replica=-1, native=0, worker=-1):
        super().__init__(message, status, reason, operation, replica, native, worker)
        self.status = status  # a Status
        self.reason = reason
        self.operation = operation  # the C function that failed
        self.replica = replica  # id of the one at fault, or -1
        self.worker = worker  # its rank, likewise
        self.native = native  # the number underneath: errno and the like

    def __str__(self):
        text = self.args[0]
        if self.status == Status.CALLBACK and self.__cause__ is not None:
            said = f"returned {self.native}: "
            cause = "" if said in text else f"{type(self.__cause__).__name__}: {self.__cause__}"
            text = text.replace(said if said in text else said[:-2], f"raised {cause}")
        return f"{text} ({self.status.name})"

    @classmethod
    def _take(cls, handle):
        try:
            return cls(_lib.mdist_error_message(handle).decode(), Status(_lib.mdist_error_status(handle)),
                       _lib.mdist_error_reason(handle).decode(), _lib.mdist_error_operation(handle).decode(),
                       _or_none(_lib.mdist_error_replica(handle)), _lib.mdist_error_native(handle),
                       _or_none(_lib.mdist_error_worker(handle)))
        finally:
            _lib.mdist_error_free(handle)


def _call(function, *arguments):
    """Any function that ends in `error`: its status, or Error."""
    error = c_void_p()
    try:
        status = function(*arguments, byref(error))
    except ctypes.ArgumentError as refused:
        raise _refusal(function, arguments, refused) from None
    if status < 0:
        raise Error._take(error)
    return status


_SORTS = {c_int32: "a whole number", c_uint32: "a whole number", c_int64: "a whole number", c_uint64: "a whole number",
          c_size_t: "a whole number", c_double: "a number", c_char_p: "a text"}


def _refusal(function, arguments, refused):
    """What ctypes has against the arguments, in words of this module."""
    found = re.match(r"argument (\d+)", str(refused))
    if found is None:
        return TypeError(f"{function.__name__}: {refused}")
    index = int(found.group(1)) - 1
    given, wanted = arguments[index], function.argtypes[index]
    return TypeError(f"{function.__name__.removeprefix('mdist_')}: {_kind(given)} {given!r:.60}, where "
                     f"{_SORTS.get(wanted, 'an object of this module')} belongs")


def _kind(thing):
    return type(thing).__name__


def _new(function, *arguments, options=()):
    """Any function that ends in `out, [options,] error`: the new handle."""
    out = c_void_p()
    _call(function, *arguments, byref(out), *options)
    return out.value


def _text(function, *arguments):
    """Any function that ends in `text, capacity, needed, error`."""
    needed = c_size_t()
    _call(function, *arguments, None, 0, byref(needed))
    text = ctypes.create_string_buffer(needed.value)
    _call(function, *arguments, text, needed, None)
    return text.value.decode()


def _fail_because(exception):
    """Tells the library in words why a function fails, for the errors that other workers get."""
    try:
        # What the library has said itself it recognizes.
        words = exception.args[0] if isinstance(exception, Error) else f"{type(exception).__name__}: {exception}"
        _lib.mdist_fail_because(words.split("\0")[0].encode(errors="backslashreplace"))
    except Exception:  # of their __str__
        _lib.mdist_fail_because(type(exception).__name__.encode())


class _Failures(dict):
    """Exceptions of callbacks, by the number that the callback returned: the library tells which came first."""

    _codes = itertools.count(1)

    def guard(self, function, *arguments):
        """Calls it on behalf of the library: 0, or the number of what it raised."""
        try:
            function(*arguments)
            return 0
        except BaseException as exception:
            return self.add(exception)

    def add(self, exception):
        """The number of an exception, which is for the library to get next, from this thread."""
        code = next(self._codes) % 0x7FFFFFFF + 1
        self[code] = exception
        _fail_because(exception)
        return code

    def cause(self, error):
        """What is behind an error; KeyboardInterrupt and its like go through as themselves."""
        found = self.get(error.native) if error.status == Status.CALLBACK else None
        if found is None:  # a collective that failed, of which steps had news, too
            same = (one for one in self.values() if isinstance(one, Error) and one.args[0] == error.args[0])
            found = next(same, None)
        if found is None and error.reason == "merge_open":  # the replica left a merge by an exception
            found = next((one for one in self.values() if not isinstance(one, Error)), None)
        if found is not None and not isinstance(found, Exception):
            raise found
        return found

    def lost(self, error):
        """Whether a callback returned a number that is not from here. An interrupt (Ctrl-C) at its first instruction is
        outside of any `try`: ctypes drops it, and returns what happens to be in memory, 0 or not. So whoever calls the
        library also counts the callbacks that came as far as their function, and raises the KeyboardInterrupt then."""
        return error.status == Status.CALLBACK and error.native != 0 and error.native not in self


# ---- What the library holds, and what holds the library

# Callbacks are registered with a key as user_data; the C functions under them are made once and live for ever.
_kept = {}
_keys = itertools.count(1)


def _keep(thing):
    key = next(_keys)
    _kept[key] = thing
    return key


@FreeFn
def _FREE(key):
    _kept.pop(key, None)


class _Held:
    """Holds a handle, and gives it back when nobody can reach this any more, or at the program's end."""

    _destroy = None

    def __init__(self, handle):
        self._handle = handle
        self._finalizer = weakref.finalize(self, self._destroy, handle)

    @classmethod
    def _of(cls, handle, **attributes):
        self = cls.__new__(cls)
        _Held.__init__(self, handle)
        self.__dict__.update(attributes)
        return self


class _Destroyable(_Held):
    """One behind whose back nobody looks at memory: it can go before its time."""

    def destroy(self):
        """Gives the handle back now."""
        self._finalizer()


class _Memory:
    """An address and shape for NumPy to look at, which keeps the owner of the memory alive."""

    def __init__(self, tensor, owner, writable):
        shape = tuple(tensor.shape[:tensor.rank])
        self.owner = owner
        self.__array_interface__ = {"version": 3, "typestr": _TYPES[tensor.dtype][0], "shape": shape,
                                    "data": (tensor.data or 0, not writable)}


# NumPy's and ctypes' word for each Dtype. bfloat16 has none: its bits are shown.
_TYPES = {
    Dtype.FLOAT32: ("<f4", ctypes.c_float, "f"), Dtype.FLOAT64: ("<f8", ctypes.c_double, "d"),
    Dtype.FLOAT16: ("<f2", ctypes.c_uint16, "H"), Dtype.BFLOAT16: ("<u2", ctypes.c_uint16, "H"),
    Dtype.INT8: ("|i1", ctypes.c_int8, "b"), Dtype.UINT8: ("|u1", ctypes.c_uint8, "B"),
    Dtype.INT32: ("<i4", c_int32, "i"), Dtype.UINT32: ("<u4", c_uint32, "I"),
    Dtype.INT64: ("<i8", c_int64, "q"), Dtype.UINT64: ("<u8", c_uint64, "Q"),
}
_KNOWN = ", ".join(one.name.lower() for one in _TYPES)
# A buffer's format and size for each Dtype, in this machine's order.
_FORMATS = {"f4": Dtype.FLOAT32, "d8": Dtype.FLOAT64, "e2": Dtype.FLOAT16, "b1": Dtype.INT8, "B1": Dtype.UINT8,
            "i4": Dtype.INT32, "I4": Dtype.UINT32, "l8": Dtype.INT64, "L8": Dtype.UINT64, "q8": Dtype.INT64,
            "Q8": Dtype.UINT64}

_TYPESTRS = {typestr: dtype for dtype, (typestr, _, _) in _TYPES.items() if dtype != Dtype.BFLOAT16}

Typed = namedtuple("Typed", "array dtype")
Typed.__doc__ = """An array whose elements are `dtype`, whatever their own dtype says: Typed(bits, "bfloat16")."""


def _dtype(name):
    """Dtype.FLOAT32, "float32" and numpy.float32 alike."""
    if isinstance(name, Dtype):
        return name
    text = name if isinstance(name, str) else numpy.dtype(name).name if numpy else str(name)
    try:
        return Dtype[text.upper()]
    except KeyError:
        raise TypeError(f"no dtype {text}; there are {_KNOWN}") from None


def _choice(kind, given, what):
    """A member of an IntEnum, which may be given as its name: ReduceOp.SUM, "sum"."""
    names = ", ".join(f'"{one.name.lower()}"' for one in kind)
    if not isinstance(given, (str, int)):
        raise TypeError(f"{_kind(given)} is no {what}; there are {names}")
    try:
        return kind[given.upper()] if isinstance(given, str) else kind(given)
    except (KeyError, ValueError):
        raise ValueError(f"{given!r} is no {what}; there are {names}") from None


def _op(given):
    return _choice(ReduceOp, given, "operation")


def _handle(thing, kind):
    """The handle of a Variable, a Strategy ..., and of nothing else."""
    if not isinstance(thing, kind):
        raise TypeError(f"{_kind(thing)} {thing!r:.60}, where a {kind.__name__} belongs")
    return thing._handle


def _name(text):
    if not isinstance(text, str):
        raise TypeError(f"{_kind(text)} {text!r:.60}, where a name (str) belongs")
    return text.encode()


def _on_host(tensor):
    if tensor.device_kind != DeviceKind.CPU:
        raise BufferError(f"the tensor lies on {_place(tensor)}, and an array is memory of the host; mdist.copy, in a "
                          "step replica.copy, brings it there from its tensor()")


def _place(tensor):
    return f"{DeviceKind(tensor.device_kind).name.lower()}:{tensor.device_index}"


def _flat(tensor, owner, writable):
    _on_host(tensor)
    elements = _lib.mdist_tensor_elements(byref(tensor))
    _, element, form = _TYPES[tensor.dtype]
    memory = (element * elements).from_address(tensor.data) if elements else (element * 0)()
    memory.owner = owner
    view = memoryview(memory).cast("B").cast(form)
    return view if writable else view.toreadonly()


def _array(tensor, owner, writable=False):
    """The tensor's memory as an array (without NumPy: a flat memoryview) that keeps `owner`."""
    _on_host(tensor)
    return numpy.asarray(_Memory(tensor, owner, writable)) if numpy else _flat(tensor, owner, writable)


def _seen(tensor, owner, writable=False):
    """The tensor's memory as an array, or as a GpuArray."""
    return (_array if tensor.device_kind == DeviceKind.CPU else GpuArray)(tensor, owner, writable)


def _copied(tensor, replica=None):
    """A copy on the host; in a step behind what the replica's stream has been given."""
    if tensor.dtype == Dtype.NONE:
        return None
    if tensor.device_kind != DeviceKind.CPU:
        return _fetched(tensor, replica)
    view = _array(tensor, None)
    return view.copy() if numpy else memoryview(bytearray(view.cast("B"))).cast(view.format)


def _fetched(tensor, replica):
    typestr, _, form = _TYPES[tensor.dtype]
    if numpy:
        array = numpy.empty(tuple(tensor.shape[:tensor.rank]), typestr)
    else:
        bytes_ = _lib.mdist_tensor_elements(byref(tensor)) * _lib.mdist_dtype_size(tensor.dtype)
        array = memoryview(bytearray(bytes_)).cast(form)
    to, view = _tensor(Typed(array, Dtype(tensor.dtype)), True)
    to.rank, to.shape = tensor.rank, tensor.shape
    if replica is None:
        _call(_lib.mdist_tensor_copy, byref(to), byref(tensor))
    else:
        _call(_lib.mdist_replica_copy, replica, byref(to), byref(tensor))
    del view
    return array


def _need_numpy():
    if not numpy:
        raise ImportError("numpy() needs NumPy, which is not installed; memory() does without")


def _is_plain(thing):
    """Numbers, and lists and tuples of numbers alone, nested: arrays that have no memory yet."""
    if isinstance(thing, (list, tuple)) and not isinstance(thing, Typed):
        return bool(thing) and all(map(_is_plain, thing))
    return type(thing) in (int, float)


def _memory_of(plain):
    """A new array with these numbers: int64 if all are whole, else float64."""
    if numpy:
        array = numpy.array(plain)  # refuses rows of different lengths
        if array.dtype == object or array.dtype == numpy.uint64:
            raise ValueError("a number does not fit in int64; pass numpy.array(numbers, 'uint64'), or 'float64'")
        return array.astype(numpy.int64, copy=False) if array.dtype.kind == "i" else array
    numbers = list(plain) if isinstance(plain, (list, tuple)) else [plain]
    if any(isinstance(one, (list, tuple)) for one in numbers):
        raise TypeError("a nested list needs NumPy, which is not installed; pass a memoryview with a shape")
    form = "q" if all(isinstance(one, int) for one in numbers) else "d"
    view = memoryview(Array(form, numbers))
    return view if isinstance(plain, (list, tuple)) else view.cast("B").cast(form, ())


def _view(array, writable=False):
    """(memoryview, its Dtype if the elements do not say) of an array of the host; None for one on a GPU."""
    try:
        return memoryview(array), None
    except TypeError:
        pass
    except (ValueError, BufferError) as error:
        raise TypeError(f"{_kind(array)} {array!r:.60}: {error}; there are {_KNOWN}") from None
    if hasattr(array, "__cuda_array_interface__"):
        return None
    if hasattr(array, "__dlpack__"):
        return _dlpack_view(array)
    if _is_plain(array):
        if writable:
            raise TypeError(f"a result cannot be written into a {_kind(array)}; pass an array, as "
                            "numpy.array(...) makes one, and look at that afterwards")
        return memoryview(_memory_of(array)), None
    if numpy and not writable and (hasattr(array, "__array__") or hasattr(array, "__array_interface__")):
        return memoryview(numpy.asarray(array)), None
    raise TypeError(f"{_kind(array)} {array!r:.60} is no array; arrays are NumPy's, and whatever has a buffer "
                    "(array.array), __dlpack__ or __cuda_array_interface__, and for what is only read numbers and "
                    "lists of numbers")


def _tensor(thing, writable=False, exact=False):
    """Describes an array: (Tensor, what must live as long as that is in use).

    Of one that is only read and has no dense memory, that is a copy; `exact` refuses such, as `writable` does."""
    array, dtype = thing if isinstance(thing, Typed) else (thing, None)
    seen = _view(array, writable)
    if seen is None:
        return _gpu_tensor(array, dtype, writable), array
    view, found = seen
    found = found or _FORMATS.get(f"{view.format.lstrip('<@=')}{view.itemsize}")
    if dtype is not None:
        found = _dtype(dtype)
        if _lib.mdist_dtype_size(found) != view.itemsize:
            raise TypeError(f"elements of {view.itemsize} bytes are not {found.name.lower()}")
    if found is None:
        raise TypeError(f"elements of {getattr(array, 'dtype', repr(view.format))}; there are {_KNOWN}")
    if writable and view.readonly:
        raise ValueError(f"a read-only array of shape {view.shape}, where results are to be written")
    if not view.c_contiguous:
        if writable or exact:
            raise ValueError(f"an array of shape {view.shape} and strides {view.strides} is not C-contiguous, and this "
                             "call works on its memory; give it one that is (numpy.empty(shape, dtype)), and copy from "
                             "or to that: x[...] = result")
        view = _dense(view)
    tensor = _described(found, view.shape)
    raw = (c_void_p * 16)()  # a Py_buffer, whose first field is the address
    _get_buffer(view, raw, 0)
    tensor.data = raw[0]
    _release_buffer(raw)
    return tensor, (view, array)


def _dense(view):
    """A C-contiguous copy."""
    if numpy:
        return memoryview(numpy.ascontiguousarray(view))
    return memoryview(bytearray(view.tobytes())).cast(view.format.lstrip("<@="), view.shape)


def _gpu_tensor(array, dtype, writable):
    """Describes an array of CuPy, PyTorch, Numba ..., or of ours; which GPU's it is, the library sees by itself."""
    seen = array.__cuda_array_interface__
    form, shape, (data, readonly) = seen["typestr"], seen["shape"], seen["data"]
    if dtype is None and isinstance(array, GpuArray):
        dtype = array.dtype
    found = _TYPESTRS.get(form) if dtype is None else _dtype(dtype)
    if found is None or _lib.mdist_dtype_size(found) != int(form[2:]):
        raise TypeError(f"elements of {form}; there are {_KNOWN}")
    if seen.get("strides") is not None and 0 not in shape:
        dense = int(form[2:])
        for length, stride in zip(reversed(shape), reversed(seen["strides"])):
            if length != 1 and stride != dense:
                raise ValueError(f"an array of shape {shape} on a GPU that is not C-contiguous; work on one that is, "
                                 "and copy from or to that")
            dense *= length
    if writable and readonly:
        raise ValueError(f"a read-only array of shape {shape}, where results are to be written")
    tensor = _described(found, shape)
    tensor.data = data
    return tensor


def _described(dtype, shape):
    """A Tensor without memory."""
    if len(shape) > MAX_RANK:
        raise ValueError(f"an array of {len(shape)} dimensions; {MAX_RANK} is the most")
    return Tensor(None, _dtype(dtype), len(shape), 0, 0, (c_uint64 * MAX_RANK)(*map(_count, shape)))


def _count(number):
    """ctypes would take -1 for the largest number there is, and forget what lies beyond 64 bits."""
    try:
        whole = operator.index(number)
    except TypeError:
        raise TypeError(f"{_kind(number)} {number!r:.60}, where a whole number belongs") from None
    if not 0 <= whole < 2**64:
        raise ValueError(f"{whole} is {'below 0' if whole < 0 else 'too large'}")
    return whole


def _tensors(things, writable=False):
    pairs = [_tensor(thing, writable) for thing in things]
    return (Tensor * len(pairs))(*(tensor for tensor, _ in pairs)), [view for _, view in pairs]


def _listed(things):
    """One array, or a list or tuple of them. A list of numbers alone is one array."""
    return things if _is_tree(things) and not isinstance(things, dict) and not _is_plain(things) else [things]


class _Operands:
    """The arrays of a collective: what the library is told, what must live meanwhile, and what the caller gets. A call
    that waits (`waits`) also writes to arrays that are not dense, by way of copies, and makes arrays of numbers and
    lists for its results."""

    def __init__(self, things, writable, waits):
        self._results, self.views, self._copies = [], [], []
        described = [self._described(thing, writable, waits) for thing in things]
        self.buffers = (Buffer * len(described))(
            *((tensor.data, _lib.mdist_tensor_elements(byref(tensor)), tensor.dtype, 0) for tensor in described))

    def _described(self, thing, writable, waits):
        if writable and waits:
            thing = self._stand_in(thing)
        tensor, view = _tensor(thing, writable)
        self.views.append(view)
        return tensor

    def _stand_in(self, thing):
        """An array that the library can write to, for one that it cannot."""
        array, dtype = thing if isinstance(thing, Typed) else (thing, None)
        if _is_plain(array) or numpy and isinstance(array, numpy.generic):
            made = _memory_of(array) if _is_plain(array) else numpy.array(array)
            self._results.append(made)
            return made if dtype is None else Typed(made, dtype)
        self._results.append(thing)
        seen = _view(array, True)
        if seen is None or seen[0].c_contiguous or seen[0].readonly or not numpy:
            return thing
        target = numpy.asarray(seen[0])
        dense = numpy.ascontiguousarray(target)
        self._copies.append((target, dense))
        dtype = dtype or seen[1]
        return dense if dtype is None else Typed(dense, dtype)

    def results(self):
        """After the call has gone well."""
        for target, dense in self._copies:
            target[...] = dense
        return self._results


def _handles(owned):
    return (c_void_p * len(owned))(*(one._handle for one in owned))


def _options(timeout):
    if timeout is None:
        return None
    return byref(CallOptions(ctypes.sizeof(CallOptions), 0, max(1, _nanoseconds(timeout))))


def _nanoseconds(timeout):
    if timeout is None or timeout == float("inf"):
        return FOREVER
    try:
        return min(FOREVER, _count(round(timeout * 1e9)))
    except (TypeError, ValueError) as error:
        raise type(error)(f"{timeout!r:.60} is no time; it is a number of seconds, 0 or more") from None


def _leaves(tree, path=""):
    """(path, leaf) for each leaf of nested dicts, lists and tuples; anything else is its own, at ""."""
    if isinstance(tree, dict):
        for name in tree:
            if not isinstance(name, str) or not name or "." in name or name.isdecimal():
                raise ValueError(f"{name!r} names a leaf of a structure; names are texts without dots, and no numbers")
        parts = tree.items()
    elif isinstance(tree, (list, tuple)) and not isinstance(tree, Typed):
        parts = enumerate(tree)
    else:
        yield path, tree
        return
    for name, part in parts:
        yield from _leaves(part, f"{path}.{name}" if path else str(name))


def _is_tree(thing):
    return isinstance(thing, (dict, list, tuple)) and not isinstance(thing, Typed)


def _tree(leaves):
    """What _leaves took apart, of (path, leaf) in the library's order: positions become lists."""
    root = {}
    for path, leaf in leaves:
        if not path:
            return leaf
        *above, last = path.split(".")
        place = root
        for name in above:
            place = place.setdefault(name, {})
        place[last] = leaf
    return _with_lists(root)


def _with_lists(tree):
    if type(tree) is not dict:
        return tree
    parts = {name: _with_lists(part) for name, part in tree.items()}
    return list(parts.values()) if parts and next(iter(parts)).isdecimal() else parts


# ---- Config and values


class Config(_Destroyable):
    """String keys that decide devices, executor and limits: Config({"communication.timeout": "30s"}, devices="cpu*2").

    Reads and takes keys like a dict. An empty one does not look at the environment; load_environment() does.
    """

    _destroy = _lib.mdist_config_destroy

    def __init__(self, keys=(), **more):
        super().__init__(_new(_lib.mdist_config_create))
        self._lock = threading.Lock()  # the library does not check that one thread at a time uses it
        for key, value in {**dict(keys), **more}.items():
            self[key] = value

    def __setitem__(self, key, value):
        with self._lock:
            _call(_lib.mdist_config_set, self._handle, _name(key), str(value).encode())

    def __getitem__(self, key):
        with self._lock:
            return _text(_lib.mdist_config_get, self._handle, _name(key))

    def load(self, path):
        """A YAML file."""
        with self._lock:
            _call(_lib.mdist_config_load, self._handle, os.fsencode(path))

    def load_text(self, yaml):
        with self._lock:
            _call(_lib.mdist_config_load_text, self._handle, yaml.encode(), len(yaml.encode()))

    def load_environment(self):
        """The file that MDIST_CONFIG names, then every MDIST_* key."""
        with self._lock:
            _call(_lib.mdist_config_load_environment, self._handle)


class Value(_Held):
    """What goes into a run and comes out: one array (plain), or one per local replica. Never changes.

    Value(array) holds a copy; Value.wrap(array) the array itself, which must not change as long as the value lives.
    Of dicts and lists of arrays or Values, nested, both make a structure: value["grads.0"] is one of its leaves, or
    what lies below; `paths` are the leaves'; numpy() gives dicts and lists back, in which empty ones are gone.
    """

    @staticmethod
    def _destroy(handle):
        _lib.mdist_value_destroy(handle)
        _Export.sweep()

    _borrowed = False  # dies with a callback

    def __init__(self, array):
        super().__init__(_structure(array, Value) if _is_tree(array) else _create(array))

    @classmethod
    def wrap(cls, array):
        if _is_tree(array):
            return cls._of(_structure(array, cls.wrap))
        tensor, view = _tensor(array)
        return cls._of(_new(_lib.mdist_value_wrap, byref(tensor), _keep(view), _FREE))

    @classmethod
    def rows(cls, indices, values):
        """Rows of larger arrays: row i of `values` is row indices[i] (int64) there. Both are arrays, or Values of one
        kind. For reductions, and for Variable.assign, which leaves other rows alone."""
        indices, values = _value(indices), _value(values)
        return cls._of(_new(_lib.mdist_value_rows, indices._handle, values._handle))

    @classmethod
    def _borrow(cls, handle):
        self = cls.__new__(cls)
        self._handle, self._borrowed = handle, True
        return self

    @property
    def kind(self):
        return ValueKind(_lib.mdist_value_kind(self._handle))

    def __len__(self):
        return _lib.mdist_value_count(self._handle)

    @property
    def paths(self):
        """Of the leaves; [""] where there is no structure."""
        count = _lib.mdist_value_leaf_count(self._handle)
        return [_lib.mdist_value_leaf_path(self._handle, index).decode() for index in range(count)]

    def __getitem__(self, path):
        """A leaf of a structure, or what lies below the path; shares the memory. KeyError lists what there is."""
        if not isinstance(path, str):
            raise TypeError(f"value[{path!r}]: paths are texts; numpy({path!r}) is the array of a local replica")
        try:
            return Value._of(_new(_lib.mdist_value_at, self._handle, path.encode()))
        except Error as error:
            raise (KeyError(str(error)) if error.status == Status.NOT_FOUND else error) from None

    __iter__ = None  # len() counts replicas, and [] takes paths

    def _describe(self, index):
        tensor = Tensor()
        _call(_lib.mdist_value_tensor, self._handle, index, byref(tensor))
        return tensor

    @property
    def dtype(self):
        return Dtype(self._describe(0).dtype)

    def shape(self, index=0):
        tensor = self._describe(index)
        return tuple(tensor.shape[:tensor.rank])

    def numpy(self, index=0):
        """Read-only; bfloat16 as its bits. In a merge function: a copy, since the value dies with that call."""
        _need_numpy()
        if self.kind == ValueKind.STRUCTURE:
            return _tree((path, self[path].numpy(index)) for path in self.paths)
        tensor = self._describe(index)
        if not self._borrowed:
            _on_host(tensor)
        return self._look(tensor)

    def memory(self, index=0):
        """The same as a flat memoryview."""
        if self.kind == ValueKind.STRUCTURE:
            return _tree((path, self[path].memory(index)) for path in self.paths)
        view = _flat(self._describe(index), self, False)
        return memoryview(bytes(view)).cast(view.format) if self._borrowed else view

    def device(self, index=0):
        """Where an array of it lies: "cpu:0", "gpu:1"."""
        return _place(self._describe(index))

    def tensor(self, index=0):
        """numpy(index), or if that lies on a GPU a GpuArray."""
        return self._look(self._describe(index))

    def indices(self, index=0):
        """Which rows numpy(index) has, if this is a value of rows; else None."""
        tensor = Tensor()
        _call(_lib.mdist_value_indices, self._handle, index, byref(tensor))
        return self._look(tensor) if tensor.dtype else None

    def _look(self, tensor):
        """An array on a tensor of this value."""
        return _copied(tensor) if self._borrowed else _seen(tensor, self)

    def part(self, index):
        """One of its arrays, for the from_dlpack of another library, which shares the memory and must only read it."""
        return _Part(self, index)

    def __dlpack_device__(self):
        return self.part(0).__dlpack_device__()

    def __dlpack__(self, **options):
        if len(self) != 1:
            raise BufferError(f"a value of {len(self)} arrays; value.part(i) is one of them")
        return self.part(0).__dlpack__(**options)

    def _share(self):
        """Another handle of the same, for the library to own."""
        return _new(_lib.mdist_value_at, self._handle, b"")


def _value(thing):
    return thing if isinstance(thing, Value) else Value.wrap(thing)


def _create(array):
    """The handle of a value with a copy."""
    tensor, view = _tensor(array)
    handle = _new(_lib.mdist_value_create, byref(tensor))
    del view
    return handle


def _structure(tree, make):
    """The handle of a structure, whose leaves are Values, or arrays to make such of."""
    leaves = {path: leaf if isinstance(leaf, Value) else make(leaf) for path, leaf in _leaves(tree)}
    paths = (c_char_p * len(leaves))(*(path.encode() for path in leaves))
    return _new(_lib.mdist_value_structure, paths, _handles([*leaves.values()]), len(leaves))


def _given(thing):
    """The handle of what a function returned, for the library to own: of an array a copy."""
    if isinstance(thing, Value):
        return thing._share()  # whose it is may go on with it
    return _structure(thing, Value) if _is_tree(thing) else _create(thing)


class Variable(_Held):
    """State with one copy per replica; made by Strategy.variable, or in a step by Replica.variable_create."""

    _destroy = _lib.mdist_variable_destroy

    @property
    def name(self):
        return _lib.mdist_variable_name(self._handle).decode()

    def _describe(self, local_replica):
        tensor = Tensor()
        _call(_lib.mdist_variable_tensor, self._handle, local_replica, byref(tensor))
        return tensor

    def numpy(self, local_replica):
        """The copy itself, to read and write, from one thread at a time. It never moves."""
        _need_numpy()
        return _array(self._describe(local_replica), self, True)

    def memory(self, local_replica):
        """The same as a flat memoryview."""
        return _flat(self._describe(local_replica), self, True)

    def device(self, local_replica):
        """Where a copy lies: "cpu:0", "gpu:1"."""
        return _place(self._describe(local_replica))

    def tensor(self, local_replica):
        """The copy itself: numpy(local_replica), or if that lies on a GPU a GpuArray."""
        return _seen(self._describe(local_replica), self, True)

    def assign(self, value, assign=Assign.SET):
        """Outside of steps, a Value or an array. In a step: Replica.assign."""
        value = _value(value)
        _call(_lib.mdist_variable_assign, self._handle, _choice(Assign, assign, "assignment"), value._handle)

    def read(self, timeout=None):
        """Outside of steps: a Value with a copy, aggregated if the variable is sync-on-read."""
        return Value._of(_new(_lib.mdist_variable_read, self._handle, options=[_options(timeout)]))

    def update(self, function, *values, results=0):
        """Calls function(local_replica, copy, *arguments) for each copy; `copy` is to be changed in place. What it
        returns, `results` arrays, comes back as that many Values."""
        update = _Update(self, function, values, results)
        return update.make(self._copies, _lib.mdist_update, self._handle)


class _Calls:
    """A function that the library calls back, within one call of it."""

    def __init__(self, function):
        self.function, self.failures, self.begun = function, _Failures(), 0

    def within(self, due, function, *arguments, options=()):
        """Makes the call that calls back, `due` times if all goes well; see _Failures.lost."""
        key = _keep(self)
        try:
            _call(function, *(key if one is _CALLS else one for one in arguments), *options)
            if self.begun < due:
                raise KeyboardInterrupt
        except Error as error:
            if self.failures.lost(error):
                raise KeyboardInterrupt from error
            raise error from self.failures.cause(error)
        finally:
            del _kept[key]
            self.failures.clear()


_CALLS = object()  # stands where user_data belongs


class _Update(_Calls):
    def __init__(self, variable, function, values, results):
        super().__init__(function)
        self.variable, self.values, self.result_count = variable, [_value(value) for value in values], results

    def make(self, due, function, handle):
        out = (c_void_p * self.result_count)()
        self.within(due, function, handle, _UPDATE, _CALLS, _handles(self.values), len(self.values), out,
                    self.result_count)
        return _unlisted([Value._of(handle) if handle else None for handle in out])

    def call(self, local_replica, copy, arguments, results):
        self.begun += 1
        views = [value._look(arguments[i]) for i, value in enumerate(self.values)]
        if self.variable is not None:
            views.insert(0, _seen(copy[0], self.variable, True))
        returned = _checked(self.function(local_replica, *views), self.result_count)
        for index, one in enumerate(returned):
            results[index] = None if one is None else _given(one)


@UpdateFn
def _UPDATE(local_replica, copy, arguments, _, results, _result_count, key):
    update = _kept[key]
    return update.failures.guard(update.call, local_replica, copy, arguments, results)


class _Made(_Calls):
    """Calls that give one value: a fetch, or a value made replica by replica."""

    def call(self, out, *arguments):
        self.begun += 1
        out[0] = _given(self.function(*arguments))


@FetchFn
def _FETCH(source, out, key):
    made = _kept[key]
    return made.failures.guard(lambda: made.call(out, _copied(source[0])))


@ValueFn
def _VALUE(replica_id, replica_count, out, key):
    made = _kept[key]
    return made.failures.guard(made.call, out, replica_id, replica_count)


def _variable_options(synchronization, aggregation, colocate_with):
    return byref(VariableOptions(ctypes.sizeof(VariableOptions),
                                 _choice(Synchronization, synchronization, "synchronization"),
                                 _choice(Aggregation, aggregation, "aggregation"), 0,
                                 None if colocate_with is None else _handle(colocate_with, Variable)))


# ---- Replicas and runs


class Work(_Destroyable):
    """A collective under way. Its arrays belong to it, and are kept, until it is done, has failed or is destroyed."""

    def __init__(self, handle, views):
        self._handle, self._views = handle, views
        self._finalizer = weakref.finalize(self, self._destroy, handle, views)

    @staticmethod
    def _destroy(handle, views):
        _lib.mdist_work_destroy(handle)
        views.clear()

    def _ask(self, function, *arguments):
        done = c_int32(1)
        try:
            _call(function, self._handle, *arguments, byref(done))
        finally:
            if done.value:  # or failed
                self._views.clear()
        return bool(done.value)

    def test(self):
        """Moves it on, without waiting for others. Whether it is done."""
        return self._ask(_lib.mdist_work_test)

    def wait(self, timeout=None):
        """Whether it is done, after so many seconds at most."""
        return self._ask(_lib.mdist_work_wait, _nanoseconds(timeout))

    def descriptor(self):
        """A new file descriptor, yours to os.close(), for select and asyncio: call test() whenever it is readable."""
        out = c_int32()
        _call(_lib.mdist_work_descriptor, self._handle, byref(out))
        return out.value


class Replica:
    """What a step gets first: its place, and what replicas do together. Of use until the step is over.

    Collectives take one array or a list of them, each of which becomes one operation with the others. Without outputs
    they work in place. An operation is a ReduceOp or its name ("sum"). `timeout` is in seconds.

    They return what they have written: the array, or the list of arrays. So numbers and lists of numbers can go in,
    too: total = replica.all_reduce("sum", [loss, hits]) makes an array (float64, or int64 of whole numbers). Arrays
    that are not C-contiguous are copied in and out. Those that end in _start return a Work, and need C-contiguous
    arrays to write to.
    """

    def __init__(self, handle, run):
        self._handle, self._run = handle, run

    @property
    def id(self):
        return _or_none(_lib.mdist_replica_id(self._handle))

    @property
    def local_index(self):
        return _or_none(_lib.mdist_replica_local_index(self._handle))

    @property
    def count(self):
        """Replicas in the whole job."""
        return _lib.mdist_replica_count(self._handle)

    def argument(self, index):
        """This replica's array of an argument of the run; read-only, a GpuArray if it lies on a GPU. Of a structure
        dicts and lists of arrays."""
        argument = self._run.arguments[index] if 0 <= index < len(self._run.arguments) else None
        if argument is None or argument.kind != ValueKind.STRUCTURE:
            return self._look(argument, index, "")
        return _tree((path, self._look(argument, index, path)) for path in argument.paths)

    def _look(self, argument, index, path):
        tensor = Tensor()
        _call(_lib.mdist_replica_argument, self._handle, index, path.encode(), byref(tensor))
        return argument._look(tensor)

    def set_result(self, index, array):
        """A copy of the array becomes this replica's part of a result of the run; a dict or list of such, nested, a
        structure."""
        for path, leaf in _leaves(array):
            tensor, view = _tensor(leaf)
            _call(_lib.mdist_replica_set_result, self._handle, index, path.encode(), byref(tensor))
            del view

    def _collective(self, name, head, arrays, timeout):
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
            _call(function, *arguments, _options(timeout))
            written = operands[-1].results() if operands and operands[-1] else None
            return written[0] if written and _listed(arrays[-1][0]) is not arrays[-1][0] else written
        views = [view for one in operands if one for view in one.views]
        return Work(_new(function, *arguments, options=[_options(timeout)]), views)

    def all_reduce(self, op, inputs, outputs=None, timeout=None):
        return self._collective("all_reduce", [_op(op)], _in_and_out(inputs, outputs), timeout)

    def all_reduce_start(self, op, inputs, outputs=None, timeout=None):
        return self._collective("all_reduce_start", [_op(op)], _in_and_out(inputs, outputs), timeout)

    def broadcast(self, root, arrays, timeout=None):
        return self._collective("broadcast", [_count(root)], [(arrays, True)], timeout)

    def broadcast_start(self, root, arrays, timeout=None):
        return self._collective("broadcast_start", [_count(root)], [(arrays, True)], timeout)

    def all_gather(self, inputs, outputs, timeout=None):
        return self._collective("all_gather", [], _in_and_out(inputs, outputs), timeout)

    def all_gather_start(self, inputs, outputs, timeout=None):
        return self._collective("all_gather_start", [], _in_and_out(inputs, outputs), timeout)

    def reduce_scatter(self, op, inputs, outputs, timeout=None):
        return self._collective("reduce_scatter", [_op(op)], _in_and_out(inputs, outputs), timeout)

    def reduce_scatter_start(self, op, inputs, outputs, timeout=None):
        return self._collective("reduce_scatter_start", [_op(op)], _in_and_out(inputs, outputs), timeout)

    def all_to_all(self, inputs, outputs, timeout=None):
        return self._collective("all_to_all", [], _in_and_out(inputs, outputs), timeout)

    def all_to_all_start(self, inputs, outputs, timeout=None):
        return self._collective("all_to_all_start", [], _in_and_out(inputs, outputs), timeout)

    def reduce_to_root(self, op, root, inputs, outputs=None, timeout=None):
        """`outputs` are those of replica `root`; without, its inputs become the result."""
        return self._collective("reduce_to_root", [_op(op), _count(root)], self._to(root, inputs, outputs), timeout)

    def reduce_to_root_start(self, op, root, inputs, outputs=None, timeout=None):
        return self._collective("reduce_to_root_start", [_op(op), _count(root)], self._to(root, inputs, outputs),
                                timeout)

    def gather_to_root(self, root, inputs, outputs=None, timeout=None):
        """`outputs` are those of replica `root`, and may be left out elsewhere."""
        return self._collective("gather_to_root", [_count(root)], self._gathered(root, inputs, outputs), timeout)

    def gather_to_root_start(self, root, inputs, outputs=None, timeout=None):
        return self._collective("gather_to_root_start", [_count(root)], self._gathered(root, inputs, outputs), timeout)

    def scatter(self, root, inputs, outputs, timeout=None):
        """`inputs` are those of replica `root`; None elsewhere."""
        return self._collective("scatter", [_count(root)], self._scattered(root, inputs, outputs), timeout)

    def scatter_start(self, root, inputs, outputs, timeout=None):
        return self._collective("scatter_start", [_count(root)], self._scattered(root, inputs, outputs), timeout)

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

    def all_reduce_rows(self, op, indices, values, timeout=None):
        """A Value of the rows of all replicas, one after another; see Value.rows. MEAN divides by the replicas."""
        pairs = [_tensor(indices), _tensor(values)]
        tensors = [byref(tensor) for tensor, _ in pairs]
        return Value._of(_new(_lib.mdist_all_reduce_rows, self._handle, _op(op), *tensors,
                              options=[_options(timeout)]))

    def average_loss(self, per_example, weights=None, global_batch=0, timeout=None):
        """(loss, global batch): this replica's part of the mean over all replicas' examples, so that SUM over them
        is that mean. The gradient of an element is its weight / the global batch, which is counted where it is 0."""
        pairs = [_tensor(per_example), (None, None) if weights is None else _tensor(weights)]
        count, loss = c_uint64(_count(global_batch)), c_double()
        _call(_lib.mdist_average_loss, self._handle, *(tensor and byref(tensor) for tensor, _ in pairs), byref(count),
              byref(loss), _options(timeout))
        return loss.value, count.value

    def scale_regularization(self, terms):
        """The sum of `terms`, which are the same on all replicas, divided by the number of those."""
        tensor, view = _tensor(terms)
        loss = c_double()
        _call(_lib.mdist_scale_regularization, self._handle, byref(tensor), byref(loss))
        del view
        return loss.value

    def barrier(self, timeout=None):
        self._collective("barrier", [], [], timeout)

    def barrier_start(self, timeout=None):
        return self._collective("barrier_start", [], [], timeout)

    def variable_create(self, name, initial, synchronization=Synchronization.AUTO, aggregation=Aggregation.NONE,
                        colocate_with=None):
        """Every replica makes the same call; each gets a Variable of its own, all of them one. Replica 0's value counts.
        """
        tensor, view = _tensor(initial)
        handle = _new(_lib.mdist_replica_variable_create, self._handle, _name(name), byref(tensor),
                      options=[_variable_options(synchronization, aggregation, colocate_with)])
        del view
        return self._run.strategy._has(Variable._of(handle))

    def assign(self, variable, array, assign=Assign.SET, timeout=None):
        """Writes what the replicas' arrays come to by the variable's aggregation."""
        tensor, view = _tensor(array)
        _call(_lib.mdist_replica_assign, self._handle, _handle(variable, Variable),
              _choice(Assign, assign, "assignment"), byref(tensor), _options(timeout))
        del view

    def assign_rows(self, variable, indices, values, assign=Assign.SET, timeout=None):
        """Writes row i of `values` into row indices[i] (int64), of all replicas by the variable's aggregation."""
        pairs = [_tensor(indices), _tensor(values)]
        _call(_lib.mdist_replica_assign_rows, self._handle, _handle(variable, Variable),
              _choice(Assign, assign, "assignment"), *(byref(tensor) for tensor, _ in pairs), _options(timeout))

    def merge_call(self, function, *arrays, results=0, timeout=None):
        """Once for all replicas, outside of the step: function(strategy, *values), which returns values or arrays.

        Both are copied. Each replica gets its part of them (a copy): None, an array, or for more results a list.
        """
        merge = _Merge(self._run, function, results)
        tensors, views = _tensors(arrays)
        parts = (Tensor * results)()
        key = _keep(merge)
        try:
            _call(_lib.mdist_merge_call, self._handle, _MERGE, key, tensors, len(views), parts, results,
                  _options(timeout))
            if not merge.begun and self.local_index == 0:
                raise KeyboardInterrupt
        except Error as error:
            if self._run.failures.lost(error):
                raise KeyboardInterrupt from error
            raise error from self._run.failures.cause(error)
        finally:
            del _kept[key]
        return _unlisted([_copied(part, self._handle) for part in parts])

    def merge_begin(self, *arrays, timeout=None):
        """For entered replicas. What local replica 0 does from here to merge_end happens once for all, outside of the
        step. There it returns the Values of the replicas' arrays; elsewhere Nones."""
        tensors, views = _tensors(arrays)
        handles = (c_void_p * len(views))()
        _call(_lib.mdist_merge_begin, self._handle, tensors, len(views), handles, _options(timeout))
        return [Value._of(handle) if handle else None for handle in handles]

    def merge_end(self, *values, results=None):
        """Each replica's part (a copy) of the values that local replica 0 gives; the others say how many `results`."""
        count = len(values) if results is None else results
        values = [None if value is None else _value(value) for value in values]
        handles = (c_void_p * count)(*(value and value._handle for value in values))
        parts = (Tensor * count)()
        _call(_lib.mdist_merge_end, self._handle, 0, handles, parts, count)
        return _unlisted([_copied(part, self._handle) for part in parts])

    @property
    def stream(self):
        """The address of the cudaStream_t on which all that the step asks of the library is done in order: put your
        kernels there, as on cupy.cuda.ExternalStream(replica.stream). None on the CPU."""
        stream = c_void_p()
        _call(_lib.mdist_replica_stream, self._handle, byref(stream))
        return stream.value

    def use_stream(self, stream):
        """Has the library work on a stream of yours, the address of a cudaStream_t of the replica's GPU, until the step
        ends or None is given. It must live until the step has ended: another address crashes the process."""
        _call(_lib.mdist_replica_use_stream, self._handle, stream)

    def copy(self, to, source):
        """mdist.copy behind what the replica's stream has been given. Between GPUs it is done in its turn, else on
        return."""
        pairs = [_tensor(to, True), _tensor(source)]
        _call(_lib.mdist_replica_copy, self._handle, *(byref(tensor) for tensor, _ in pairs))

    def exit(self, code=0):
        """Leaves a step that was entered; `with` does it by itself. A code other than 0 fails the run."""
        _call(_lib.mdist_replica_exit, self._handle, code)

    def __enter__(self):
        return self

    def __exit__(self, kind, exception, _):
        try:
            self.exit(self._run.failures.add(exception) if exception else 0)
        except Error:
            if exception is None:
                raise


def _in_and_out(inputs, outputs):
    if inputs is None:
        raise TypeError("inputs is None; give an array or a list of arrays")
    return [(inputs, outputs is None), (inputs if outputs is None else outputs, True)]


def _unlisted(results):
    """Nothing, the only one, or all."""
    return None if not results else results[0] if len(results) == 1 else results


def _checked(returned, count):
    """What a function returned, as a list of `count` results."""
    if returned is None:
        return [None] * count
    found = [returned] if count == 1 or not _is_tree(returned) or isinstance(returned, dict) else returned
    if len(found) != count:
        raise TypeError(f"returned {len(found)} results, where results={count} was said; say how many there are, or "
                        "return None")
    return found


class Run:
    """A run under way, whose steps are entered by threads of your own (Strategy.run_begin)."""

    def __init__(self, strategy, step, arguments, results):
        self.strategy, self.step, self.result_count = strategy, step, results
        self.arguments = [_value(argument) for argument in arguments]
        self.failures = _Failures()
        self.begun = []  # handles of the replicas whose step did

    def call(self, handle, *extra):
        self.begun.append(handle)
        replica = _replicas[handle] = Replica(handle, self)
        returned = self.step(replica, *extra, *map(replica.argument, range(len(self.arguments))))
        for index, result in enumerate(_checked(returned, self.result_count)):
            if result is not None:
                replica.set_result(index, result)

    def enter(self, local_replica):
        """Enters a replica's step: with run.enter(i) as replica: ..."""
        return Replica(_new(_lib.mdist_replica_enter, self.strategy._handle, local_replica), self)

    def end(self):
        """Closes the run when all have left, and returns what Strategy.run would."""
        return self.finish(_lib.mdist_run_end, self.strategy._handle)

    def finish(self, function, *arguments, options=(), due=0, goes_on=True):
        """Makes the call that ends the run; see _Failures.lost. `goes_on`: steps begin also when others have failed."""
        results = (c_void_p * self.result_count)()
        still_open = False
        try:
            _call(function, *arguments, results, self.result_count, *options)
        except Error as error:
            still_open = error.reason == "replica_inside"
            if due and (goes_on and 0 < len(self.begun) < due or self.failures.lost(error)):
                raise KeyboardInterrupt from error
            raise error from self.failures.cause(error)
        finally:
            if not still_open:
                self.failures.clear()  # their tracebacks lead back here
        values = [Value._of(handle) if handle else None for handle in results]
        if len(self.begun) < due:
            raise KeyboardInterrupt
        return _unlisted(values)


@StepFn
def _STEP(handle, key):
    run = _kept[key]
    return run.failures.guard(run.call, handle)


@ElementFn
def _ELEMENT(handle, element, key):
    run = _kept[key]
    return run.failures.guard(run.call, handle, element)


class _Merge:
    def __init__(self, run, function, result_count):
        self.run, self.function, self.result_count = run, function, result_count
        self.begun = False

    def call(self, arguments, count, results):
        self.begun = True
        values = [Value._borrow(arguments[i]) for i in range(count)]
        returned = _checked(self.function(self.run.strategy, *values), self.result_count)
        for index, one in enumerate(returned):
            results[index] = None if one is None else _given(one)


@MergeFn
def _MERGE(_, arguments, count, results, __, key):
    merge = _kept[key]
    return merge.run.failures.guard(merge.call, arguments, count, results)


class Strategy(_Destroyable):
    """This process's devices with a replica on each: Strategy(devices="cpu*4"), Strategy(config), or Strategy(), which
    asks the environment. A context manager; without `with` it goes when nobody can reach it any more."""

    _destroy = _lib.mdist_strategy_destroy

    def __init__(self, config=None, **keys):
        if isinstance(config, Config):
            if keys:
                raise TypeError(f"a Config and keys ({', '.join(keys)}); set them in the Config: config[key] = value")
        elif config is not None or keys:
            config = Config(config or {}, **keys)
        super().__init__(_new(_lib.mdist_strategy_create, config and config._handle))
        _strategies[self._handle] = self
        self._variables = weakref.WeakValueDictionary()  # a WeakSet cannot be listed while other threads add to it

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.destroy()

    @property
    def replica_count(self):
        return _lib.mdist_strategy_replica_count(self._handle)

    @property
    def local_replica_count(self):
        return _lib.mdist_strategy_local_replica_count(self._handle)

    @property
    def worker_count(self):
        return _lib.mdist_strategy_worker_count(self._handle)

    @property
    def worker(self):
        """This worker's rank, from 0."""
        return _or_none(_lib.mdist_strategy_worker(self._handle))

    @property
    def is_chief(self):
        """Whether it is this worker that does what is done once for all: writes checkpoints, prints."""
        return bool(_lib.mdist_strategy_is_chief(self._handle))

    def device(self, local_replica):
        return _text(_lib.mdist_strategy_device, self._handle, local_replica)

    def abort(self):
        """Ends all collectives: those that wait fail now. From any thread."""
        _lib.mdist_strategy_abort(self._handle)

    def check_health(self):
        """Raises what ended all collectives, a worker that was lost, say; at once, from any thread."""
        _call(_lib.mdist_strategy_check_health, self._handle)

    @contextlib.contextmanager
    def scope(self):
        """`with strategy.scope():` current_strategy() is this one on this thread."""
        _call(_lib.mdist_scope_enter, self._handle)
        try:
            yield self
        finally:
            _call(_lib.mdist_scope_exit, self._handle)

    def run(self, step, *arguments, results=0, timeout=None):
        """Calls step(replica, *arrays) on every replica, with each its part of the arguments (Values, or arrays).

        What steps return, `results` arrays (Nones are fine), comes back as that many Values. Arguments and results may
        be dicts and lists of arrays, nested: see Value.
        """
        run = Run(self, step, arguments, results)
        key = _keep(run)
        try:
            return run.finish(_lib.mdist_run, self._handle, _STEP, key, _handles(run.arguments), len(arguments),
                              options=[_options(timeout)], due=self.local_replica_count)
        finally:
            del _kept[key]

    def map(self, count, function, *arguments, results=0, timeout=None):
        """Calls function(replica, element, *arrays) for elements 0 to count - 1, spread over all replicas of the job.
        Results are stacked: a row for each element of a replica."""
        run = Run(self, function, arguments, results)
        first, replicas = self.worker * self.local_replica_count, max(1, self.replica_count)
        due = sum(max(0, -((first + i - count) // replicas)) for i in range(self.local_replica_count))
        key = _keep(run)
        try:
            return run.finish(_lib.mdist_map, self._handle, _count(count), _ELEMENT, key, _handles(run.arguments),
                              len(arguments), options=[_options(timeout)], due=due, goes_on=False)
        finally:
            del _kept[key]

    def run_begin(self, *arguments, results=0, timeout=None):
        """Opens a run whose steps are on threads of your own, one for each local replica."""
        run = Run(self, None, arguments, results)
        _call(_lib.mdist_run_begin, self._handle, _handles(run.arguments), len(arguments), results, _options(timeout))
        return run

    def variable(self, name, initial, synchronization=Synchronization.AUTO, aggregation=Aggregation.NONE,
                 colocate_with=None):
        """`initial` is an array, which is copied, or (dtype, shape) for zeros."""
        tensor, view = (_described(*initial), None) if isinstance(initial, tuple) else _tensor(initial)
        handle = _new(_lib.mdist_variable_create, self._handle, _name(name), byref(tensor),
                      options=[_variable_options(synchronization, aggregation, colocate_with)])
        del view
        return self._has(Variable._of(handle))

    def _has(self, variable):
        self._variables[next(_keys)] = variable
        variable._copies = self.local_replica_count
        return variable

    def arena(self, dtype, local_replica):
        """All variables of a dtype on a replica as one array (a GpuArray on a GPU) to read and write; None if there are
        none.

        It keeps all variables that the strategy has by then."""
        variables = [reference() for reference in self._variables.valuerefs()]
        buffer = Buffer()
        _call(_lib.mdist_variable_arena, self._handle, _dtype(dtype), local_replica, byref(buffer))
        if not buffer.data:
            return None
        return _seen(_known(buffer.data, buffer.dtype, (buffer.elements,)), (self, variables), True)

    def variable_of(self, array):
        """(variable, local replica) of the copy that an array lies in; KeyError if it lies in none."""
        tensor, view = _tensor(array, exact=True)
        local_replica = c_uint32()
        try:
            handle = _new(_lib.mdist_variable_of, self._handle, tensor.data, options=[byref(local_replica)])
        except Error as error:
            raise (KeyError(str(error)) if error.status == Status.NOT_FOUND else error) from None
        del view
        return self._has(Variable._of(handle)), local_replica.value

    def update_non_slot(self, function, *values, results=0):
        """Calls function(local_replica, *arguments) for each device: for state that is no variable's."""
        update = _Update(None, function, values, results)
        return update.make(self.local_replica_count, _lib.mdist_update_non_slot, self._handle)

    def per_replica(self, *arrays):
        """A Value with copies of the arrays, one for each local replica; of dicts and lists of arrays, each with the
        same leaves, a structure."""
        if not any(map(_is_tree, arrays)):
            tensors, views = _tensors(arrays)
            return Value._of(_new(_lib.mdist_value_per_replica, self._handle, tensors, len(views)))
        parts = [dict(_leaves(tree)) for tree in arrays]
        for part in parts:
            if part.keys() != parts[0].keys():
                raise ValueError(f"leaves {', '.join(part)}, where the first replica has {', '.join(parts[0])}")
        leaves = {path: self.per_replica(*(part[path] for part in parts)) for path in parts[0]}
        paths = (c_char_p * len(leaves))(*(path.encode() for path in leaves))
        return Value._of(_new(_lib.mdist_value_structure, paths, _handles([*leaves.values()]), len(leaves)))

    def values_from_function(self, function):
        """A Value of what function(replica_id, replica_count) returns for each local replica: arrays (copied), or
        dicts and lists of such."""
        made, out = _Made(function), c_void_p()
        made.within(self.local_replica_count, _lib.mdist_values_from_function, self._handle, _VALUE, _CALLS, byref(out))
        return Value._of(out.value)

    def broadcast_to(self, array):
        """A mirrored Value with a copy of the array for every local replica."""
        tensor, view = _tensor(array)
        handle = _new(_lib.mdist_strategy_broadcast, self._handle, byref(tensor))
        del view
        return Value._of(handle)

    def reduce(self, op, value, axes=(), timeout=None):
        """Over replicas, and first over axes of each array: a plain Value."""
        numbers, value = (c_int32 * len(axes))(*axes), _value(value)
        return Value._of(_new(_lib.mdist_strategy_reduce, self._handle, _op(op), value._handle, numbers, len(axes),
                              options=[_options(timeout)]))

    def reduce_to(self, op, value, destination="", timeout=None):
        """Over replicas, to all devices (a mirrored Value) or to the one named (a plain Value)."""
        return self.batch_reduce_to(op, [value], [destination], timeout)[0]

    def batch_reduce_to(self, op, values, destinations=None, timeout=None):
        """Many reduce_to in one operation: a list of Values."""
        if destinations is not None and len(destinations) != len(values):
            raise ValueError(f"{len(values)} values and {len(destinations)} destinations; they must be as many")
        names = destinations and (c_char_p * len(values))(*map(_name, destinations))
        out, values = (c_void_p * len(values))(), [*map(_value, values)]
        _call(_lib.mdist_strategy_reduce_to, self._handle, _op(op), _handles(values), names, len(values), out,
              _options(timeout))
        return [Value._of(handle) for handle in out]

    def gather(self, value, axis=0, timeout=None):
        """The replicas' arrays, joined: a plain Value."""
        value = _value(value)
        return Value._of(_new(_lib.mdist_strategy_gather, self._handle, value._handle, axis, options=[_options(timeout)]))

    def fetch(self, value, destination="", function=None):
        """A plain Value in host memory, or on the device named, of a plain or mirrored one; or of what function(array)
        makes of it (a copy) where it lies."""
        value, made, out = _value(value), _Made(function), c_void_p()
        made.within(0 if function is None else 1, _lib.mdist_strategy_fetch, self._handle, value._handle, _name(destination),
                    FetchFn() if function is None else _FETCH, _CALLS, byref(out))
        return Value._of(out.value)

    def all_reduce(self, op, inputs, outputs=None, timeout=None):
        """Between runs: `inputs` has an array, or a list of arrays, for each local replica. In place without outputs.
        Returns what it has written, in one list, replica by replica."""
        count = len(_listed(inputs[0])) if len(inputs) else 0
        given = _Operands(self._flattened(inputs, count), outputs is None, True)
        written = given if outputs is None else _Operands(self._flattened(outputs, count), True, True)
        _call(_lib.mdist_strategy_all_reduce, self._handle, _op(op), given.buffers, written.buffers, count,
              _options(timeout))
        return written.results()

    def _flattened(self, rows, count):
        """The arrays of all replicas, `count` of each: as many as the library will read."""
        replicas = self.local_replica_count or len(rows)  # that it was destroyed is for the library to say
        if len(rows) != replicas:
            raise ValueError(f"arrays for {len(rows)} replicas; there are {replicas}")
        rows = [_listed(row) for row in rows]
        for row in rows:
            if len(row) != count:
                raise ValueError(f"{len(row)} arrays for a replica, where the first has {count}")
        return [array for row in rows for array in row]

    def distribute_dataset(self, dataset):
        """Cuts each batch of the dataset over the replicas."""
        source = _handle(dataset, Dataset)
        return dataset._derive(_lib.mdist_distribute_dataset, self._handle, source, options=[None],
                               direct=False)


# ---- What this thread works for

_strategies, _replicas = weakref.WeakValueDictionary(), weakref.WeakValueDictionary()  # by handle
_default = None


def _strategy(handle):
    known = _strategies.get(handle)
    if known is None:  # the library's own
        known = Strategy.__new__(Strategy)
        known._handle, known._finalizer, known._variables = handle, lambda: None, weakref.WeakValueDictionary()
    return known


def current_strategy():
    """The Strategy that this thread works for: of its step, merge or update, of a scope, or the default."""
    return _strategy(_new(_lib.mdist_current_strategy))


def current_replica():
    """The Replica that this thread works for; None outside of steps, unless the default strategy is the current one.
    (Not in a step that was entered: there the thread does not matter.)"""
    handle = _new(_lib.mdist_current_replica)
    if handle is None:
        return None
    return _replicas.get(handle) or Replica(handle, Run(current_strategy(), None, (), 0))


def set_default_strategy(strategy=None):
    """Makes it the current one wherever there is no other, and keeps it; None: the library's own, of one CPU."""
    global _default
    _call(_lib.mdist_set_default_strategy, None if strategy is None else _handle(strategy, Strategy))
    _default = strategy


# ---- Checkpoints and preemption


class Checkpoint(_Destroyable):
    """Variables in files that other libraries read, too (safetensors), and back.

    `variables` is a list, or a dict by their names in files. The newest `keep` files stay; with 0 all do. Texts are
    saved along: checkpoint["epoch"] = "3".
    """

    _destroy = _lib.mdist_checkpoint_destroy

    def __init__(self, strategy, folder, variables=(), keep=0):
        super().__init__(_new(_lib.mdist_checkpoint_create, _handle(strategy, Strategy), os.fsencode(folder),
                              _count(keep)))
        named = variables.items() if isinstance(variables, dict) else ((None, variable) for variable in variables)
        for name, variable in named:
            self.add(variable, name)

    def add(self, variable, name=None):
        _call(_lib.mdist_checkpoint_add, self._handle, name and _name(name), _handle(variable, Variable))

    def __setitem__(self, key, text):
        _call(_lib.mdist_checkpoint_set_text, self._handle, _name(key), str(text).encode())

    def __getitem__(self, key):
        try:
            return _text(_lib.mdist_checkpoint_text, self._handle, _name(key))
        except Error as error:
            raise (KeyError(str(error)) if error.status == Status.NOT_FOUND else error) from None

    def get(self, key, default=None):
        try:
            return self[key]
        except KeyError:
            return default

    def save(self, number, timeout=None):
        """All workers together, outside of steps. It is on the disk when this returns."""
        _call(_lib.mdist_checkpoint_save, self._handle, _count(number), _options(timeout))

    def restore(self, number=LATEST, partial=False, timeout=None):
        """The number of what was restored; None if that was to be the latest and there is none. `partial`: variables
        that the file lacks stay as they are, and what else is in it is passed over."""
        limit = 0 if timeout is None else max(1, _nanoseconds(timeout))
        options = RestoreOptions(ctypes.sizeof(RestoreOptions), RESTORE_PARTIAL if partial else 0, limit)
        restored = c_uint64()
        try:
            _call(_lib.mdist_checkpoint_restore, self._handle, _count(number), byref(restored), byref(options))
        except Error as error:
            if number == LATEST and error.reason == "no_checkpoint":
                return None
            raise
        return restored.value


def latest_checkpoint(folder):
    """The number of the checkpoint that was saved last; None if there is none."""
    number = c_uint64()
    try:
        _call(_lib.mdist_checkpoint_latest, os.fsencode(folder), byref(number))
    except Error as error:
        if error.reason == "no_checkpoint":
            return None
        raise
    return number.value


class Preemption(_Destroyable):
    """Where a worker is told to go, so that all save at the same step. `grace` is in seconds.

    signal.signal(signal.SIGTERM, lambda *_: preemption.announce()), and after every step preemption.check().
    """

    _destroy = _lib.mdist_preemption_destroy

    def __init__(self, strategy, grace=0):
        options = PreemptionOptions(ctypes.sizeof(PreemptionOptions), 0, _nanoseconds(grace))
        super().__init__(_new(_lib.mdist_preemption_create, _handle(strategy, Strategy), options=[byref(options)]))

    def announce(self):
        """This worker is to go."""
        _lib.mdist_preemption_announce(self._handle)

    def check(self, timeout=None):
        """(PreemptionVerdict, rank of the worker that is to go, or -1): the same on all workers, which all ask."""
        verdict, worker = c_int32(), c_uint32()
        _call(_lib.mdist_preemption_check, self._handle, byref(verdict), byref(worker), _options(timeout))
        return PreemptionVerdict(verdict.value), _or_none(worker.value)


# ---- Datasets


class Dataset(_Held):
    """A description of elements, tuples of arrays; each method gives a new one. Iterating gives tuples of Values."""

    _destroy = _lib.mdist_dataset_destroy

    @classmethod
    def from_tensors(cls, *arrays):
        """Element i is row i of each array. The arrays are kept, not copied, and must not change meanwhile."""
        tensors, views = _tensors(arrays)
        return cls._of(_new(_lib.mdist_dataset_from_tensors, tensors, len(views), _keep(views), _FREE), _maps=[],
                       _direct=[])

    def _derive(self, function, *arguments, options=(), maps=(), direct=True):
        """`direct` are maps that each element calls, on the thread that asks for it."""
        return Dataset._of(_new(function, *arguments, options=options), _maps=[*self._maps, *maps],
                           _direct=[*self._direct, *maps] if direct else [])

    def shard(self, shards, index):
        return self._derive(_lib.mdist_dataset_shard, self._handle, _count(shards), _count(index))

    def shuffle(self, buffer_size, seed, reshuffle_each_iteration=True):
        return self._derive(_lib.mdist_dataset_shuffle, self._handle, _count(buffer_size), _count(seed),
                            reshuffle_each_iteration, direct=False)

    def repeat(self, count=FOREVER):
        return self._derive(_lib.mdist_dataset_repeat, self._handle, _count(count))

    def batch(self, batch_size, drop_remainder=False):
        return self._derive(_lib.mdist_dataset_batch, self._handle, _count(batch_size), drop_remainder)

    def prefetch(self, elements):
        return self._derive(_lib.mdist_dataset_prefetch, self._handle, _count(elements), direct=False)

    def map(self, function, outputs):
        """Calls function(inputs, outputs), two lists of arrays, of which it fills the second in place.

        `outputs` says (dtype, shape) of each; a first dimension of mdist.ROWS is that of the first input. The arrays
        are those of the call: keeping one fails the iteration. A prefetch behind it calls it on another thread.
        """
        mapping = _Mapping(function)
        described = (Tensor * len(outputs))(*(_described(*one) for one in outputs))
        return self._derive(_lib.mdist_dataset_map, self._handle, _MAP, _keep(mapping), _FREE, described, len(outputs),
                            options=[None], maps=[mapping])

    @property
    def component_count(self):
        return _lib.mdist_dataset_component_count(self._handle)

    def __iter__(self):
        iterator = Iterator._of(_new(_lib.mdist_iterator_create, self._handle), _maps=self._maps,
                                _direct=self._direct, _count=self.component_count)
        _iterators.add(iterator)
        return iterator


class Iterator(_Destroyable):
    """Elements of a dataset. The values stay when it moves on."""

    _destroy = _lib.mdist_iterator_destroy
    _cause = None  # of the error that it gives for ever

    def close(self):
        """Ends the iteration and waits for the map function under way, if any: its memory is out of use then."""
        _call(_lib.mdist_iterator_close, self._handle)

    def __iter__(self):
        return self

    def __next__(self):
        out = (c_void_p * self._count)()
        thread = threading.get_ident()
        for mapping in self._direct:
            mapping.begun.discard(thread)
        try:
            status = _call(_lib.mdist_iterator_next, self._handle, out, self._count)
        except Error as error:
            if self._cause is None and all(mapping.failures.lost(error) for mapping in self._maps) and self._maps:
                raise KeyboardInterrupt from error
            for mapping in self._maps:
                # Kept here and no longer there: its traceback leads to this iterator, and past the library to itself.
                try:
                    self._cause = self._cause or mapping.failures.cause(error)
                finally:
                    mapping.failures.pop(error.native, None)
            raise error from self._cause
        if status == Status.END:
            raise StopIteration
        values = tuple(Value._of(handle) for handle in out)
        if any(thread not in mapping.begun for mapping in self._direct):
            raise KeyboardInterrupt
        return values


class _Mapping:
    def __init__(self, function):
        self.function, self.failures = function, _Failures()
        self.begun = set()  # threads

    def call(self, inputs, input_count, outputs, output_count):
        self.begun.add(threading.get_ident())
        class Owner:
            """Alive as long as somebody looks at the memory of this call."""

        owner = Owner()
        watch = weakref.ref(owner)
        try:
            self.function([_array(inputs[i], owner) for i in range(input_count)],
                          [_array(outputs[i], owner, True) for i in range(output_count)])
        except BaseException as exception:
            traceback.clear_frames(exception.__traceback__)
            raise
        del owner
        if watch() is not None:
            raise ValueError("the map function kept an array of the call, whose memory goes now; let it keep a copy")


@MapFn
def _MAP(inputs, input_count, outputs, output_count, key):
    mapping = _kept[key]
    return mapping.failures.guard(mapping.call, inputs, input_count, outputs, output_count)


_iterators = weakref.WeakSet()


@atexit.register
def _settle():
    """A thread that calls into an interpreter that has gone is ended by it, with the process: let all finish before, in
    10 s at most."""
    for iterator in list(_iterators):
        iterator.destroy()
    _lib.mdist_iterators_settle(10 * 10**9, byref(c_int32()), None)


# ---- GPUs

Gpus = namedtuple("Gpus", "count text")


def gpus():
    """How many GPUs this process can use, and in words what they are, or why there are none. Not before a fork whose
    child uses GPUs."""
    count, needed = c_uint32(), c_size_t()
    _call(_lib.mdist_gpu_count, byref(count), None, 0, byref(needed))
    text = ctypes.create_string_buffer(needed.value)
    _call(_lib.mdist_gpu_count, byref(count), text, needed, None)
    return Gpus(count.value, text.value.decode(errors="replace"))


class GpuArray:
    """Memory of the library on a GPU, which it keeps: `data` is its address, `device` "gpu:1", `dtype` and `shape` what
    lies there. It goes wherever arrays go in, and other libraries take it without a copy: cupy.asarray(x),
    torch.as_tensor(x, device="cuda"). In a step, have them work on replica.stream."""

    def __init__(self, tensor, owner, writable):
        self.data, self.device, self.dtype = tensor.data or 0, _place(tensor), Dtype(tensor.dtype)
        self.shape, self._owner, self._writable = tuple(tensor.shape[:tensor.rank]), owner, writable

    @property
    def __cuda_array_interface__(self):
        return {"version": 3, "typestr": _TYPES[self.dtype][0], "shape": self.shape,
                "data": (self.data, not self._writable), "strides": None}

    def __repr__(self):
        return f"<GpuArray {self.dtype.name.lower()} {self.shape} on {self.device}>"


def copy(to, source):
    """Copies between arrays of one dtype and shape, wherever they lie: of the host, GpuArrays, or those of another
    library with __cuda_array_interface__. Done on return. In a step take replica.copy."""
    pairs = [_tensor(to, True), _tensor(source)]
    _call(_lib.mdist_tensor_copy, *(byref(tensor) for tensor, _ in pairs))


# ---- Memory and DLPack


class _Allocation(_Held):
    _destroy = _lib.mdist_free


def alloc(dtype, shape, strategy=None, local_replica=0):
    """An array of zeros in memory of the library, 64-byte aligned; on a replica's device if there is a strategy: of a
    GPU a GpuArray."""
    return _allocated(dtype, shape, _lib.mdist_alloc,
                      None if strategy is None else _handle(strategy, Strategy), _count(local_replica))


def alloc_pinned(dtype, shape):
    """An array of zeros in page-locked memory, which GPUs copy from and to at full speed; ordinary memory where there
    are none."""
    return _allocated(dtype, shape, _lib.mdist_alloc_pinned)


def _allocated(dtype, shape, function, *arguments):
    wanted = _described(dtype, shape)
    bytes_ = _lib.mdist_tensor_elements(byref(wanted)) * _lib.mdist_dtype_size(wanted.dtype)
    memory = _Allocation(_new(function, *arguments, bytes_))
    return _seen(_known(memory._handle, wanted.dtype, shape), memory, True)


def _known(data, dtype, shape):
    """A Tensor of the library's memory, which says where it lies."""
    tensor, dimensions = Tensor(), (c_uint64 * MAX_RANK)(*shape)
    _call(_lib.mdist_tensor_describe, data, dtype, dimensions, len(shape), byref(tensor))
    return tensor


# The two layouts: name of a capsule, name once it is taken, where a DLManagedTensor has its deleter, functions.
_LAYOUTS = {
    "legacy": (b"dltensor", b"used_dltensor", 56, _lib.mdist_value_from_dlpack, _lib.mdist_value_to_dlpack),
    "versioned": (b"dltensor_versioned", b"used_dltensor_versioned", 16, _lib.mdist_value_from_dlpack_versioned,
                  _lib.mdist_value_to_dlpack_versioned),
}
_capsule_new = _python("PyCapsule_New", py_object, c_void_p, c_char_p, c_void_p)
_capsule_has_name = _python("PyCapsule_IsValid", ctypes.c_int, py_object, c_char_p)
_capsule_pointer = _python("PyCapsule_GetPointer", c_void_p, py_object, c_char_p)
_capsule_rename = _python("PyCapsule_SetName", ctypes.c_int, py_object, c_char_p)


def from_dlpack(source):
    """A Value around the memory of anything with __dlpack__ (NumPy, PyTorch, JAX ...), not to be changed meanwhile."""
    capsule, layout, managed = _capsule_of(source)
    name, used, _, from_dlpack_, _ = _LAYOUTS[layout]
    _capsule_rename(capsule, used)  # before the call: an interrupt in between costs memory, and not a crash
    try:
        return Value._of(_new(from_dlpack_, managed))
    except Error:
        _capsule_rename(capsule, name)
        raise


class _DLTensor(Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


# Where a managed tensor has its DLTensor, and its flags, of which 1 says that it is read-only.
_DLPACK_TENSORS = {"legacy": (0, None), "versioned": (32, 24)}
_DLPACK_TYPES = {(0, 8): Dtype.INT8, (0, 32): Dtype.INT32, (0, 64): Dtype.INT64, (1, 8): Dtype.UINT8,
                 (1, 32): Dtype.UINT32, (1, 64): Dtype.UINT64, (2, 16): Dtype.FLOAT16, (2, 32): Dtype.FLOAT32,
                 (2, 64): Dtype.FLOAT64, (4, 16): Dtype.BFLOAT16}


def _capsule_of(source):
    """(capsule, its layout, the address in it)"""
    try:
        capsule = source.__dlpack__(max_version=(1, 0))
    except TypeError:  # older than DLPack 1.0
        capsule = source.__dlpack__()
    for layout, (name, *_) in _LAYOUTS.items():
        if _capsule_has_name(capsule, name):
            return capsule, layout, _capsule_pointer(capsule, name)
    raise TypeError(f"{_kind(source)}.__dlpack__ gave {capsule!r}, which is no DLPack capsule, or a used one")


def _dlpack_view(source):
    """(memoryview, Dtype) of the memory of anything with __dlpack__ on the host. The capsule stays whole: its owner
    deletes it when the view has gone."""
    kind, number = source.__dlpack_device__()
    if kind not in (1, 3):  # the CPU's, and what CUDA has locked
        raise BufferError(f"{_kind(source)} lies on a device (DLPack's {int(kind)}:{int(number)}) and has no "
                          "__cuda_array_interface__; bring it to the host first")
    capsule, layout, managed = _capsule_of(source)
    at, flags_at = _DLPACK_TENSORS[layout]
    tensor = _DLTensor.from_address(managed + at)
    dtype = _DLPACK_TYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype is None:
        kinds = dict(enumerate(("int", "uint", "float", "opaque", "bfloat", "complex", "bool")))
        raise TypeError(f"elements of {kinds.get(tensor.code, f'DLPack type {tensor.code}, ')}{tensor.bits}; there are "
                        f"{_KNOWN}")
    shape = tuple(tensor.shape[:tensor.ndim])
    strides = tuple(one * tensor.bits // 8 for one in tensor.strides[:tensor.ndim]) if tensor.strides else None
    writable = flags_at is None or not c_uint64.from_address(managed + flags_at).value & 1
    data = (tensor.data or 0) + tensor.byte_offset
    if numpy:
        return memoryview(numpy.asarray(_Foreign(data, dtype, shape, strides, writable, capsule))), dtype
    return _without_numpy(data, dtype, shape, strides, capsule), dtype


class _Foreign:
    """Memory that a capsule keeps alive, for NumPy to look at."""

    def __init__(self, data, dtype, shape, strides, writable, owner):
        self.owner = owner
        self.__array_interface__ = {"version": 3, "typestr": _TYPES[dtype][0], "shape": shape, "strides": strides,
                                    "data": (data, not writable)}


def _without_numpy(data, dtype, shape, strides, owner):
    _, element, form = _TYPES[dtype]
    elements, dense = 1, ctypes.sizeof(element)
    for index in reversed(range(len(shape))):
        if strides and shape[index] > 1 and strides[index] != dense:
            raise ValueError(f"a tensor of shape {shape} that is not C-contiguous needs NumPy, which is not installed")
        elements, dense = elements * shape[index], dense * shape[index]
    if elements == 0:
        return memoryview(bytearray()).cast(form)
    memory = (element * elements).from_address(data)
    memory.owner = owner
    return memoryview(memory).cast("B").cast(form, shape)


class _Export:
    """A capsule that was given out. It has no destructor: one in Python would lose the exception under way where a
    capsule dies of it. Instead it is looked after here, and what nobody took in time is deleted later."""

    waiting = deque()

    def __init__(self, value, index, layout):
        self.name, _, self.deleter_at, _, to_dlpack = _LAYOUTS[layout]
        self.managed = _new(to_dlpack, value._handle, index)
        self.capsule = _capsule_new(self.managed, self.name, None)

    def finished(self):
        alone = sys.getrefcount(self.capsule) <= 2  # ours, and this call's; first, for a taker renames and lets go
        if not _capsule_has_name(self.capsule, self.name):
            return True  # taken: the taker deletes it
        if not alone:
            return False
        deleter = c_void_p.from_address(self.managed + self.deleter_at).value
        CFUNCTYPE(None, c_void_p)(deleter)(self.managed)
        return True

    @classmethod
    def sweep(cls):
        for _ in range(len(cls.waiting)):
            try:
                one = cls.waiting.popleft()
            except IndexError:  # another thread sweeps, too
                return
            if not one.finished():
                cls.waiting.append(one)


class _Part:
    """One array of a value, for other libraries to take: numpy.from_dlpack(value.part(1))."""

    def __init__(self, value, index):
        self._value, self._index = value, index

    def __dlpack_device__(self):
        tensor = self._value._describe(self._index)
        return (2, tensor.device_index) if tensor.device_kind == DeviceKind.GPU else (1, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if copy:
            raise BufferError("a value is shared, never copied; copy what comes out")
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"a value on device {self.__dlpack_device__()} does not move to {tuple(dl_device)}")
        _Export.sweep()
        layout = "versioned" if max_version and max_version[0] >= 1 else "legacy"
        one = _Export(self._value, self._index, layout)
        capsule = one.capsule  # held from before others sweep
        _Export.waiting.append(one)
        return capsule


# ---- Library


def version():
    """Of the library that is running: 10000 * major + 100 * minor + patch."""
    return _lib.mdist_version()


def has(feature):
    """Whether this build on this host can do "cuda", "shm", "avx2" ..."""
    return bool(_lib.mdist_has(_name(feature)))


def log_set_level(level):
    """Messages above this LogLevel are dropped."""
    _call(_lib.mdist_log_set_level, _choice(LogLevel, level, "level"))


def log_set_sink(function=None):
    """Sends messages to function(level, text) instead of stderr; None brings stderr back."""
    if function is None:
        atexit.unregister(log_set_sink)
        _call(_lib.mdist_log_set_sink, LogFn(), None, FreeFn())
    else:
        atexit.register(log_set_sink)
        _call(_lib.mdist_log_set_sink, _LOG, _keep(function), _FREE)


@LogFn
def _LOG(level, text, length, key):
    _kept[key](LogLevel(level), text.decode(errors="replace"))
