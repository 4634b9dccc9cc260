# SPDX-License-Identifier: Apache-2.0
# Collectives with a root (an id, from 0): what only one replica gets, or gives. What the others bring on that side is
# not looked at: an empty array does.

"    reduce_to_root_start!(replica, op, root, arrays...): `reduce_to_root!`, started."
function reduce_to_root_start!(
    replica::Replica, op::ReduceOp, root::Integer, arrays::Operand...; timeout::Real = 0, group = nothing,
)
    return start(replica, (timeout, group), arrays) do buffers, out, limits, error
        @ccall libmdist.mdist_reduce_to_root_start(
            replica::Ptr{mdist_replica_t}, Int32(op)::Int32, root::UInt32, buffers::Ptr{mdist_buffer_t},
            buffers::Ptr{mdist_buffer_t}, length(buffers)::Csize_t, out::Out{mdist_work_t},
            limits::Ref{mdist_call_options_t}, error::Out{mdist_error_t})::Int32
    end
end

"    gather_to_root_start!(replica, root, input => output, ...): `gather_to_root!`, started."
function gather_to_root_start!(replica::Replica, root::Integer, pairs::Pair...; timeout::Real = 0, group = nothing)
    return start(replica, (timeout, group), map(first, pairs), map(last, pairs)) do inputs, outputs, out, limits, error
        @ccall libmdist.mdist_gather_to_root_start(
            replica::Ptr{mdist_replica_t}, root::UInt32, inputs::Ptr{mdist_buffer_t}, outputs::Ptr{mdist_buffer_t},
            length(inputs)::Csize_t, out::Out{mdist_work_t}, limits::Ref{mdist_call_options_t},
            error::Out{mdist_error_t})::Int32
    end
end

"    scatter_start!(replica, root, input => output, ...): `scatter!`, started."
function scatter_start!(replica::Replica, root::Integer, pairs::Pair...; timeout::Real = 0, group = nothing)
    return start(replica, (timeout, group), map(first, pairs), map(last, pairs)) do inputs, outputs, out, limits, error
        @ccall libmdist.mdist_scatter_start(
            replica::Ptr{mdist_replica_t}, root::UInt32, inputs::Ptr{mdist_buffer_t}, outputs::Ptr{mdist_buffer_t},
            length(inputs)::Csize_t, out::Out{mdist_work_t}, limits::Ref{mdist_call_options_t},
            error::Out{mdist_error_t})::Int32
    end
end

"""
    reduce_to_root!(replica, op, root, arrays...; timeout = 0, group = nothing)

Replaces the arrays of replica `root` by the reduction of all replicas' arrays; the others' stay as they are.
"""
reduce_to_root!(replica::Replica, op::ReduceOp, root::Integer, arrays...; timeout::Real = 0, group = nothing) =
    wait(reduce_to_root_start!(replica, op, root, arrays...; timeout, group))

"""
    gather_to_root!(replica, root, input => output, ...; timeout = 0, group = nothing)

Writes all replicas' inputs one after another into the outputs of replica `root`.
"""
gather_to_root!(replica::Replica, root::Integer, pairs...; timeout::Real = 0, group = nothing) =
    wait(gather_to_root_start!(replica, root, pairs...; timeout, group))

"""
    scatter!(replica, root, input => output, ...; timeout = 0, group = nothing)

Gives each replica its part of the inputs of replica `root`: they lie there in replica order, as long as the outputs.
"""
scatter!(replica::Replica, root::Integer, pairs...; timeout::Real = 0, group = nothing) =
    wait(scatter_start!(replica, root, pairs...; timeout, group))
