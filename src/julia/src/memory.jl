# SPDX-License-Identifier: Apache-2.0
"A piece of memory from the library."
mutable struct Allocation <: Handle
    address::Ptr{Cvoid}
    Allocation(address::Ptr{Cvoid}) = finalizer(destroy, new(address))::Allocation
end

destroy(memory::Allocation) = @ccall libmdist.mdist_free(memory.address::Ptr{Cvoid})::Cvoid

"Zeros that are the caller's to free, or to hand over together with `free_function()`."
function allocate(bytes::Integer, strategy::Union{Strategy,Nothing} = nothing, local_replica::Integer = 0)
    out = Out{Cvoid}(C_NULL)
    if strategy === nothing
        check() do error
            @ccall libmdist.mdist_alloc(
                C_NULL::Ptr{mdist_strategy_t}, 0::UInt32, bytes::Csize_t, out::Out{Cvoid},
                error::Out{mdist_error_t})::Int32
        end
    else
        check() do error
            @ccall libmdist.mdist_alloc(
                strategy::Ptr{mdist_strategy_t}, local_replica::UInt32, bytes::Csize_t, out::Out{Cvoid},
                error::Out{mdist_error_t})::Int32
        end
    end
    return out[]
end

"The library's own function for freeing its memory: what it calls is never Julia's."
free_function() = cglobal((:mdist_free, libmdist))

"""
    Mdist.alloc(T, dims...; strategy = nothing, local_replica = 0)

An array of zeros in memory of the library, 64-byte aligned: of the host, or of a local replica's device, which must be
a CPU.
"""
function alloc(::Type{T}, dims::Integer...; strategy = nothing, local_replica::Integer = 0) where {T}
    sizes = map(Int, dims)
    dtype(T)
    place = strategy === nothing ? "cpu" : device(strategy, local_replica)
    startswith(place, "cpu") ||
        error("local replica $local_replica is on $place, and an array is memory of the host; " *
              "copyto! reaches variables there")
    memory = Allocation(allocate(prod(sizes) * sizeof(T), strategy, local_replica))
    return LibraryArray{T,length(sizes)}(unsafe_wrap(Array, Ptr{T}(memory.address), sizes), memory)
end
