# SPDX-License-Identifier: Apache-2.0
"""
A replica inside its step: what `run` gives to it. The handle is the context, not the thread, so other tasks may use it
too, one at a time. It dies with the step.
"""
mutable struct Replica
    handle::Ptr{mdist_replica_t}
    strategy::Strategy
    arguments::Vector{Value}
    work::Union{Work,Nothing} # the operation under way, if there is one: see Work
    has_thread::Bool # for itself, so that a call may block it: see with_threads
end

Base.unsafe_convert(::Type{Ptr{mdist_replica_t}}, replica::Replica) = replica.handle

function enter_replica(strategy::Strategy, local_replica::Integer, arguments::Vector{Value}, has_thread::Bool)
    out = Out{mdist_replica_t}(C_NULL)
    check() do error
        @ccall libmdist.mdist_replica_enter(
            strategy::Ptr{mdist_strategy_t}, local_replica::UInt32, out::Out{mdist_replica_t},
            error::Out{mdist_error_t})::Int32
    end
    return Replica(out[], strategy, arguments, nothing, has_thread)
end

"Leaves the step, in any case; a code other than 0, or an operation that nobody waited for, fails the run."
function exit_replica(replica::Replica, code::Integer)
    work = replica.work
    try
        check() do error
            @ccall libmdist.mdist_replica_exit(
                replica::Ptr{mdist_replica_t}, code::Int32, error::Out{mdist_error_t})::Int32
        end
    finally
        work === nothing || close(work) # now, not when a finalizer comes: the arrays are free again
    end
    return nothing
end

"Replica id, from 0, over the whole job."
replica_id(replica::Replica) = Int(or_none(@ccall libmdist.mdist_replica_id(replica::Ptr{mdist_replica_t})::UInt32))

"Index among the replicas of this process, from 0."
local_index(replica::Replica) = Int(or_none(@ccall libmdist.mdist_replica_local_index(replica::Ptr{mdist_replica_t})::UInt32))

"Replicas in the whole job."
replica_count(replica::Replica) = Int(@ccall libmdist.mdist_replica_count(replica::Ptr{mdist_replica_t})::UInt32)

tensor(variable::Variable, replica::Replica) = tensor(variable, local_index(replica))

"This replica's array of argument `index` of the run, counted from 1: to be read, until the step ends."
argument(replica::Replica, index::Integer) =
    LibraryArray(argument_tensor(replica, index), replica.arguments[index])

"The same of an argument that is a structure: this replica's array at a path, such as `\"grads.0\"`."
argument(replica::Replica, index::Integer, path::AbstractString) =
    LibraryArray(argument_tensor(replica, index, path), replica.arguments[index])

"The same wherever it lies: `Mdist.device_argument(replica, 1)`, or of a structure `(replica, 1, \"loss\")`."
device_argument(replica::Replica, index::Integer, path::AbstractString...) =
    DeviceTensor(argument_tensor(replica, index, path...), replica.arguments[index])

device_tensor(variable::Variable, replica::Replica) = device_tensor(variable, local_index(replica))

function argument_tensor(replica::Replica, index::Integer)
    tensor = Ref{mdist_tensor_t}()
    check() do error
        @ccall libmdist.mdist_replica_argument(
            replica::Ptr{mdist_replica_t}, (index - 1)::Csize_t, C_NULL::Cstring, tensor::Ref{mdist_tensor_t},
            error::Out{mdist_error_t})::Int32
    end
    return tensor[]
end

function argument_tensor(replica::Replica, index::Integer, path::AbstractString)
    tensor = Ref{mdist_tensor_t}()
    check() do error
        @ccall libmdist.mdist_replica_argument(
            replica::Ptr{mdist_replica_t}, (index - 1)::Csize_t, path::Cstring, tensor::Ref{mdist_tensor_t},
            error::Out{mdist_error_t})::Int32
    end
    return tensor[]
end

"Sets this replica's part of result `index` of the run, counted from 1, to a copy of an array or number."
function set_result!(replica::Replica, index::Integer, array::Operand)
    GC.@preserve array begin
        described = Ref(mdist_tensor_t(array))
        check() do error
            @ccall libmdist.mdist_replica_set_result(
                replica::Ptr{mdist_replica_t}, (index - 1)::Csize_t, C_NULL::Cstring, described::Ref{mdist_tensor_t},
                error::Out{mdist_error_t})::Int32
        end
    end
    return replica
end

set_result!(replica::Replica, index::Integer, number::Number) = set_result!(replica, index, fill(number))

"The same of a structure: named tuples, dictionaries and tuples of arrays and numbers, nested; see `Value`."
function set_result!(replica::Replica, index::Integer, tree::Tree)
    foreach(leaf -> set_leaf!(replica, index, leaf...), flattened(tree))
    return replica
end

function set_leaf!(replica::Replica, index::Integer, path::String, array::Operand)
    GC.@preserve array begin
        described = Ref(mdist_tensor_t(array))
        check() do error
            @ccall libmdist.mdist_replica_set_result(
                replica::Ptr{mdist_replica_t}, (index - 1)::Csize_t, path::Cstring, described::Ref{mdist_tensor_t},
                error::Out{mdist_error_t})::Int32
        end
    end
    return nothing
end

set_leaf!(replica::Replica, index::Integer, path::String, number::Number) =
    set_leaf!(replica, index, path, fill(number))
