# SPDX-License-Identifier: Apache-2.0
"""Types, constants and functions of the C headers. Written by ../generate from include/mdist/*.h; do not edit."""
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32,
                    c_uint64, c_void_p)
from enum import IntEnum

__version__ = "0.3.0"
VERSION_MAJOR = 0
VERSION_MINOR = 3
VERSION_PATCH = 0
VERSION = 300
FOREVER = 9223372036854775553
NONE = 4294967295
LATEST = 9223372036854775555
RESTORE_PARTIAL = 1
UNKNOWN_LENGTH = 9223372036854775554
DATASET_DROP_REMAINDER = 1
DATASET_SAME_ORDER = 2
DATASET_UNORDERED = 4
DATASET_ANY_THREAD = 8
ONE_PER_WORKER = 9223372036854775556
INPUT_NO_SPLIT = 1
INPUT_WHOLE_STEPS = 2
INPUT_PLACE_ON_DEVICE = 4
OPERATOR_MAX_BYTES = 1073741823
MAX_RANK = 8
c_void_pp = POINTER(c_void_p)


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
    AND = 6
    OR = 7
    XOR = 8


class CollectiveKind(IntEnum):
    COLLECTIVE_ALL_REDUCE = 1
    COLLECTIVE_BROADCAST = 2
    COLLECTIVE_ALL_GATHER = 3
    COLLECTIVE_REDUCE_SCATTER = 4
    COLLECTIVE_ALL_TO_ALL = 5
    COLLECTIVE_ALL_TO_ALL_PARTS = 6
    COLLECTIVE_REDUCE_TO_ROOT = 7
    COLLECTIVE_GATHER_TO_ROOT = 8
    COLLECTIVE_SCATTER = 9
    COLLECTIVE_BARRIER = 10


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
    SHARD_MARKED = 3


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


class Verdict(IntEnum):
    GO_ON = 0
    SAVE = 1
    END = 2
    REGROUP = 3


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


class Departure(IntEnum):
    DEPARTURE_JOB_FAILED = 0
    DEPARTURE_LOST = 1
    DEPARTURE_LEFT = 2


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
    INT16 = 11
    UINT16 = 12
    BOOL = 13


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


class RestoreOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("timeout_ns", c_uint64),
    ]


class Task(Structure):
    _fields_ = [
        ("task_type", c_int32),
        ("task_index", c_uint32),
        ("address", c_char_p),
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
        ("rank", c_uint32),
        ("worker_count", c_uint32),
        ("address", c_char_p),
        ("master", c_char_p),
    ]


class Buffer(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("elements", c_uint64),
        ("dtype", c_int32),
        ("reserved", c_int32),
    ]


class CollectiveDescription(Structure):
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


class DatasetOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("parallel_calls", c_uint32),
        ("reserved", c_uint32),
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


class RecordWriterOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("compression", c_int32),
    ]


class Dlpack(Structure):
    _fields_ = [
        ("plain", c_void_p),
        ("versioned", c_void_p),
    ]


class Change(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("generation", c_uint32),
        ("step", c_uint64),
        ("rank", c_uint32),
        ("worker_count", c_uint32),
        ("first_replica_id", c_uint32),
        ("local_replica_count", c_uint32),
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


class StoreOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("worker_count", c_uint32),
        ("restart", c_uint32),
        ("reserved", c_uint32),
        ("job", c_char_p),
        ("secret", c_char_p),
        ("config", c_void_p),
    ]


