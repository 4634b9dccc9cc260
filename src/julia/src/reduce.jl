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
        @ccall libmdist.mdist_strategy_reduce_axes(
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
    return only(batch_reduce_to(strategy, op, [value], [destination]; timeout = timeout))
end

"""
    Mdist.batch_reduce_to(strategy, op, values, destinations = nothing; timeout = 0)

Many `reduce_to` in one operation: a vector of values. Without destinations, all go to the devices they came from.
"""
function batch_reduce_to(
    strategy::Strategy, op::ReduceOp, values::AbstractVector{Value}, destinations = nothing; timeout::Real = 0,
)
    names = destinations === nothing ? String[] : String[destinations...]
    isempty(names) || length(names) == length(values) ||
        throw(ArgumentError("$(length(values)) values and $(length(names)) destinations; pass one destination per value"))
    limits = options(timeout)
    reduced = fill(Ptr{mdist_value_t}(C_NULL), length(values))
    GC.@preserve values names begin
        handles = Ptr{mdist_value_t}[value.handle for value in values]
        texts = map(text_pointer, names)
        to = isempty(texts) ? Ptr{Ptr{UInt8}}(C_NULL) : pointer(texts)
        GC.@preserve texts check() do error
            @ccall libmdist.mdist_strategy_reduce_to(
                strategy::Ptr{mdist_strategy_t}, Int32(op)::Int32, handles::Ptr{Ptr{mdist_value_t}},
                to::Ptr{Ptr{UInt8}}, length(handles)::Csize_t, reduced::Ptr{Ptr{mdist_value_t}},
                limits::Ref{mdist_call_options_t}, error::Out{mdist_error_t})::Int32
        end
    end
    return Value[Value(handle) for handle in reduced]
end

"A mirrored value with a copy of an array for every replica."
function broadcast_to(strategy::Strategy, array::StridedArray)
    return GC.@preserve array begin
        tensor = Ref(mdist_tensor_t(array))
        made() do out, error
            @ccall libmdist.mdist_strategy_broadcast(
                strategy::Ptr{mdist_strategy_t}, tensor::Ref{mdist_tensor_t}, out::Out{mdist_value_t},
                error::Out{mdist_error_t})::Int32
        end
    end
end

"Joins the replicas' arrays along a dimension, in replica order, to a plain value."
function gather(strategy::Strategy, value::Value, dim::Integer; timeout::Real = 0)
    limits = options(timeout)
    return made() do out, error
        @ccall libmdist.mdist_strategy_gather(
            strategy::Ptr{mdist_strategy_t}, value::Ptr{mdist_value_t}, (-dim)::Int32, out::Out{mdist_value_t},
            limits::Ref{mdist_call_options_t}, error::Out{mdist_error_t})::Int32
    end
end
