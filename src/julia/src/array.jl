# SPDX-License-Identifier: Apache-2.0
"""
Memory of the library as a Julia array, together with the object that keeps it: as long as the array is reachable, so
is its `owner`, and no finalizer takes the memory away. (A plain `Array` can't promise that: what `reshape` or `vec`
make of it may drop it and hold on to the memory alone.)
"""
struct LibraryArray{T,N} <: DenseArray{T,N}
    array::Array{T,N}
    owner::Any
end

Base.size(self::LibraryArray) = size(self.array)
Base.IndexStyle(::Type{<:LibraryArray}) = IndexLinear()
Base.elsize(::Type{<:LibraryArray{T}}) where {T} = sizeof(T)
Base.unsafe_convert(::Type{Ptr{T}}, self::LibraryArray{T}) where {T} = pointer(self.array)
Base.@propagate_inbounds Base.getindex(self::LibraryArray, i::Int) = self.array[i]
Base.@propagate_inbounds function Base.setindex!(self::LibraryArray, x, i::Int)
    self.array[i] = x
    return self
end

"The array that a tensor describes, in memory that `owner` keeps."
function LibraryArray{T,N}(tensor::mdist_tensor_t, owner) where {T,N}
    tensor.device_kind == 0 || error(
        "the tensor lies on $(device(tensor)), and an array is memory of the host; copyto!, in a step " *
        "copyto!(replica, ...), brings it there from Mdist.device_tensor or Mdist.device_argument")
    sizes = ntuple(i -> Int(tensor.shape[N + 1 - i]), N)
    array = prod(sizes) == 0 ? Array{T,N}(undef, sizes) : unsafe_wrap(Array, Ptr{T}(tensor.data), sizes)
    return LibraryArray{T,N}(array, owner)
end

function LibraryArray(tensor::mdist_tensor_t, owner)
    return LibraryArray{element_type(tensor.dtype),Int(tensor.rank)}(tensor, owner)
end

const ELEMENT_TYPES = Dict{DType,DataType}(
    FLOAT32 => Float32, FLOAT64 => Float64, FLOAT16 => Float16, INT8 => Int8, UINT8 => UInt8, INT32 => Int32,
    UINT32 => UInt32, INT64 => Int64, UINT64 => UInt64, INT16 => Int16, UINT16 => UInt16, BOOL => Bool)

function element_type(number::Integer)
    dtype = DType(number)
    haskey(ELEMENT_TYPES, dtype) || throw(ArgumentError("Julia $VERSION has no type for elements of $dtype"))
    return ELEMENT_TYPES[dtype]
end

dtype(::Type{Float32}) = FLOAT32
dtype(::Type{Float64}) = FLOAT64
dtype(::Type{Float16}) = FLOAT16
dtype(::Type{Int8}) = INT8
dtype(::Type{UInt8}) = UINT8
dtype(::Type{Int32}) = INT32
dtype(::Type{UInt32}) = UINT32
dtype(::Type{Int64}) = INT64
dtype(::Type{UInt64}) = UINT64
dtype(::Type{Int16}) = INT16
dtype(::Type{UInt16}) = UINT16
dtype(::Type{Bool}) = BOOL
dtype(T::Type) = throw(ArgumentError("$T is none of $(join(sort!([string(E) for E in values(ELEMENT_TYPES)]), ", "))"))

if isdefined(Core, :BFloat16) # from Julia 1.11 on
    ELEMENT_TYPES[BFLOAT16] = Core.BFloat16
    dtype(::Type{Core.BFloat16}) = BFLOAT16
end

"Throws unless the elements lie side by side, as in an `Array` or a range of whole columns."
function check_dense(array::StridedArray)
    expected = 1
    for dimension in 1:ndims(array)
        if size(array, dimension) != 1 && stride(array, dimension) != expected && !isempty(array)
            throw(ArgumentError("elements must lie side by side; strides $(strides(array)) leave gaps: take a copy"))
        end
        expected *= size(array, dimension)
    end
    return nothing
end

# Descriptions hold bare addresses: whoever makes one keeps the array, by GC.@preserve or in a Work.

function mdist_buffer_t(array::StridedArray{T}) where {T}
    check_dense(array)
    return mdist_buffer_t(pointer(array), length(array), Int32(dtype(T)), 0)
end

function mdist_tensor_t(array::StridedArray{T,N}) where {T,N}
    check_dense(array)
    N <= MAX_RANK || throw(ArgumentError("an array has at most $MAX_RANK dimensions, not $N"))
    shape = ntuple(i -> i <= N ? UInt64(size(array, N + 1 - i)) : UInt64(0), MAX_RANK)
    return mdist_tensor_t(pointer(array), Int32(dtype(T)), N, 0, 0, shape)
end