class StoreInfo(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("joined", c_uint32),
        ("first_gone", c_uint32),
        ("ended", c_int32),
        ("committed", c_int32),
        ("address", c_char * 320),
        ("progress", c_char * 3072),
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


class RunIo(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("arguments", c_void_pp),
        ("argument_count", c_size_t),
        ("results", c_void_pp),
        ("result_count", c_size_t),
        ("timeout_ns", c_uint64),
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
BlobSaveFn = CFUNCTYPE(c_int32, c_uint32, c_void_p, c_size_t, c_void_p)
BlobRestoreFn = CFUNCTYPE(c_int32, c_uint32, c_void_p, c_size_t, c_void_p)
DatasetFn = CFUNCTYPE(c_int32, POINTER(InputContext), c_void_pp, c_void_p)
LogFn = CFUNCTYPE(None, c_int32, c_char_p, c_size_t, c_void_p)
LoopFn = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, c_void_p)
CombineFn = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, c_uint64, c_void_p)
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
    "mdist_checkpoint_create": (c_int32, [c_void_p, c_char_p, c_uint32, c_void_pp, c_void_pp]),
    "mdist_checkpoint_add": (c_int32, [c_void_p, c_char_p, c_void_p, c_void_pp]),
    "mdist_checkpoint_add_iterator": (c_int32, [c_void_p, c_char_p, c_void_p, c_void_pp]),
    "mdist_checkpoint_set_text": (c_int32, [c_void_p, c_char_p, c_char_p, c_void_pp]),
    "mdist_checkpoint_text": (c_int32, [c_void_p, c_char_p, c_char_p, c_size_t, POINTER(c_size_t), c_void_pp]),
    "mdist_checkpoint_text_count": (c_size_t, [c_void_p]),
    "mdist_checkpoint_text_key": (c_int32, [c_void_p, c_size_t, c_char_p, c_size_t, POINTER(c_size_t), c_void_pp]),
    "mdist_checkpoint_save": (c_int32, [c_void_p, c_uint64, POINTER(CallOptions), c_void_pp]),
    "mdist_checkpoint_restore": (c_int32, [c_void_p, c_uint64, POINTER(c_uint64), POINTER(RestoreOptions), c_void_pp]),
    "mdist_checkpoint_clear": (c_int32, [c_void_p, POINTER(CallOptions), c_void_pp]),
    "mdist_checkpoint_latest": (c_int32, [c_char_p, POINTER(c_uint64), c_void_pp]),
    "mdist_checkpoint_destroy": (None, [c_void_p]),
    "mdist_cluster_create": (c_int32, [POINTER(Task), c_size_t, c_int32, c_uint32, c_void_pp, c_void_pp]),
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
    "mdist_all_reduce_sparse": (c_int32, [c_void_p, c_int32, POINTER(Tensor), POINTER(Tensor), c_void_pp,
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
    "mdist_strategy_reduce": (c_int32, [c_void_p, c_int32, c_void_p, c_void_pp, POINTER(CallOptions), c_void_pp]),
    "mdist_strategy_reduce_axes": (c_int32, [c_void_p, c_int32, c_void_p, POINTER(c_int32), c_size_t, c_void_pp,
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
    "mdist_dataset_from_tensors": (c_int32, [POINTER(Tensor), c_size_t, c_void_p, FreeFn, c_void_pp,
        POINTER(DatasetOptions), c_void_pp]),
    "mdist_dataset_shard": (c_int32, [c_void_p, c_uint64, c_uint64, c_void_pp, POINTER(DatasetOptions), c_void_pp]),
    "mdist_dataset_shuffle": (c_int32, [c_void_p, c_uint64, c_uint64, c_void_pp, POINTER(DatasetOptions), c_void_pp]),
    "mdist_dataset_repeat": (c_int32, [c_void_p, c_uint64, c_void_pp, POINTER(DatasetOptions), c_void_pp]),
    "mdist_dataset_map": (c_int32, [c_void_p, MapFn, c_void_p, FreeFn, POINTER(Tensor), c_size_t, c_void_pp,
        POINTER(DatasetOptions), c_void_pp]),
    "mdist_dataset_batch": (c_int32, [c_void_p, c_uint64, c_void_pp, POINTER(DatasetOptions), c_void_pp]),
    "mdist_dataset_prefetch": (c_int32, [c_void_p, c_uint64, c_void_pp, POINTER(DatasetOptions), c_void_pp]),
    "mdist_dataset_with_paths": (c_int32, [c_void_p, POINTER(c_char_p), c_size_t, c_void_pp, POINTER(DatasetOptions),
        c_void_pp]),
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
    "mdist_iterators_wait": (c_int32, [c_uint64, POINTER(c_int32), c_void_pp]),
    "mdist_dataset_range": (c_int32, [c_int64, c_int64, c_int64, c_void_pp, POINTER(DatasetOptions), c_void_pp]),
    "mdist_dataset_from_generator": (c_int32, [GenerateFn, c_void_p, FreeFn, FreeFn, POINTER(Tensor), c_size_t,
        c_void_pp, POINTER(DatasetOptions), c_void_pp]),
    "mdist_dataset_files": (c_int32, [POINTER(c_char_p), c_size_t, c_void_pp, POINTER(DatasetOptions), c_void_pp]),
    "mdist_dataset_match_files": (c_int32, [POINTER(c_char_p), c_size_t, c_void_pp, POINTER(DatasetOptions),
        c_void_pp]),
    "mdist_dataset_text_lines": (c_int32, [c_void_p, c_void_pp, POINTER(ReadOptions), c_void_pp]),
    "mdist_dataset_fixed_records": (c_int32, [c_void_p, c_uint64, c_uint64, c_uint64, c_void_pp, POINTER(ReadOptions),
        c_void_pp]),
    "mdist_dataset_tfrecords": (c_int32, [c_void_p, c_void_pp, POINTER(ReadOptions), c_void_pp]),
    "mdist_iterator_skipped": (c_int32, [c_void_p, POINTER(c_uint64), c_void_pp]),
    "mdist_record_writer_create": (c_int32, [c_char_p, c_void_pp, POINTER(RecordWriterOptions), c_void_pp]),
    "mdist_record_writer_write": (c_int32, [c_void_p, c_void_p, c_size_t, c_void_pp]),
    "mdist_record_writer_close": (c_int32, [c_void_p, c_void_pp]),
    "mdist_record_writer_destroy": (None, [c_void_p]),
    "mdist_dataset_filter": (c_int32, [c_void_p, FilterFn, c_void_p, FreeFn, c_void_pp, POINTER(DatasetOptions),
        c_void_pp]),
    "mdist_dataset_take": (c_int32, [c_void_p, c_uint64, c_void_pp, POINTER(DatasetOptions), c_void_pp]),
    "mdist_dataset_skip": (c_int32, [c_void_p, c_uint64, c_void_pp, POINTER(DatasetOptions), c_void_pp]),
    "mdist_dataset_concatenate": (c_int32, [c_void_p, c_void_p, c_void_pp, POINTER(DatasetOptions), c_void_pp]),
    "mdist_dataset_zip": (c_int32, [c_void_pp, c_size_t, c_void_pp, POINTER(DatasetOptions), c_void_pp]),
    "mdist_dataset_cache": (c_int32, [c_void_p, c_void_pp, POINTER(DatasetOptions), c_void_pp]),
    "mdist_dataset_padded_batch": (c_int32, [c_void_p, c_uint64, POINTER(Tensor), c_size_t, c_void_pp,
        POINTER(DatasetOptions), c_void_pp]),
    "mdist_dataset_unbatch": (c_int32, [c_void_p, c_void_pp, POINTER(DatasetOptions), c_void_pp]),
    "mdist_dataset_rebatch": (c_int32, [c_void_p, POINTER(c_uint64), c_size_t, c_void_pp, POINTER(DatasetOptions),
        c_void_pp]),
    "mdist_value_from_dlpack": (c_int32, [POINTER(Dlpack), c_void_pp, c_void_pp]),
    "mdist_buffer_from_dlpack": (c_int32, [POINTER(Dlpack), POINTER(Buffer), c_void_pp]),
    "mdist_value_to_dlpack": (c_int32, [c_void_p, c_size_t, c_uint32, POINTER(Dlpack), c_void_pp]),
    "mdist_commit": (c_int32, [c_void_p, c_uint64, POINTER(CallOptions), c_void_pp]),
    "mdist_regroup": (c_int32, [c_void_p, POINTER(Change), POINTER(CallOptions), c_void_pp]),
    "mdist_blob_create": (c_int32, [c_void_p, c_char_p, c_size_t, BlobSaveFn, BlobRestoreFn, c_void_p, FreeFn,
        c_void_pp, c_void_pp]),
    "mdist_blob_destroy": (None, [c_void_p]),
    "mdist_gpu_count": (c_int32, [POINTER(c_uint32), c_char_p, c_size_t, POINTER(c_size_t), c_void_pp]),
    "mdist_replica_stream": (c_int32, [c_void_p, c_void_pp, c_void_pp]),
    "mdist_replica_use_stream": (c_int32, [c_void_p, c_void_p, c_void_pp]),
    "mdist_tensor_copy": (c_int32, [POINTER(Tensor), POINTER(Tensor), c_void_pp]),
    "mdist_replica_copy": (c_int32, [c_void_p, POINTER(Tensor), POINTER(Tensor), c_void_pp]),
    "mdist_replica_graph": (c_int32, [c_void_p, c_uint64, StepFn, c_void_p, c_void_pp]),
    "mdist_replica_graph_begin": (c_int32, [c_void_p, c_uint64, POINTER(c_int32), c_void_pp]),
    "mdist_replica_graph_end": (c_int32, [c_void_p, c_void_pp]),
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
    "mdist_gradients_test": (c_int32, [c_void_p, c_void_p, POINTER(c_int32), POINTER(c_double), POINTER(c_int32),
        c_void_pp]),
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
    "mdist_iterator_row_counts": (c_int32, [c_void_p, POINTER(c_uint64), c_size_t, c_void_pp]),
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
    "mdist_membership_leave": (None, [c_void_p, c_uint64]),
    "mdist_membership_check": (c_int32, [c_void_p, POINTER(c_int32), POINTER(c_uint32), POINTER(CallOptions),
        c_void_pp]),
    "mdist_strategy_is_joining": (c_int32, [c_void_p]),
    "mdist_alloc": (c_int32, [c_void_p, c_uint32, c_size_t, c_void_pp, c_void_pp]),
    "mdist_free": (None, [c_void_p]),
    "mdist_send": (c_int32, [c_void_p, c_uint32, c_uint64, POINTER(Buffer), POINTER(CallOptions), c_void_pp]),
    "mdist_receive": (c_int32, [c_void_p, c_uint32, c_uint64, POINTER(Buffer), POINTER(CallOptions), c_void_pp]),
    "mdist_send_start": (c_int32, [c_void_p, c_uint32, c_uint64, POINTER(Buffer), c_void_pp, POINTER(CallOptions),
        c_void_pp]),
    "mdist_receive_start": (c_int32, [c_void_p, c_uint32, c_uint64, POINTER(Buffer), c_void_pp, POINTER(CallOptions),
        c_void_pp]),
    "mdist_operator_register": (c_int32, [c_char_p, c_size_t, CombineFn, c_void_p, POINTER(c_int32), c_void_pp]),
    "mdist_operator_unregister": (None, [c_int32]),
    "mdist_prepared_create": (c_int32, [c_void_p, c_uint32, POINTER(CollectiveDescription), c_void_pp,
        POINTER(CallOptions), c_void_pp]),
    "mdist_prepared_run": (c_int32, [c_void_p, c_void_p, c_void_pp]),
    "mdist_prepared_start": (c_int32, [c_void_p, c_void_p, c_void_pp, c_void_pp]),
    "mdist_prepared_destroy": (None, [c_void_p]),
    "mdist_step_register": (c_int32, [c_void_p, c_char_p, StepFn, c_void_p, c_void_pp]),
    "mdist_update_register": (c_int32, [c_void_p, c_char_p, UpdateFn, c_void_p, c_void_pp]),
    "mdist_run_named": (c_int32, [c_void_p, c_char_p, POINTER(RunIo), c_void_pp]),
    "mdist_update_named": (c_int32, [c_void_p, c_void_p, c_char_p, POINTER(RunIo), c_void_pp]),
    "mdist_serve": (c_int32, [c_void_p, POINTER(CallOptions), c_void_pp]),
    "mdist_status_name": (c_char_p, [c_int32]),
    "mdist_error_status": (c_int32, [c_void_p]),
    "mdist_error_message": (c_char_p, [c_void_p]),
    "mdist_error_reason": (c_char_p, [c_void_p]),
    "mdist_error_operation": (c_char_p, [c_void_p]),
    "mdist_error_replica": (c_uint32, [c_void_p]),
    "mdist_error_rank": (c_uint32, [c_void_p]),
    "mdist_error_native": (c_int64, [c_void_p]),
    "mdist_fail": (None, [c_int32, c_char_p]),
    "mdist_error_free": (None, [c_void_p]),
    "mdist_store_create": (c_int32, [c_char_p, c_void_pp, POINTER(StoreOptions), c_void_pp]),
    "mdist_store_describe": (c_int32, [c_void_p, POINTER(StoreInfo), c_void_pp]),
    "mdist_store_worker_ended": (c_int32, [c_void_p, c_uint64, c_void_pp]),
    "mdist_store_left_behind": (c_int32, [c_void_p, POINTER(c_uint64), POINTER(c_int32), c_void_pp]),
    "mdist_store_dismiss": (c_int32, [c_void_p, c_uint64, c_void_pp]),
    "mdist_store_restart": (c_int32, [c_void_p, c_uint32, c_uint32, c_void_pp]),
    "mdist_store_destroy": (None, [c_void_p]),
    "mdist_strategy_create": (c_int32, [c_void_p, c_void_pp, c_void_pp]),
    "mdist_strategy_abort": (None, [c_void_p]),
    "mdist_strategy_check_health": (c_int32, [c_void_p, c_void_pp]),
    "mdist_strategy_destroy": (None, [c_void_p]),
    "mdist_strategy_replica_count": (c_uint32, [c_void_p]),
    "mdist_strategy_local_replica_count": (c_uint32, [c_void_p]),
    "mdist_strategy_worker_count": (c_uint32, [c_void_p]),
    "mdist_strategy_rank": (c_uint32, [c_void_p]),
    "mdist_strategy_first_replica_id": (c_uint32, [c_void_p]),
    "mdist_strategy_is_chief": (c_int32, [c_void_p]),
    "mdist_strategy_device": (c_int32, [c_void_p, c_uint32, c_char_p, c_size_t, POINTER(c_size_t), c_void_pp]),
    "mdist_run": (c_int32, [c_void_p, StepFn, c_void_p, POINTER(RunIo), c_void_pp]),
    "mdist_map": (c_int32, [c_void_p, c_uint64, ElementFn, c_void_p, POINTER(RunIo), c_void_pp]),
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
    "mdist_run_begin": (c_int32, [c_void_p, POINTER(RunIo), c_void_pp]),
    "mdist_run_end": (c_int32, [c_void_p, c_void_pp, c_size_t, c_void_pp]),
    "mdist_replica_enter": (c_int32, [c_void_p, c_uint32, c_void_pp, c_void_pp]),
    "mdist_replica_exit": (c_int32, [c_void_p, c_int32, c_void_pp]),
    "mdist_merge_begin": (c_int32, [c_void_p, POINTER(Tensor), c_size_t, c_void_pp, POINTER(CallOptions), c_void_pp]),
    "mdist_merge_end": (c_int32, [c_void_p, c_int32, c_void_pp, POINTER(Tensor), c_size_t, c_void_pp]),
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
    "mdist_value_sparse": (c_int32, [c_void_p, c_void_p, c_void_pp, c_void_pp]),
    "mdist_value_indices": (c_int32, [c_void_p, c_size_t, POINTER(Tensor), c_void_pp]),
    "mdist_value_destroy": (None, [c_void_p]),
    "mdist_variable_create": (c_int32, [c_void_p, c_char_p, POINTER(Tensor), c_void_pp, POINTER(VariableOptions),
        c_void_pp]),
    "mdist_replica_variable_create": (c_int32, [c_void_p, c_char_p, POINTER(Tensor), c_void_pp,
        POINTER(VariableOptions), c_void_pp]),
    "mdist_variable_assign": (c_int32, [c_void_p, c_int32, c_void_p, c_void_pp]),
    "mdist_replica_assign": (c_int32, [c_void_p, c_void_p, c_int32, POINTER(Tensor), POINTER(CallOptions), c_void_pp]),
    "mdist_replica_assign_sparse": (c_int32, [c_void_p, c_void_p, c_int32, POINTER(Tensor), POINTER(Tensor),
        POINTER(CallOptions), c_void_pp]),
    "mdist_variable_read": (c_int32, [c_void_p, c_void_pp, POINTER(CallOptions), c_void_pp]),
    "mdist_cached_reads_enter": (c_int32, [c_void_p, c_void_pp]),
    "mdist_cached_reads_exit": (c_int32, [c_void_p, c_void_pp]),
    "mdist_variable_tensor": (c_int32, [c_void_p, c_uint32, POINTER(Tensor), c_void_pp]),
    "mdist_variable_name": (c_char_p, [c_void_p]),
    "mdist_variable_arena": (c_int32, [c_void_p, c_int32, c_uint32, POINTER(Buffer), c_void_pp]),
    "mdist_variable_at_address": (c_int32, [c_void_p, c_void_p, c_void_pp, POINTER(c_uint32), c_void_pp]),
    "mdist_variable_named": (c_int32, [c_void_p, c_char_p, c_void_pp, c_void_pp]),
    "mdist_update": (c_int32, [c_void_p, UpdateFn, c_void_p, POINTER(RunIo), c_void_pp]),
    "mdist_update_devices": (c_int32, [c_void_p, UpdateFn, c_void_p, POINTER(RunIo), c_void_pp]),
    "mdist_variable_destroy": (None, [c_void_p]),
    "mdist_collective_start": (c_int32, [c_void_p, POINTER(CollectiveDescription), c_void_pp, POINTER(CallOptions),
        c_void_pp]),
    "mdist_work_test": (c_int32, [c_void_p, POINTER(c_int32), c_void_pp]),
    "mdist_work_wait": (c_int32, [c_void_p, c_uint64, POINTER(c_int32), c_void_pp]),
    "mdist_work_descriptor": (c_int32, [c_void_p, POINTER(c_int32), c_void_pp]),
    "mdist_work_on_done": (c_int32, [c_void_p, WorkDoneFn, c_void_p, c_void_pp]),
    "mdist_work_destroy": (None, [c_void_p]),
}

__all__ = [
    "Aggregation", "Assign", "BlobRestoreFn", "BlobSaveFn", "Buffer", "CallOptions", "Change", "ClusterInfo",
    "CollectiveDescription", "CollectiveKind", "CombineFn", "Compression", "ConfigKey", "DATASET_ANY_THREAD",
    "DATASET_DROP_REMAINDER", "DATASET_SAME_ORDER", "DATASET_UNORDERED", "DatasetFn", "DatasetOptions", "Departure",
    "DeviceKind", "Dlpack", "Dtype", "ElementFn", "FOREVER", "FUNCTIONS", "FetchFn", "FilterFn", "FreeFn", "GenerateFn",
    "GradientsFlags", "GradientsOptions", "INPUT_NO_SPLIT", "INPUT_PLACE_ON_DEVICE", "INPUT_WHOLE_STEPS",
    "Implementation", "InputContext", "InputOptions", "LATEST", "LogFn", "LogLevel", "LoopFn", "MAX_RANK", "MapFn",
    "MergeFn", "NONE", "ONE_PER_WORKER", "OPERATOR_MAX_BYTES", "OnCorrupt", "RESTORE_PARTIAL", "ReadOptions",
    "RecordWriterOptions", "ReduceOp", "ReplicationMode", "RestoreOptions", "RunIo", "ShardPolicy", "Status", "StepFn",
    "StoreInfo", "StoreOptions", "Synchronization", "Task", "TaskInfo", "TaskType", "Tensor", "UNKNOWN_LENGTH",
    "Uneven", "UpdateFn", "VERSION", "VERSION_MAJOR", "VERSION_MINOR", "VERSION_PATCH", "ValueFn", "ValueKind",
    "VariableOptions", "Verdict", "WorkDoneFn", "c_void_pp",
]
