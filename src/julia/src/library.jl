# SPDX-License-Identifier: Apache-2.0
# What the C headers declare, under the names it has there: structs and handles as they are, constants without `MDIST_`.
# tests/ffi/julia_signatures_test.py holds this file, and every @ccall of the module, against the headers.

const libmdist = "libmdist.so.2"

# Handles. Nobody looks inside; types of their own keep them apart.
mutable struct mdist_blob_t end
mutable struct mdist_prepared_t end
mutable struct mdist_checkpoint_t end
mutable struct mdist_config_t end
mutable struct mdist_dataset_t end
mutable struct mdist_error_t end
mutable struct mdist_gradients_t end
mutable struct mdist_group_t end
mutable struct mdist_iterator_t end
mutable struct mdist_record_writer_t end
mutable struct mdist_replica_t end
mutable struct mdist_strategy_t end
mutable struct mdist_value_t end
mutable struct mdist_variable_t end
mutable struct mdist_work_t end

"Where a C function puts a handle."
const Out{T} = Ref{Ptr{T}}

struct mdist_buffer_t
    data::Ptr{Cvoid}
    elements::UInt64
    dtype::Int32
    reserved::Int32
end

struct mdist_tensor_t
    data::Ptr{Cvoid}
    dtype::Int32
    rank::Int32
    device_kind::Int32
    device_index::Int32
    shape::NTuple{8,UInt64}
end

struct mdist_call_options_t
    struct_size::UInt32
    flags::UInt32
    timeout_ns::UInt64
    bytes_per_pack::Int64
    implementation::Int32
    reserved::UInt32
    group::Ptr{mdist_group_t}
end

struct mdist_collective_description_t
    struct_size::UInt32
    kind::Int32
    op::Int32
    root::UInt32
    inputs::Ptr{mdist_buffer_t}
    outputs::Ptr{mdist_buffer_t}
    buffer_count::Csize_t
    input_parts::Ptr{UInt64}
    output_parts::Ptr{UInt64}
end

struct mdist_run_io_t
    struct_size::UInt32
    flags::UInt32
    arguments::Ptr{Ptr{mdist_value_t}}
    argument_count::Csize_t
    results::Ptr{Ptr{mdist_value_t}}
    result_count::Csize_t
    timeout_ns::UInt64
end

struct mdist_variable_options_t
    struct_size::UInt32
    synchronization::Int32
    aggregation::Int32
    reserved::Int32
    colocate_with::Ptr{mdist_variable_t}
end

struct mdist_input_options_t
    struct_size::UInt32
    flags::UInt32
    policy::Int32
    uneven::Int32
    replication_mode::Int32
    fetch_to_device::Int32
    buffer_size::UInt64
    weights::Ptr{Cdouble}
    weight_count::Csize_t
end

struct mdist_dataset_options_t
    struct_size::UInt32
    flags::UInt32
    parallel_calls::UInt32
    reserved::UInt32
end

struct mdist_read_options_t
    struct_size::UInt32
    flags::UInt32
    compression::Int32
    on_corrupt::Int32
    cycle_length::UInt64
    block_length::UInt64
    max_record_bytes::UInt64
    parallel_files::UInt64
end

struct mdist_record_writer_options_t
    struct_size::UInt32
    compression::Int32
end

struct mdist_restore_options_t
    struct_size::UInt32
    flags::UInt32
    timeout_ns::UInt64
end

struct mdist_change_t
    struct_size::UInt32
    generation::UInt32
    step::UInt64
    rank::UInt32
    worker_count::UInt32
    first_replica_id::UInt32
    local_replica_count::UInt32
end

struct mdist_gradients_options_t
    struct_size::UInt32
    flags::UInt32
    op::Int32
    reserved::Int32
    bucket_bytes::UInt64
    clip_norm::Cdouble
end

const FOREVER = 0x7fffffffffffff01
const LATEST = 0x7fffffffffffff03
const RESTORE_PARTIAL = 1
const MAX_RANK = 8
const ONE_PER_WORKER = 0x7fffffffffffff04
const DATASET_DROP_REMAINDER = 1
const DATASET_SAME_ORDER = 2
const INPUT_NO_SPLIT = 1
const INPUT_WHOLE_STEPS = 2

