# SPDX-License-Identifier: Apache-2.0
"""
    run(strategy, arguments...; results = 0, timeout = 0) do replica
        ...
    end

Runs the step once per replica of this process, all at the same time, each as a task of its own, on a thread of its own
if there are enough; returns when all have ended: a vector of the `results` values that replicas set (`nothing` for one
that nobody set). `arguments` are `Value`s, which the step reads by `argument(replica, i)`.

A step that throws releases all others, and `run` throws the same exception; under it, as "caused by", stand the
library's sentence and the place in the step. A failure of a collective is thrown as the `MdistError` that was first.
The strategy can be used again.
"""
function Base.run(step::Function, strategy::Strategy, arguments::Value...; results::Integer = 0, timeout::Real = 0)
    values = collect(Value, arguments)
    begin_run(strategy, values, results, timeout)
    replicas = local_replica_count(strategy)
    failures = with_threads(replicas) do threads
        tasks = start_replicas(threads, index -> perform(step, strategy, index, values, !isempty(threads)), replicas)
        try
            foreach(wait, tasks)
        catch # Ctrl-C: a step can't be cut off, but it can be told that nobody comes to its collectives any more
            abort(strategy)
            foreach(wait, tasks)
            end_run(strategy, results)
            rethrow()
        end
        map(fetch, tasks)
    end
    outcome = end_run(strategy, results)
    outcome isa MdistError && throw_cause(outcome, failures)
    return outcome
end

"""
One task for each local replica, on these threads if there are any, else on threads that they share. The library's own way (mdist_run) calls the step
from threads of the library, which Julia would have to adopt, and whose collection could wait for a thread that waits
for them. Tasks of our own need no such thing.
"""
function start_replicas(threads::Vector{Int}, replica, count::Integer)
    if isempty(threads)
        shared = shared_threads()
        return [start_on(() -> replica(index), shared[index % length(shared) + 1]) for index in 0:(count - 1)]
    end
    return [start_on(() -> replica(index), threads[index + 1], true) for index in 0:(count - 1)]
end

"What a step threw, and where."
struct Failure
    replica::Int
    exception::Any
    backtrace::Vector
end

"One replica's part of a run, from entering to leaving. Gives the failure, or nothing; never throws."
function perform(
    step::F, strategy::Strategy, local_replica::Int, arguments::Vector{Value}, has_thread::Bool,
) where {F}
    replica = nothing
    id = -1
    try
        replica = enter_replica(strategy, local_replica, arguments, has_thread)
        id = replica_id(replica)
        step(replica)
        exit_replica(replica, 0)
        return nothing
    catch exception
        failure = Failure(id, exception, catch_backtrace())
        replica === nothing || leave_failed(replica, exception)
        return failure
    end
end

"Tells the library that the step failed. If it knows (the replica has left already), its refusal is no news."
function leave_failed(replica::Replica, exception)
    try
        fail_because(exception)
        exit_replica(replica, 1)
    catch
    end
    return nothing
end

function begin_run(strategy::Strategy, arguments::Vector{Value}, results::Integer, timeout::Real)
    handles = Ptr{mdist_value_t}[argument.handle for argument in arguments]
    GC.@preserve arguments handles begin
        io = Ref(mdist_run_io_t(
            sizeof(mdist_run_io_t), 0, address(handles), length(handles), C_NULL, results, options(timeout)[].timeout_ns))
        check() do error
            @ccall libmdist.mdist_run_begin(
                strategy::Ptr{mdist_strategy_t}, io::Ref{mdist_run_io_t}, error::Out{mdist_error_t})::Int32
        end
    end
    return nothing
end

"Closes the run, and gives its results, or the error."
function end_run(strategy::Strategy, results::Integer)
    handles = fill(Ptr{mdist_value_t}(C_NULL), results)
    try
        check() do error
            @ccall libmdist.mdist_run_end(
                strategy::Ptr{mdist_strategy_t}, handles::Ptr{Ptr{mdist_value_t}}, length(handles)::Csize_t,
                error::Out{mdist_error_t})::Int32
        end
    catch exception
        exception isa MdistError || rethrow()
        return exception
    end
    return Union{Value,Nothing}[handle == C_NULL ? nothing : Value(handle) for handle in handles]
end

"""
Throws what made a run fail. Where the library says that a step did, that is the step's own exception, on top of the
library's sentence with the place where the step threw.
"""
function throw_cause(error::MdistError, failures::Vector)
    guilty = findfirst(failure -> failure !== nothing && failure.replica == error.replica, failures)
    (error.status == ERR_CALLBACK && guilty !== nothing) || throw(error)
    failure = failures[guilty]
    try
        throw(CapturedException(error, failure.backtrace))
    catch
        throw(failure.exception)
    end
end
