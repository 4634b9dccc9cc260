# SPDX-License-Identifier: Apache-2.0
# Elastic jobs: they lose and gain workers, and go on with the same results. They have the key `elastic.replicas`, and
# `mdist launch -n MIN:MAX` starts them.

"What a blob's functions are, and why one failed. C has its address."
mutable struct BlobFunctions
    save::Any
    restore::Any
    failure::Any # an exception and its backtrace, or nothing
end

"""
    Mdist.Blob(strategy, name, states)
    Mdist.Blob(strategy, name, bytes, save, restore)

State that the program has for each replica, such as a random generator, so that commits keep it. `states` is a vector of
numbers, or of other plain bits, with an element for each replica of the job: that of replica id is `states[id + 1]`.

Or else `save(id, to)` writes the state of a replica into `to`, a vector of so many bytes, zeros at first, and
`restore(id, from)` takes it back. `Mdist.commit` and `Mdist.regroup` call them for each local replica, and throw what they
throw. They must not wait.

All workers make the same blobs. The strategy keeps them until it goes, or until `close(blob)`.
"""
mutable struct Blob <: Handle
    handle::Ptr{mdist_blob_t}
    strategy::Strategy
    functions::BlobFunctions
    Blob(handle::Ptr{mdist_blob_t}, strategy::Strategy, functions::BlobFunctions) =
        finalizer(destroy, new(handle, strategy, functions))::Blob
end

destroy(blob::Blob) = @ccall libmdist.mdist_blob_destroy(blob::Ptr{mdist_blob_t})::Cvoid
Base.unsafe_convert(::Type{Ptr{mdist_blob_t}}, blob::Blob) = blob.handle

function Base.close(blob::Blob)
    filter!(other -> other !== blob, blob.strategy.blobs)
    finalize(blob)
end

# Nothing may be thrown through C.

function save_blob(id::UInt32, to::Ptr{UInt8}, bytes::Csize_t, functions::Ptr{Cvoid})
    return guarded(functions) do own
        state = zeros(UInt8, bytes)
        own.save(Int(id), state)
        length(state) == bytes || throw(ArgumentError("the state has $(length(state)) bytes now, not $bytes"))
        GC.@preserve state unsafe_copyto!(to, pointer(state), bytes)
    end
end

function restore_blob(id::UInt32, from::Ptr{UInt8}, bytes::Csize_t, functions::Ptr{Cvoid})
    return guarded(functions) do own
        state = Vector{UInt8}(undef, bytes)
        GC.@preserve state unsafe_copyto!(pointer(state), from, bytes)
        own.restore(Int(id), state)
    end
end

function guarded(f, functions::Ptr{Cvoid})
    own = unsafe_pointer_to_objref(functions)::BlobFunctions
    try
        f(own)
        return Int32(0)
    catch exception
        own.failure = (exception, catch_backtrace())
        fail_because(exception)
        return Int32(1)
    end
end

function Blob(strategy::Strategy, name::AbstractString, bytes::Integer, save::Function, restore::Function)
    functions = BlobFunctions(save, restore, nothing)
    # C calls them on the thread that calls it, which is one of Julia's.
    saves = @cfunction(save_blob, Int32, (UInt32, Ptr{UInt8}, Csize_t, Ptr{Cvoid}))
    restores = @cfunction(restore_blob, Int32, (UInt32, Ptr{UInt8}, Csize_t, Ptr{Cvoid}))
    out = Out{mdist_blob_t}(C_NULL)
    check() do error
        @ccall libmdist.mdist_blob_create(
            strategy::Ptr{mdist_strategy_t}, name::Cstring, bytes::Csize_t, saves::Ptr{Cvoid}, restores::Ptr{Cvoid},
            pointer_from_objref(functions)::Ptr{Cvoid}, C_NULL::Ptr{Cvoid}, out::Out{mdist_blob_t},
            error::Out{mdist_error_t})::Int32
    end
    blob = Blob(out[], strategy, functions)
    push!(strategy.blobs, blob)
    return blob
