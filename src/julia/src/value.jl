# SPDX-License-Identifier: Apache-2.0
"""
    Value(array)                      plain, with a copy of the array (or number)
    Value(strategy, arrays)           one array for each local replica, in order

What goes into a run and comes out of it: tensors that never change. `length(value)` is how many there are, and
`value[1]` the first as an array over the value's own memory, only to be read (`Array(value[1])` is a copy). Values hold
memory that Julia's collector does not see: in loops, `close` them when they are used up.
"""
mutable struct Value <: Handle
    handle::Ptr{mdist_value_t}
    Value(handle::Ptr{mdist_value_t}) = finalizer(destroy, new(handle))::Value
end

destroy(value::Value) = @ccall libmdist.mdist_value_destroy(value::Ptr{mdist_value_t})::Cvoid
Base.unsafe_convert(::Type{Ptr{mdist_value_t}}, value::Value) = value.handle

Value(number::Number) = Value(fill(number))

function Value(array::Operand)
    out = Out{mdist_value_t}(C_NULL)
    GC.@preserve array begin
        tensor = Ref(mdist_tensor_t(array))
        check() do error
            @ccall libmdist.mdist_value_create(
                tensor::Ref{mdist_tensor_t}, out::Out{mdist_value_t}, error::Out{mdist_error_t})::Int32
        end
    end
    return Value(out[])
end

function Value(strategy::Strategy, arrays)
    arrays = collect(arrays) # of a generator, too: what it makes has to stay
    out = Out{mdist_value_t}(C_NULL)
    GC.@preserve arrays begin
        tensors = mdist_tensor_t[mdist_tensor_t(array) for array in arrays]
        check() do error
            @ccall libmdist.mdist_value_per_replica(
                strategy::Ptr{mdist_strategy_t}, tensors::Ptr{mdist_tensor_t}, length(tensors)::Csize_t,
                out::Out{mdist_value_t}, error::Out{mdist_error_t})::Int32
        end
    end
    return Value(out[])
end

kind(value::Value) = ValueKind(@ccall libmdist.mdist_value_kind(value::Ptr{mdist_value_t})::Int32)

Base.length(value::Value) = Int(@ccall libmdist.mdist_value_count(value::Ptr{mdist_value_t})::Csize_t)
Base.firstindex(::Value) = 1
Base.lastindex(value::Value) = length(value)
Base.iterate(value::Value, i::Int = 1) = i > length(value) ? nothing : (value[i], i + 1)

function Base.getindex(value::Value, i::Integer)
    return LibraryArray(described(value, i), value)
end

"The same wherever it lies: `Mdist.device_tensor(value, 1)`."
device_tensor(value::Value, i::Integer = 1) = DeviceTensor(described(value, i), value)

function described(value::Value, i::Integer)
    1 <= i <= length(value) || throw(BoundsError(value, i))
    tensor = Ref{mdist_tensor_t}()
    check() do error
        @ccall libmdist.mdist_value_tensor(
            value::Ptr{mdist_value_t}, (i - 1)::Csize_t, tensor::Ref{mdist_tensor_t},
            error::Out{mdist_error_t})::Int32
    end
    return tensor[]
end
