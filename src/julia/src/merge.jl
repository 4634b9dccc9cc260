# SPDX-License-Identifier: Apache-2.0
"""
    merge_call(replica, arrays...; results = 0, timeout = 0) do values...
        # outside of the step: functions that take a strategy are the right ones
    end

Pauses all replicas of this process, calls replica 0's function once with their arrays regrouped to values, and gives
each replica its own part of the `results` values that the function returns: one, a tuple, or `nothing` for one that
nobody gets. Every replica makes the call; it returns a vector of arrays.

A merge has no form that is started and tested: it blocks its thread, though not the garbage collector. So Julia needs
as many threads as the strategy has replicas here: `julia --threads N`. With fewer it throws.
"""
function merge_call(
    merge::Function, replica::Replica, arrays::Operand...; results::Integer = 0, timeout::Real = 0,
)
    check_thread(replica, "a merge")
    values = begin_merge(replica, arrays, timeout)
    given = fill(Ptr{mdist_value_t}(C_NULL), results)
    keep = failure = nothing
    if local_index(replica) == 0
        try
            keep = as_vector(merge(values...), results)
            given = Ptr{mdist_value_t}[value === nothing ? C_NULL : value.handle for value in keep]
        catch exception
            failure = CapturedException(exception, catch_backtrace())
        end
    end
    try
        failure === nothing || fail_because(failure.ex)
        GC.@preserve keep begin
            return end_merge(replica, failure === nothing ? 0 : 1, given)
        end
    catch
        failure === nothing && rethrow()
        throw(failure.ex) # the cause; what the library says of it stands under it
    end
end

as_vector(::Nothing, count::Integer) = as_vector(fill(nothing, min(count, 1)), count)
as_vector(value::Value, count::Integer) = as_vector((value,), count)
function as_vector(values, count::Integer)
    length(values) == count && return Union{Value,Nothing}[value for value in values]
    throw(ArgumentError("the merge returned $(length(values)) values and was to return results = $count"))
end

function begin_merge(replica::Replica, arrays::Arrays, timeout::Real)
    limits = options(timeout)
    values = fill(Ptr{mdist_value_t}(C_NULL), length(arrays))
    error = Out{mdist_error_t}(C_NULL)
    GC.@preserve replica arrays limits values error begin
        tensors = mdist_tensor_t[mdist_tensor_t(array) for array in arrays]
        GC.@preserve tensors begin
            status = merge_begin(
                replica.handle, pointer(tensors), Csize_t(length(tensors)), pointer(values),
                Base.unsafe_convert(Ptr{mdist_call_options_t}, limits),
                Base.unsafe_convert(Ptr{Ptr{mdist_error_t}}, error))
        end
    end
    status < 0 && throw(MdistError(status, error[]))
    return [Value(handle) for handle in values if handle != C_NULL]
end

function end_merge(replica::Replica, code::Integer, values::Vector{Ptr{mdist_value_t}})
    results = Vector{mdist_tensor_t}(undef, length(values))
    error = Out{mdist_error_t}(C_NULL)
    GC.@preserve replica values results error begin
        status = merge_end(
            replica.handle, Int32(code), pointer(values), pointer(results), Csize_t(length(results)),
            Base.unsafe_convert(Ptr{Ptr{mdist_error_t}}, error))
    end
    status < 0 && throw(MdistError(status, error[]))
    return [copied(replica, result) for result in results]
end

"A result of the merge as an array of Julia's own: the library's memory is good until the next merge only."
function copied(replica::Replica, result::mdist_tensor_t)
    result.dtype == 0 && return nothing
    result.device_kind == 0 && return copy(LibraryArray(result, nothing))
    there = DeviceTensor(result, nothing)
    return copyto!(replica, Array{eltype(there)}(undef, size(there)), there)
end

# Functions of their own, never inlined, so that nothing of what is around them happens while the collector may run.

@noinline function merge_begin(
    replica::Ptr{mdist_replica_t}, arguments::Ptr{mdist_tensor_t}, count::Csize_t,
    values::Ptr{Ptr{mdist_value_t}}, limits::Ptr{mdist_call_options_t}, error::Ptr{Ptr{mdist_error_t}},
)
    return @gc_safe @ccall libmdist.mdist_merge_begin(
        replica::Ptr{mdist_replica_t}, arguments::Ptr{mdist_tensor_t}, count::Csize_t,
        values::Ptr{Ptr{mdist_value_t}}, limits::Ptr{mdist_call_options_t},
        error::Ptr{Ptr{mdist_error_t}})::Int32
end

@noinline function merge_end(
    replica::Ptr{mdist_replica_t}, code::Int32, values::Ptr{Ptr{mdist_value_t}}, results::Ptr{mdist_tensor_t},
    count::Csize_t, error::Ptr{Ptr{mdist_error_t}},
)
    return @gc_safe @ccall libmdist.mdist_merge_end(
        replica::Ptr{mdist_replica_t}, code::Int32, values::Ptr{Ptr{mdist_value_t}}, results::Ptr{mdist_tensor_t},
        count::Csize_t, error::Ptr{Ptr{mdist_error_t}})::Int32
end
