# SPDX-License-Identifier: Apache-2.0
"""
A tensor wherever it lies, on the host or a GPU, where no array can look at it; it keeps `owner`, as a `LibraryArray`
does. `Mdist.device(x)` says where that is and `Mdist.address(x)` at which address, for packages for CUDA:

    unsafe_wrap(CuArray, CuPtr{Float32}(UInt(Mdist.address(x))), size(x))

Collectives, merges and results take it like an array, and `copyto!` brings it to arrays and back.
"""
struct DeviceTensor{T,N}
    described::mdist_tensor_t
    owner::Any
end

function DeviceTensor(tensor::mdist_tensor_t, owner)
    return DeviceTensor{element_type(tensor.dtype),Int(tensor.rank)}(tensor, owner)
end

"""
    Mdist.DeviceTensor(T, address, dims...; owner = nothing)

Memory that another package allocated, on the host or a GPU: `Ptr{T}(UInt(pointer(cu)))` of a dense `CuArray`, which is
the `owner`. It must stay until the replica's stream is done with it: until the run returns, say.
"""
function DeviceTensor(::Type{T}, address::Ptr, dims::Integer...; owner = nothing) where {T}
    shape = UInt64[reverse(dims)...]
    tensor = Ref{mdist_tensor_t}()
    check() do error
        @ccall libmdist.mdist_tensor_describe(
            address::Ptr{Cvoid}, Int32(dtype(T))::Int32, shape::Ptr{UInt64}, length(shape)::Csize_t,
            tensor::Ref{mdist_tensor_t}, error::Out{mdist_error_t})::Int32
    end
    return DeviceTensor{T,length(dims)}(tensor[], owner)
end

Base.size(tensor::DeviceTensor{T,N}) where {T,N} = ntuple(i -> Int(tensor.described.shape[N + 1 - i]), N)
Base.length(tensor::DeviceTensor) = prod(size(tensor))
Base.eltype(::Type{<:DeviceTensor{T}}) where {T} = T

"Where a tensor lies: `cpu:0`, `gpu:1`."
device(tensor::DeviceTensor) = device(tensor.described)
device(tensor::mdist_tensor_t) = string(tensor.device_kind == 0 ? "cpu:" : "gpu:", tensor.device_index)

"Address of the elements, on the device where they lie."
address(tensor::DeviceTensor) = tensor.described.data

mdist_tensor_t(tensor::DeviceTensor) = tensor.described
mdist_buffer_t(tensor::DeviceTensor) =
    mdist_buffer_t(tensor.described.data, length(tensor), tensor.described.dtype, 0)

"What goes into collectives, merges, results and copies."
const Operand = Union{StridedArray,DeviceTensor}
