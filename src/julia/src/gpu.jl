# SPDX-License-Identifier: Apache-2.0
"""
    Mdist.gpus()

How many GPUs this process can use, and in words what they are, or why there are none: `(count = 2, text = "...")`.
"""
function gpus()
    count = Ref{UInt32}(0)
    described = read_text() do text, capacity, needed, error
        @ccall libmdist.mdist_gpu_count(
            count::Ref{UInt32}, text::Ptr{UInt8}, capacity::Csize_t, needed::Ref{Csize_t},
            error::Out{mdist_error_t})::Int32
    end
    return (count = Int(count[]), text = described)
end

"""
    Mdist.stream(replica)

The `cudaStream_t` on which all that the step asks of the library is done in order, for kernels of yours; `C_NULL` of a
replica on the CPU.
"""
function stream(replica::Replica)
    out = Out{Cvoid}(C_NULL)
    check() do error
        @ccall libmdist.mdist_replica_stream(
            replica::Ptr{mdist_replica_t}, out::Out{Cvoid}, error::Out{mdist_error_t})::Int32
    end
    return out[]
end

"""
    Mdist.use_stream!(replica, stream::Ptr)

Has the library work on a stream of yours, a `cudaStream_t` of the replica's GPU, until the step ends or `C_NULL` is
given. Keep what owns it until `run` has returned; any other address crashes the process.
"""
function use_stream!(replica::Replica, stream::Ptr)
    check() do error
        @ccall libmdist.mdist_replica_use_stream(
            replica::Ptr{mdist_replica_t}, stream::Ptr{Cvoid}, error::Out{mdist_error_t})::Int32
    end
    return replica
end

"""
    copyto!(to, from)
    copyto!(replica, to, from)

Copies between arrays and `Mdist.DeviceTensor`s of one type and shape, wherever they lie. The second form is for steps:
behind what the replica's stream has been given, and done on return unless both lie on GPUs.
"""
Base.copyto!(to::DeviceTensor, from::Operand) = copy_tensor!(to, from)
Base.copyto!(to::StridedArray, from::DeviceTensor) = copy_tensor!(to, from)

function copy_tensor!(to::Operand, from::Operand)
    GC.@preserve to from begin
        target, source = Ref(mdist_tensor_t(to)), Ref(mdist_tensor_t(from))
        check() do error
            @ccall libmdist.mdist_tensor_copy(
                target::Ref{mdist_tensor_t}, source::Ref{mdist_tensor_t}, error::Out{mdist_error_t})::Int32
        end
    end
    return to
end

function Base.copyto!(replica::Replica, to::Operand, from::Operand)
    GC.@preserve to from begin
        target, source = Ref(mdist_tensor_t(to)), Ref(mdist_tensor_t(from))
        check() do error
            @ccall libmdist.mdist_replica_copy(
                replica::Ptr{mdist_replica_t}, target::Ref{mdist_tensor_t}, source::Ref{mdist_tensor_t},
                error::Out{mdist_error_t})::Int32
        end
    end
    return to
end

"""
    Mdist.graph(body, replica, key)

Does what `body()` puts on the replica's stream, as a CUDA graph: the first time it is called and recorded, later the
graph is launched. Where nothing is recorded, as on the CPU, it is called each time.
"""
function graph(body, replica::Replica, key::Integer)
    record = Ref{Int32}(0)
    check() do error
        @ccall libmdist.mdist_replica_graph_begin(
            replica::Ptr{mdist_replica_t}, key::UInt64, record::Ref{Int32}, error::Out{mdist_error_t})::Int32
    end
    record[] != 0 && body()
    check() do error
        @ccall libmdist.mdist_replica_graph_end(replica::Ptr{mdist_replica_t}, error::Out{mdist_error_t})::Int32
    end
    return nothing
end

"""
    Mdist.alloc_pinned(T, dims...)

An array of zeros in page-locked memory, which GPUs copy from and to at full speed; in ordinary memory where there are
none.
"""
function alloc_pinned(::Type{T}, dims::Integer...) where {T}
    sizes = map(Int, dims)
    dtype(T)
    out = Out{Cvoid}(C_NULL)
    check() do error
        @ccall libmdist.mdist_alloc_pinned(
            (prod(sizes) * sizeof(T))::Csize_t, out::Out{Cvoid}, error::Out{mdist_error_t})::Int32
    end
    memory = Allocation(out[])
    return LibraryArray{T,length(sizes)}(unsafe_wrap(Array, Ptr{T}(memory.address), sizes), memory)
end
