# SPDX-License-Identifier: Apache-2.0
"""
    Strategy("devices" => "cpu*4", "communication.timeout" => "5s")
    Strategy(config::Config)

One copy of the model per device, and a replica on each; see `run`. The first form begins with the environment,
which the pairs override, and has no threads in the library, which `run` doesn't need. One call at a time, on any thread.
"""
mutable struct Strategy <: Handle
    handle::Ptr{mdist_strategy_t}
    blobs::Vector{Any} # those that nobody closed
    Strategy(handle::Ptr{mdist_strategy_t}) = finalizer(destroy, new(handle, []))::Strategy
end

destroy(strategy::Strategy) = @ccall libmdist.mdist_strategy_destroy(strategy::Ptr{mdist_strategy_t})::Cvoid
Base.unsafe_convert(::Type{Ptr{mdist_strategy_t}}, strategy::Strategy) = strategy.handle

function Strategy(config::Config)
    out = Out{mdist_strategy_t}(C_NULL)
    check() do error
        @ccall libmdist.mdist_strategy_create(
            config::Ptr{mdist_config_t}, out::Out{mdist_strategy_t}, error::Out{mdist_error_t})::Int32
    end
    return Strategy(out[])
end

function Strategy(settings::Pair...)
    config = Config()
    config["executor"] = "caller"
    for (key, value) in settings
        config[key] = value
    end
    strategy = Strategy(config)
    close(config)
    return strategy
end

"Replicas in the whole job."
function replica_count(strategy::Strategy)
    return Int(@ccall libmdist.mdist_strategy_replica_count(strategy::Ptr{mdist_strategy_t})::UInt32)
end

"Replicas of this process."
function local_replica_count(strategy::Strategy)
    return Int(@ccall libmdist.mdist_strategy_local_replica_count(strategy::Ptr{mdist_strategy_t})::UInt32)
end

"Workers of the job: 1 where this one is alone."
function worker_count(strategy::Strategy)
    return Int(@ccall libmdist.mdist_strategy_worker_count(strategy::Ptr{mdist_strategy_t})::UInt32)
end

"This worker's rank, from 0."
rank(strategy::Strategy) = Int(or_none(@ccall libmdist.mdist_strategy_rank(strategy::Ptr{mdist_strategy_t})::UInt32))

"The id of this worker's first local replica. In an elastic job it changes with `Mdist.regroup`."
first_replica_id(strategy::Strategy) =
    Int(or_none(@ccall libmdist.mdist_strategy_first_replica_id(strategy::Ptr{mdist_strategy_t})::UInt32))

"Whether it is this worker that does what is done once for all: writes checkpoints, prints."
function is_chief(strategy::Strategy)
    return (@ccall libmdist.mdist_strategy_is_chief(strategy::Ptr{mdist_strategy_t})::Int32) != 0
end

"Name of the device under a local replica, such as `cpu:1`."
function device(strategy::Strategy, local_replica::Integer)
    return read_text() do text, capacity, needed, error
        @ccall libmdist.mdist_strategy_device(
            strategy::Ptr{mdist_strategy_t}, local_replica::UInt32, text::Ptr{UInt8}, capacity::Csize_t,
            needed::Ref{Csize_t}, error::Out{mdist_error_t})::Int32
    end
end

"Throws what ended all collectives, such as a worker that was lost; returns at once while they can go on."
function check_health(strategy::Strategy)
    check() do error
        @ccall libmdist.mdist_strategy_check_health(
            strategy::Ptr{mdist_strategy_t}, error::Out{mdist_error_t})::Int32
    end
    return nothing
end

"Ends all collectives of the strategy, now and for good: `ERR_ABORTED`. Steps run on to their own end."
abort(strategy::Strategy) = @ccall libmdist.mdist_strategy_abort(strategy::Ptr{mdist_strategy_t})::Cvoid
