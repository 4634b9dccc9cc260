# SPDX-License-Identifier: Apache-2.0
# Values reduced, copied and joined outside of steps. Julia's dimension d is the library's axis -d: both shapes are the
# other's, reversed.

"A value that the library makes."
function made(call::F) where {F}
    out = Out{mdist_value_t}(C_NULL)
    check(error -> call(out, error))
    return Value(out[])
end

"""
    Mdist.reduce(strategy, op, value; dims = (), timeout = 0)

Reduces a value over replicas, and over `dims` of each array first, to a plain value.
"""
function reduce(strategy::Strategy, op::ReduceOp, value::Value; dims = (), timeout::Real = 0)
    axes = Int32[-dim for dim in dims]
    limits = options(timeout)
    return made() do out, error
        @ccall libmdist.mdist_reduce(
            strategy::Ptr{mdist_strategy_t}, Int32(op)::Int32, value::Ptr{mdist_value_t}, axes::Ptr{Int32},
            length(axes)::Csize_t, out::Out{mdist_value_t}, limits::Ref{mdist_call_options_t},
            error::Out{mdist_error_t})::Int32
    end
end

"""
    Mdist.reduce_to(strategy, op, value, destination = ""; timeout = 0)

Reduces to a mirrored value on the devices it came from, or to a plain one on the device of that name.
"""
function reduce_to(
    strategy::Strategy, op::ReduceOp, value::Value, destination::AbstractString = ""; timeout::Real = 0,
)
    limits = options(timeout)
    return made() do out, error
        @ccall libmdist.mdist_reduce_to(
            strategy::Ptr{mdist_strategy_t}, Int32(op)::Int32, value::Ptr{mdist_value_t}, destination::Cstring,
            out::Out{mdist_value_t}, limits::Ref{mdist_call_options_t}, error::Out{mdist_error_t})::Int32
    end
end

"A mirrored value with a copy of an array for every replica."
function broadcast_to(strategy::Strategy, array::StridedArray)
    return GC.@preserve array begin
        tensor = Ref(mdist_tensor_t(array))
        made() do out, error
            @ccall libmdist.mdist_broadcast_to(
                strategy::Ptr{mdist_strategy_t}, tensor::Ref{mdist_tensor_t}, out::Out{mdist_value_t},
                error::Out{mdist_error_t})::Int32
        end
    end
end

"Joins the replicas' arrays along a dimension, in replica order, to a plain value."
function gather(strategy::Strategy, value::Value, dim::Integer; timeout::Real = 0)
    limits = options(timeout)
    return made() do out, error
        @ccall libmdist.mdist_gather(
            strategy::Ptr{mdist_strategy_t}, value::Ptr{mdist_value_t}, (-dim)::Int32, out::Out{mdist_value_t},
            limits::Ref{mdist_call_options_t}, error::Out{mdist_error_t})::Int32
    end
end
