# SPDX-License-Identifier: Apache-2.0
"""
    Variable(strategy, name, initial; synchronization = Mdist.SYNC_AUTO, aggregation = Mdist.AGGREGATION_NONE)

State with one copy per replica, each a copy of the array `initial` at first. Made outside of steps. A step computes
straight on its own copy, `tensor(variable, replica)`.
"""
mutable struct Variable{T,N} <: Handle
    handle::Ptr{mdist_variable_t}
    strategy::Strategy # kept as long as its variable is in use
    function Variable{T,N}(handle::Ptr{mdist_variable_t}, strategy::Strategy) where {T,N}
        return finalizer(destroy, new{T,N}(handle, strategy))::Variable{T,N}
    end
end

destroy(variable::Variable) = @ccall libmdist.mdist_variable_destroy(variable::Ptr{mdist_variable_t})::Cvoid
Base.unsafe_convert(::Type{Ptr{mdist_variable_t}}, variable::Variable) = variable.handle

function Variable(
    strategy::Strategy, name::AbstractString, initial::StridedArray{T,N};
    synchronization::Synchronization = SYNC_AUTO, aggregation::Aggregation = AGGREGATION_NONE,
) where {T,N}
    size = sizeof(mdist_variable_options_t)
    options = Ref(mdist_variable_options_t(size, Int32(synchronization), Int32(aggregation), 0, C_NULL))
    out = Out{mdist_variable_t}(C_NULL)
    GC.@preserve initial begin
        tensor = Ref(mdist_tensor_t(initial))
        check() do error
            @ccall libmdist.mdist_variable_create(
                strategy::Ptr{mdist_strategy_t}, name::Cstring, tensor::Ref{mdist_tensor_t},
                out::Out{mdist_variable_t}, options::Ref{mdist_variable_options_t},
                error::Out{mdist_error_t})::Int32
        end
    end
    return Variable{T,N}(out[], strategy)
end

"""
    Mdist.find_variable(strategy, name)

The variable of that name, whoever made it; also in a step.
"""
function find_variable(strategy::Strategy, name::AbstractString)
    found = find_variable(Variable{Nothing,0}, strategy, name) # of any type: to look at, and forget
    tensor = described(found, 0)
    close(found)
    return find_variable(Variable{element_type(tensor.dtype),Int(tensor.rank)}, strategy, name)
end

function find_variable(::Type{V}, strategy::Strategy, name::AbstractString) where {V<:Variable}
    out = Out{mdist_variable_t}(C_NULL)
    check() do error
        @ccall libmdist.mdist_variable_named(
            strategy::Ptr{mdist_strategy_t}, name::Cstring, out::Out{mdist_variable_t},
            error::Out{mdist_error_t})::Int32
    end
    return V(out[], strategy)
end

"The name it was made with."
name(variable::Variable) =
    GC.@preserve variable unsafe_string(@ccall libmdist.mdist_variable_name(variable::Ptr{mdist_variable_t})::Cstring)

"""
    tensor(variable, local_replica)
    tensor(variable, replica)

The copy of a local replica as an array over its own memory, which moves only with `Mdist.regroup`: read and write it from
one thread at a time. That copies stay equal is up to you then: equal inputs, equal arithmetic.
"""
function tensor(variable::Variable{T,N}, local_replica::Integer) where {T,N}
    return LibraryArray{T,N}(described(variable, local_replica), variable)
end

"The same wherever it lies: `Mdist.device_tensor(variable, replica)`."
device_tensor(variable::Variable, local_replica::Integer) =
    DeviceTensor(described(variable, local_replica), variable)

function described(variable::Variable, local_replica::Integer)
    tensor = Ref{mdist_tensor_t}()
    check() do error
        @ccall libmdist.mdist_variable_tensor(
            variable::Ptr{mdist_variable_t}, local_replica::UInt32, tensor::Ref{mdist_tensor_t},
            error::Out{mdist_error_t})::Int32
    end
    return tensor[]
end

"Writes from outside of steps: a plain or mirrored value to every copy, a per-replica value's tensors each to its own."
function assign!(variable::Variable, value::Value, how::Assign = ASSIGN_SET)
    check() do error
        @ccall libmdist.mdist_variable_assign(
            variable::Ptr{mdist_variable_t}, Int32(how)::Int32, value::Ptr{mdist_value_t},
            error::Out{mdist_error_t})::Int32
    end
    return variable
end

"Reads from outside of steps, as a plain value; copies of a sync-on-read variable are aggregated."
function Base.read(variable::Variable; timeout::Real = 0)
    limits = options(timeout)
    out = Out{mdist_value_t}(C_NULL)
    check() do error
        @ccall libmdist.mdist_variable_read(
            variable::Ptr{mdist_variable_t}, out::Out{mdist_value_t}, limits::Ref{mdist_call_options_t},
            error::Out{mdist_error_t})::Int32
    end
    return Value(out[])
end
