# SPDX-License-Identifier: Apache-2.0
# What replicas do together in a step: every replica makes the same call. Several arrays in one call are one operation.
# Each collective comes in two forms, `all_reduce!` and `all_reduce_start!`; see Work. `timeout` is in seconds, and `group`
# nothing or a Group, whose members alone take part.

const Arrays = Tuple{Vararg{Operand}}

describe(arrays::Arrays) = mdist_buffer_t[mdist_buffer_t(array) for array in arrays]

"Makes the call that starts something, with the descriptions of groups of arrays, and keeps the arrays with what it started."
function start(call::F, replica::Replica, (timeout, group), groups::Arrays...) where {F}
    limits = options(timeout, handle_of(group))
    out = Out{mdist_work_t}(C_NULL)
    GC.@preserve group groups begin
        buffers = map(describe, groups)
        check(error -> call(buffers..., out, limits, error))
        work = Work(out[], groups)
        replica.work = work
    end
    return work
end

"Of a list that its caller keeps; C_NULL if it is empty."
address(list::Vector{T}) where {T} = isempty(list) ? Ptr{T}(C_NULL) : pointer(list)

"The struct of a collective. Its caller keeps the lists."
described(kind::CollectiveKind, op, root::Integer, from, to, parts) = Ref(mdist_collective_description_t(
    sizeof(mdist_collective_description_t), Int32(kind), Int32(op), root, address(from), address(to), length(from),
    address(parts[1]), address(parts[2])))

"Starts the collective of that kind. A broadcast and a barrier have no `outputs`."
function start_collective(
    replica::Replica, kind::CollectiveKind, inputs::Arrays, outputs::Union{Arrays,Nothing}; op = 0, root::Integer = 0,
    parts = (UInt64[], UInt64[]), timeout::Real = 0, group = nothing,
)
    return start(replica, (timeout, group), inputs, outputs === nothing ? () : outputs) do from, to, out, limits, error
        GC.@preserve from to parts begin
            what = described(kind, op, root, from, to, parts)
            @ccall libmdist.mdist_collective_start(
                replica::Ptr{mdist_replica_t}, what::Ref{mdist_collective_description_t}, out::Out{mdist_work_t},
                limits::Ref{mdist_call_options_t}, error::Out{mdist_error_t})::Int32
        end
    end
end

"    all_reduce_start!(replica, op, arrays...): `all_reduce!`, started."
all_reduce_start!(replica::Replica, op::ReduceOp, arrays::Operand...; limits...) =
    start_collective(replica, COLLECTIVE_ALL_REDUCE, arrays, arrays; op, limits...)

"    broadcast_start!(replica, root, arrays...): `broadcast!`, started."
broadcast_start!(replica::Replica, root::Integer, arrays::Operand...; limits...) =
    start_collective(replica, COLLECTIVE_BROADCAST, arrays, nothing; root, limits...)

"    all_gather_start!(replica, input => output, ...): `all_gather!`, started."
all_gather_start!(replica::Replica, pairs::Pair...; limits...) =
    start_collective(replica, COLLECTIVE_ALL_GATHER, map(first, pairs), map(last, pairs); limits...)

"    reduce_scatter_start!(replica, op, input => output, ...): `reduce_scatter!`, started."
reduce_scatter_start!(replica::Replica, op::ReduceOp, pairs::Pair...; limits...) =
    start_collective(replica, COLLECTIVE_REDUCE_SCATTER, map(first, pairs), map(last, pairs); op, limits...)

"    all_to_all_start!(replica, input => output, ...): `all_to_all!`, started."
all_to_all_start!(replica::Replica, pairs::Pair...; limits...) =
    start_collective(replica, COLLECTIVE_ALL_TO_ALL, map(first, pairs), map(last, pairs); limits...)

"    barrier_start(replica): `barrier`, started."
barrier_start(replica::Replica; limits...) = start_collective(replica, COLLECTIVE_BARRIER, (), nothing; limits...)

"""
    all_reduce!(replica, op, arrays...; timeout = 0, group = nothing)

Replaces each array by the reduction of all replicas' arrays, the same bits on every replica.
"""
all_reduce!(replica::Replica, op::ReduceOp, arrays...; timeout::Real = 0, group = nothing) =
    wait(all_reduce_start!(replica, op, arrays...; timeout, group))

"""
    Mdist.broadcast!(replica, root, arrays...; timeout = 0, group = nothing)

Copies the arrays of replica `root` (an id, from 0) over those of all others.
"""
broadcast!(replica::Replica, root::Integer, arrays...; timeout::Real = 0, group = nothing) =
    wait(broadcast_start!(replica, root, arrays...; timeout, group))

"""
    all_gather!(replica, input => output, ...; timeout = 0, group = nothing)

Writes all replicas' inputs one after another into every output. Inputs may differ in length.
"""
all_gather!(replica::Replica, pairs...; timeout::Real = 0, group = nothing) =
    wait(all_gather_start!(replica, pairs...; timeout, group))

"""
    reduce_scatter!(replica, op, input => output, ...; timeout = 0, group = nothing)

Reduces the inputs, and gives each replica its own part, as long as its output.
"""
reduce_scatter!(replica::Replica, op::ReduceOp, pairs...; timeout::Real = 0, group = nothing) =
    wait(reduce_scatter_start!(replica, op, pairs...; timeout, group))

"""
    all_to_all!(replica, input => output, ...; timeout = 0, group = nothing)

Cuts inputs in equal parts, one per replica; part j of replica i becomes part i of replica j.
"""
all_to_all!(replica::Replica, pairs...; timeout::Real = 0, group = nothing) =
    wait(all_to_all_start!(replica, pairs...; timeout, group))

"""
    barrier(replica; timeout = 0, group = nothing)

Returns when every replica has called it.
"""
barrier(replica::Replica; timeout::Real = 0, group = nothing) = wait(barrier_start(replica; timeout, group))
