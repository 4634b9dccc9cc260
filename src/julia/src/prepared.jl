# SPDX-License-Identifier: Apache-2.0
"""
    Mdist.prepare(all_reduce!, strategy, local_replica, Mdist.SUM, arrays...)

A collective that is described once and runs many times, in steps of that local replica (an index, from 0). The
arguments behind are those of the collective, which may be any but `all_reduce_sparse`. The call keeps its arrays, and reads
and writes them each time; don't `resize!` them. `Mdist.run!(replica, call)` makes it, `Mdist.start!(replica, call)`
starts it and gives a `Work`. With `group = group`, only the group's members make it; the call keeps what it needs of the
group.
"""
mutable struct Prepared <: Handle
    handle::Ptr{mdist_prepared_t}
    arrays::Any
    operator::Union{Operator,Nothing}
    Prepared(handle::Ptr{mdist_prepared_t}, arrays, operator) =
        finalizer(destroy, new(handle, arrays, operator))::Prepared
end

destroy(call::Prepared) = @ccall libmdist.mdist_prepared_destroy(call::Ptr{mdist_prepared_t})::Cvoid
Base.unsafe_convert(::Type{Ptr{mdist_prepared_t}}, call::Prepared) = call.handle

function prepared(
    strategy::Strategy, local_replica::Integer, kind::CollectiveKind, inputs, outputs; op = 0, root::Integer = 0,
    parts = (UInt64[], UInt64[]), timeout::Real = 0, group = nothing,
)
    limits = options(timeout, handle_of(group))
    out = Out{mdist_prepared_t}(C_NULL)
    GC.@preserve inputs outputs parts group op begin
        from, to = describe(inputs), outputs === nothing ? mdist_buffer_t[] : describe(outputs)
        GC.@preserve from to begin
            what = described(kind, op, root, from, to, parts)
            check() do error
                @ccall libmdist.mdist_prepared_create(
                    strategy::Ptr{mdist_strategy_t}, local_replica::UInt32, what::Ref{mdist_collective_description_t},
                    out::Out{mdist_prepared_t}, limits::Ref{mdist_call_options_t}, error::Out{mdist_error_t})::Int32
            end
        end
    end
    return Prepared(out[], (inputs, outputs), op isa Operator ? op : nothing)
end

prepare(::typeof(all_reduce!), strategy::Strategy, own::Integer, op::Operation, arrays...; limits...) =
    prepared(strategy, own, COLLECTIVE_ALL_REDUCE, arrays, arrays; op, limits...)
prepare(::typeof(broadcast!), strategy::Strategy, own::Integer, root::Integer, arrays...; limits...) =
    prepared(strategy, own, COLLECTIVE_BROADCAST, arrays, nothing; root, limits...)
prepare(::typeof(all_gather!), strategy::Strategy, own::Integer, pairs::Pair...; limits...) =
    prepared(strategy, own, COLLECTIVE_ALL_GATHER, map(first, pairs), map(last, pairs); limits...)
prepare(::typeof(reduce_scatter!), strategy::Strategy, own::Integer, op::Operation, pairs::Pair...; limits...) =
    prepared(strategy, own, COLLECTIVE_REDUCE_SCATTER, map(first, pairs), map(last, pairs); op, limits...)
prepare(::typeof(all_to_all!), strategy::Strategy, own::Integer, pairs::Pair...; limits...) =
    prepared(strategy, own, COLLECTIVE_ALL_TO_ALL, map(first, pairs), map(last, pairs); limits...)
function prepare(
    ::typeof(all_to_all_parts!), strategy::Strategy, own::Integer, parts::Pair, pairs::Pair...; group = nothing,
    limits...,
)
    takers = group === nothing ? replica_count(strategy) : length(group)
    lengths = Tuple(part_lengths(one, length(pairs), takers) for one in parts)
    return prepared(
        strategy, own, COLLECTIVE_ALL_TO_ALL_PARTS, map(first, pairs), map(last, pairs); parts = lengths, group, limits...)
end
function prepare(
    ::typeof(reduce_to_root!), strategy::Strategy, own::Integer, op::Operation, root::Integer, arrays...; limits...,
)
    return prepared(strategy, own, COLLECTIVE_REDUCE_TO_ROOT, arrays, arrays; op, root, limits...)
end
prepare(::typeof(gather_to_root!), strategy::Strategy, own::Integer, root::Integer, pairs::Pair...; limits...) =
    prepared(strategy, own, COLLECTIVE_GATHER_TO_ROOT, map(first, pairs), map(last, pairs); root, limits...)
prepare(::typeof(scatter!), strategy::Strategy, own::Integer, root::Integer, pairs::Pair...; limits...) =
    prepared(strategy, own, COLLECTIVE_SCATTER, map(first, pairs), map(last, pairs); root, limits...)
prepare(::typeof(barrier), strategy::Strategy, own::Integer; limits...) =
    prepared(strategy, own, COLLECTIVE_BARRIER, (), nothing; limits...)

"    Mdist.start!(replica, call): `Mdist.run!`, started."
function start!(replica::Replica, call::Prepared)
    call.operator === nothing ||
        throw(ArgumentError("a call with an operator of the program's own cannot be started: use Mdist.run!"))
    out = Out{mdist_work_t}(C_NULL)
    check() do error
        @ccall libmdist.mdist_prepared_start(
            replica::Ptr{mdist_replica_t}, call::Ptr{mdist_prepared_t}, out::Out{mdist_work_t},
            error::Out{mdist_error_t})::Int32
    end
    work = Work(out[], call)
    replica.work = work
    return work
end

"""
    Mdist.run!(replica, call)

Makes a prepared call. With as many threads as replicas (`julia --threads N`) it blocks its thread, though not the garbage
collector, as a merge does. With fewer it is started and waited for; an operator's call throws then.
"""
function run!(replica::Replica, call::Prepared)
    calling(replica, call.operator)
    replica.has_thread || return wait(start!(replica, call))
    error = Out{mdist_error_t}(C_NULL)
    GC.@preserve replica call error begin
        made() = call_run(replica.handle, call.handle, Base.unsafe_convert(Ptr{Ptr{mdist_error_t}}, error))
        # Ctrl-C may throw at any point of Julia, and no exception may leave a function that C has called.
        status = call.operator === nothing ? made() : disable_sigint(made)
    end
    status < 0 && throw(MdistError(status, error[]))
    return nothing
end

# A function of its own, never inlined: see merge.jl.
@noinline function call_run(replica::Ptr{mdist_replica_t}, call::Ptr{mdist_prepared_t}, error::Ptr{Ptr{mdist_error_t}})
    return @gc_safe @ccall libmdist.mdist_prepared_run(
        replica::Ptr{mdist_replica_t}, call::Ptr{mdist_prepared_t}, error::Ptr{Ptr{mdist_error_t}})::Int32
end