end

function Blob(strategy::Strategy, name::AbstractString, states::Vector{T}) where {T}
    isbitstype(T) || throw(ArgumentError("$T is not plain bits; give functions that save and restore it"))
    length(states) >= replica_count(strategy) || throw(ArgumentError(
        "$(length(states)) states for $(replica_count(strategy)) replicas; there must be one for each"))
    save(id, to) = GC.@preserve to unsafe_store!(Ptr{T}(pointer(to)), states[id + 1])
    restore(id, from) = GC.@preserve from (states[id + 1] = unsafe_load(Ptr{T}(pointer(from))))
    return Blob(strategy, name, sizeof(T), save, restore)
end

"Makes a call that calls the functions of blobs, and throws what one of them threw, on top of the library's sentence."
function with_blobs(call, strategy::Strategy)
    blobs = copy(strategy.blobs)
    foreach(blob -> blob.functions.failure = nothing, blobs)
    try
        GC.@preserve blobs disable_sigint(() -> check(call)) # see run!
    catch error
        guilty = findfirst(blob -> blob.functions.failure !== nothing, blobs)
        (error isa MdistError && error.status == ERR_CALLBACK && guilty !== nothing) || rethrow()
        exception, backtrace = blobs[guilty].functions.failure
        try
            throw(CapturedException(error, backtrace))
        catch
            throw(exception)
        end
    end
    return nothing
end

"""
    Mdist.commit(strategy, step; timeout = 0)

Keeps a copy of the state in memory, for `Mdist.regroup` to go back to: of all variables, positions of iterators over
distributed datasets, and blobs. All workers call it together, with the same `step`, a number that tells where to go on. The
library makes the first commit itself, before the first run, with step 0.
"""
function commit(strategy::Strategy, step::Integer; timeout::Real = 0)
    limits = options(timeout)
    with_blobs(strategy) do error
        @ccall libmdist.mdist_commit(
            strategy::Ptr{mdist_strategy_t}, step::UInt64, limits::Ref{mdist_call_options_t},
            error::Out{mdist_error_t})::Int32
    end
end

"""
    change = Mdist.regroup(strategy; timeout = 0)

Forms the next generation of the job, of the workers that are left and those that have come, and restores the newest commit
of which all is left. Call it when a call has failed because a worker was lost, when `Mdist.check_membership` says so, and
on a newcomer (`Mdist.is_joining`) before its first step. It gives `generation`, `step` (of the commit), `worker`,
`worker_count`, `first_replica_id` and `local_replica_count`.

Afterwards the strategy, variables, datasets, iterators, checkpoints, gradients and blobs go on. Groups, calls and works
have ended. Take the arrays of variables and gradients anew: what lies in older ones has no meaning.

If it throws, this worker is out of the job, except with `ERR_FAILED_PRECONDITION`.
"""
function regroup(strategy::Strategy; timeout::Real = 0)
    limits = options(timeout)
    change = Ref(mdist_change_t(sizeof(mdist_change_t), 0, 0, 0, 0, 0, 0))
    with_blobs(strategy) do error
        @ccall libmdist.mdist_regroup(
            strategy::Ptr{mdist_strategy_t}, change::Ref{mdist_change_t}, limits::Ref{mdist_call_options_t},
            error::Out{mdist_error_t})::Int32
    end
    found = change[]
    return (
        generation = Int(found.generation), step = Int(found.step), rank = Int(found.rank),
        worker_count = Int(found.worker_count), first_replica_id = Int(found.first_replica_id),
        local_replica_count = Int(found.local_replica_count))
end

"""
    Mdist.is_joining(strategy)

Whether this worker is a newcomer to a job that is at work, and has not called `Mdist.regroup` yet. Until then it creates
what the others have created, in the same order.
"""
is_joining(strategy::Strategy) =
    (@ccall libmdist.mdist_strategy_is_joining(strategy::Ptr{mdist_strategy_t})::Int32) != 0