"What a function answers: 0 is good, below 0 is an error."
@enum Status::Int32 begin
    OK = 0
    END = 1
    ERR_INVALID_ARGUMENT = -1
    ERR_BAD_HANDLE = -2
    ERR_WRONG_CONTEXT = -3
    ERR_FAILED_PRECONDITION = -4
    ERR_CONFIG = -5
    ERR_NOT_FOUND = -6
    ERR_UNSUPPORTED = -7
    ERR_OUT_OF_MEMORY = -8
    ERR_RESOURCE = -9
    ERR_IO = -10
    ERR_DATA_LOSS = -11
    ERR_MISMATCH = -12
    ERR_TIMEOUT = -13
    ERR_PEER_LOST = -14
    ERR_ABORTED = -15
    ERR_UNAUTHENTICATED = -16
    ERR_CALLBACK = -17
    ERR_DEVICE = -18
    ERR_INTERNAL = -19
end

"Element types."
@enum DType::Int32 begin
    DTYPE_NONE = 0
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
end

"How replicas' elements become one."
@enum ReduceOp::Int32 begin
    SUM = 1
    MEAN = 2
    MIN = 3
    MAX = 4
    PROD = 5
    AND = 6
    OR = 7
    XOR = 8
end

"The collectives that can be prepared."
@enum CollectiveKind::Int32 begin
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
end

"Whether a value has one tensor, equal ones, one of its own for each local replica, or leaves that have."
@enum ValueKind::Int32 begin
    VALUE_NONE = 0
    VALUE_PLAIN = 1
    VALUE_MIRRORED = 2
    VALUE_PER_REPLICA = 3
    VALUE_STRUCTURE = 4
end

"When copies of a variable are made equal."
@enum Synchronization::Int32 begin
    SYNC_AUTO = 0
    SYNC_ON_WRITE = 1
    SYNC_ON_READ = 2
end

"How copies of a variable become one."
@enum Aggregation::Int32 begin
    AGGREGATION_NONE = 0
    AGGREGATION_SUM = 1
    AGGREGATION_MEAN = 2
    AGGREGATION_ONLY_FIRST_REPLICA = 3
end

"What assigning does with what is there."
@enum Assign::Int32 begin
    ASSIGN_SET = 1
    ASSIGN_ADD = 2
    ASSIGN_SUB = 3
    ASSIGN_MUL = 4
    ASSIGN_DIV = 5
    ASSIGN_MIN = 6
    ASSIGN_MAX = 7
end

"Who reads what of a distributed dataset."
@enum ShardPolicy::Int32 begin
    SHARD_OFF = -1
    SHARD_AUTO = 0
    SHARD_FILE = 1
    SHARD_DATA = 2
    SHARD_MARKED = 3
end

"What happens to rows that cannot be shared out evenly."
@enum Uneven::Int32 begin
    UNEVEN_DEFAULT = 0
    UNEVEN_SPREAD = 1
    UNEVEN_DROP = 2
end

"How the bytes of a file are compressed."
@enum Compression::Int32 begin
    COMPRESSION_NONE = 0
    COMPRESSION_GZIP = 1
    COMPRESSION_ZLIB = 2
end

"What happens to a corrupt record."
@enum OnCorrupt::Int32 begin
    ON_CORRUPT_FAIL = 0
    ON_CORRUPT_SKIP = 1
end

"What gradients do beside being reduced."
@enum GradientsFlags::Int32 begin
    GRADIENTS_ZERO_MISSING = 1
    GRADIENTS_ZERO_NONFINITE = 2
    GRADIENTS_NO_NORM = 4
end

"What all workers are to do after a step: go on, save and go on, save and end the program, or commit and regroup."
@enum Verdict::Int32 begin
    VERDICT_GO_ON = 0
    VERDICT_SAVE = 1
    VERDICT_END = 2
    VERDICT_REGROUP = 3
end

"Version of the library that is running: 10000 * major + 100 * minor + patch."
version() = @ccall libmdist.mdist_version()::UInt32

"Whether this build and this host can do something: `Mdist.has(\"avx2\")`."
has(feature::AbstractString) = (@ccall libmdist.mdist_has(feature::Cstring)::Int32) != 0

"The options of one call: how many seconds each wait for other replicas may take; 0 leaves it to the strategy."
function options(timeout::Real, group::Ptr{mdist_group_t} = Ptr{mdist_group_t}(C_NULL))
    timeout >= 0 || throw(ArgumentError("a timeout is some seconds, or 0 for the strategy's own, not $timeout"))
    limit = timeout == 0 ? 0 : timeout * 1.0e9 < FOREVER ? max(1, round(UInt64, timeout * 1.0e9)) : FOREVER
    return Ref(mdist_call_options_t(sizeof(mdist_call_options_t), 0, limit, 0, 0, 0, group))
end
