# SPDX-License-Identifier: Apache-2.0
# What replicas do together in a step: every replica makes the same call. Several arrays in one call are one operation.
# Each collective comes in two forms, `all_reduce!` and `all_reduce_start!`; see Work. `timeout` is in seconds, and `group`
# nothing or a Group, whose members alone take part.

const Arrays = Tuple{Vararg{Operand}}

describe(arrays::Arrays) = mdist_buffer_t[mdist_buffer_t(array) for array in arrays]

"Calls a `_start` function with the descriptions of groups of arrays, and keeps the arrays with what it started."
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

"    all_reduce_start!(replica, op, arrays...): `all_reduce!`, started."
function all_reduce_start!(replica::Replica, op::ReduceOp, arrays::Operand...; timeout::Real = 0, group = nothing)
    return start(replica, (timeout, group), arrays) do buffers, out, limits, error
        @ccall libmdist.mdist_all_reduce_start(
            replica::Ptr{mdist_replica_t}, Int32(op)::Int32, buffers::Ptr{mdist_buffer_t},
            buffers::Ptr{mdist_buffer_t}, length(buffers)::Csize_t, out::Out{mdist_work_t},
            limits::Ref{mdist_call_options_t}, error::Out{mdist_error_t})::Int32
    end
end

"    broadcast_start!(replica, root, arrays...): `broadcast!`, started."
function broadcast_start!(replica::Replica, root::Integer, arrays::Operand...; timeout::Real = 0, group = nothing)
    return start(replica, (timeout, group), arrays) do buffers, out, limits, error
        @ccall libmdist.mdist_broadcast_start(
            replica::Ptr{mdist_replica_t}, root::UInt32, buffers::Ptr{mdist_buffer_t}, length(buffers)::Csize_t,
            out::Out{mdist_work_t}, limits::Ref{mdist_call_options_t}, error::Out{mdist_error_t})::Int32
    end
end

"    all_gather_start!(replica, input => output, ...): `all_gather!`, started."
function all_gather_start!(replica::Replica, pairs::Pair...; timeout::Real = 0, group = nothing)
    return start(replica, (timeout, group), map(first, pairs), map(last, pairs)) do inputs, outputs, out, limits, error
        @ccall libmdist.mdist_all_gather_start(
            replica::Ptr{mdist_replica_t}, inputs::Ptr{mdist_buffer_t}, outputs::Ptr{mdist_buffer_t},
            length(inputs)::Csize_t, out::Out{mdist_work_t}, limits::Ref{mdist_call_options_t},
            error::Out{mdist_error_t})::Int32
    end
end

"    reduce_scatter_start!(replica, op, input => output, ...): `reduce_scatter!`, started."
function reduce_scatter_start!(replica::Replica, op::ReduceOp, pairs::Pair...; timeout::Real = 0, group = nothing)
    return start(replica, (timeout, group), map(first, pairs), map(last, pairs)) do inputs, outputs, out, limits, error
        @ccall libmdist.mdist_reduce_scatter_start(
            replica::Ptr{mdist_replica_t}, Int32(op)::Int32, inputs::Ptr{mdist_buffer_t},
            outputs::Ptr{mdist_buffer_t}, length(inputs)::Csize_t, out::Out{mdist_work_t},
            limits::Ref{mdist_call_options_t}, error::Out{mdist_error_t})::Int32
    end
end

"    all_to_all_start!(replica, input => output, ...): `all_to_all!`, started."
function all_to_all_start!(replica::Replica, pairs::Pair...; timeout::Real = 0, group = nothing)
    return start(replica, (timeout, group), map(first, pairs), map(last, pairs)) do inputs, outputs, out, limits, error
        @ccall libmdist.mdist_all_to_all_start(
            replica::Ptr{mdist_replica_t}, inputs::Ptr{mdist_buffer_t}, outputs::Ptr{mdist_buffer_t},
            length(inputs)::Csize_t, out::Out{mdist_work_t}, limits::Ref{mdist_call_options_t},
            error::Out{mdist_error_t})::Int32
    end
end

"    barrier_start(replica): `barrier`, started."
function barrier_start(replica::Replica; timeout::Real = 0, group = nothing)
    return start(replica, (timeout, group)) do out, limits, error
        @ccall libmdist.mdist_barrier_start(
            replica::Ptr{mdist_replica_t}, out::Out{mdist_work_t}, limits::Ref{mdist_call_options_t},
            error::Out{mdist_error_t})::Int32
    end
end

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
