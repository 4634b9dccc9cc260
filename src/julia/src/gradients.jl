# SPDX-License-Identifier: Apache-2.0
"""
    Gradients(strategy, like...; op = Mdist.SUM, bucket_bytes = 0, clip_norm = 0, zero_missing = false,
              zero_nonfinite = false, norm = true)

The gradients of a model, in memory of the library: reduced in buckets while the step still computes; clipped, checked
and accumulated. `like` is a variable, an array (of which only type and shape count), or a type and a size, such as
`(Float32, (784, 10))`, for each gradient. Gradients count from 1 here. Number them in the order of the forward pass:
then the reductions overlap best with the backward pass. In a step:

    for layer in 2:-1:1 # as the backward pass completes them
        Mdist.tensor(gradients, replica, layer) .= compute(layer)
        Mdist.ready!(replica, gradients, layer)
    end
    norm, finite = Mdist.wait!(replica, gradients) # now they are reduced, with the same bits on every replica

- `op`: `Mdist.SUM` (with `average_loss`) or `Mdist.MEAN`, over replicas and rounds.
- `bucket_bytes`: a bucket takes gradients until it has this many bytes; 0: 4 MiB.
- `clip_norm`: clips by global norm; 0 disables clipping.
- `zero_missing`: gradients that are not ready by the wait count as zeros, not as an error.
- `zero_nonfinite`: if the norm is not finite, all gradients become zeros.
- `norm = false`: computes no norm.
"""
mutable struct Gradients <: Handle
    handle::Ptr{mdist_gradients_t}
    strategy::Strategy # kept as long as its gradients are in use
    lent::Dict{Any,Any} # arrays that the library may use, by local replica, or by that and gradient
    lock::ReentrantLock
    Gradients(handle::Ptr{mdist_gradients_t}, strategy::Strategy) =
        finalizer(destroy, new(handle, strategy, Dict(), ReentrantLock()))::Gradients
end

destroy(gradients::Gradients) = @ccall libmdist.mdist_gradients_destroy(gradients::Ptr{mdist_gradients_t})::Cvoid
Base.unsafe_convert(::Type{Ptr{mdist_gradients_t}}, gradients::Gradients) = gradients.handle

function gradients_options(;
    op::ReduceOp = SUM, bucket_bytes::Integer = 0, clip_norm::Real = 0, zero_missing::Bool = false,
    zero_nonfinite::Bool = false, norm::Bool = true,
)
    flags = (zero_missing ? Int32(GRADIENTS_ZERO_MISSING) : 0) |
            (zero_nonfinite ? Int32(GRADIENTS_ZERO_NONFINITE) : 0) | (norm ? 0 : Int32(GRADIENTS_NO_NORM))
    return Ref(mdist_gradients_options_t(
        sizeof(mdist_gradients_options_t), flags, Int32(op), 0, bucket_bytes, clip_norm))
end

function Gradients(strategy::Strategy, like...; keywords...)
    given = gradients_options(; keywords...)
    out = Out{mdist_gradients_t}(C_NULL)
    GC.@preserve like begin
        tensors = mdist_tensor_t[gradient_like(one) for one in like]
        check() do error
            @ccall libmdist.mdist_gradients_create(
                strategy::Ptr{mdist_strategy_t}, tensors::Ptr{mdist_tensor_t}, length(tensors)::Csize_t,
                out::Out{mdist_gradients_t}, given::Ref{mdist_gradients_options_t},
                error::Out{mdist_error_t})::Int32
        end
    end
    return Gradients(out[], strategy)
end

"""
    Mdist.lend(strategy, arrays...; op = Mdist.SUM, ...)

Gradients in the program's own memory: one vector or tuple of arrays for each local replica. They are reduced where they
lie, and kept as long as the library may use them; don't `resize!` them. The keywords are those of `Gradients`. If arrays
move, lend them again (`Mdist.lend!`), or pass them to `ready!`.
"""
function lend(strategy::Strategy, arrays...; keywords...)
    replicas = local_replica_count(strategy)
    length(arrays) == replicas && all(one -> length(one) == length(arrays[1]), arrays) ||
        throw(ArgumentError(
            "lists of $(join(map(length, arrays), ", ")) arrays for $replicas local replicas; pass one for each, of equal lengths"))
    given = gradients_options(; keywords...)
    out = Out{mdist_gradients_t}(C_NULL)
    GC.@preserve arrays begin
        tensors = mdist_tensor_t[mdist_tensor_t(array) for one in arrays for array in one]
        check() do error
            @ccall libmdist.mdist_gradients_create_lent(
                strategy::Ptr{mdist_strategy_t}, tensors::Ptr{mdist_tensor_t}, length(arrays[1])::Csize_t,
                out::Out{mdist_gradients_t}, given::Ref{mdist_gradients_options_t},
                error::Out{mdist_error_t})::Int32
        end
    end
    gradients = Gradients(out[], strategy)
    foreach((i, one) -> gradients.lent[i - 1] = one, 1:replicas, arrays)
    return gradients
end

"    Mdist.lend!(gradients, local_replica, arrays): where all gradients of a local replica lie from its next round on."
function lend!(gradients::Gradients, local_replica::Integer, arrays)
    GC.@preserve arrays begin
        tensors = mdist_tensor_t[mdist_tensor_t(array) for array in arrays]
        check() do error
            @ccall libmdist.mdist_gradients_lend(
                gradients::Ptr{mdist_gradients_t}, local_replica::UInt32, tensors::Ptr{mdist_tensor_t},
                length(tensors)::Csize_t, error::Out{mdist_error_t})::Int32
        end
    end
    keep!(gradients, Int(local_replica), arrays)
    return nothing
end

keep!(gradients::Gradients, key, arrays) = lock(() -> gradients.lent[key] = arrays, gradients.lock)

gradient_like(variable::Variable) = described(variable, 0) # its own memory: messages name the gradient after it
gradient_like(array::StridedArray) = mdist_tensor_t(array)
gradient_like((type, size)::Tuple{DataType,Tuple}) = described(type, size)

"A type and a size without memory."
function described(type::DataType, size::Tuple)
    length(size) <= MAX_RANK || throw(ArgumentError("an array of $(length(size)) dimensions; $MAX_RANK are the most"))
    shape = ntuple(i -> i <= length(size) ? UInt64(size[length(size) + 1 - i]) : UInt64(0), Val(MAX_RANK))
    return mdist_tensor_t(C_NULL, Int32(dtype(type)), length(size), 0, 0, shape)
end

"""
    Mdist.tensor(gradients, local_replica, index)
    Mdist.tensor(gradients, replica, index)

Gradient `index`, counted from 1, of a local replica as an array over its own memory, which moves only with
`Mdist.regroup`. Write it until it is ready, and again after the wait.
"""
tensor(gradients::Gradients, local_replica::Integer, index::Integer) =
    LibraryArray(described(gradients, local_replica, index), gradients)
tensor(gradients::Gradients, replica::Replica, index::Integer) = tensor(gradients, local_index(replica), index)

"The same wherever it lies: `Mdist.device_tensor(gradients, replica, index)`."
device_tensor(gradients::Gradients, local_replica::Integer, index::Integer) =
    DeviceTensor(described(gradients, local_replica, index), gradients)
device_tensor(gradients::Gradients, replica::Replica, index::Integer) =
    device_tensor(gradients, local_index(replica), index)

function described(gradients::Gradients, local_replica::Integer, index::Integer)
    tensor = Ref{mdist_tensor_t}()
    check() do error
        @ccall libmdist.mdist_gradients_tensor(
            gradients::Ptr{mdist_gradients_t}, local_replica::UInt32, (index - 1)::Csize_t,
            tensor::Ref{mdist_tensor_t}, error::Out{mdist_error_t})::Int32
    end
    return tensor[]
end

"""
    Mdist.accumulate!(replica, gradients)

Marks the round that begins now: it is added to the next round instead of being reduced. Call it before the first
gradient of the round is ready.
"""
function accumulate!(replica::Replica, gradients::Gradients)
    check() do error
        @ccall libmdist.mdist_gradients_accumulate(
            replica::Ptr{mdist_replica_t}, gradients::Ptr{mdist_gradients_t}, error::Out{mdist_error_t})::Int32
    end
    return nothing
end

"""
    Mdist.ready!(replica, gradients, index)

Says that a gradient of this replica is complete. From now until the wait it belongs to the library.
"""
function ready!(replica::Replica, gradients::Gradients, index::Integer)
    check() do error
        @ccall libmdist.mdist_gradients_ready(
            replica::Ptr{mdist_replica_t}, gradients::Ptr{mdist_gradients_t}, (index - 1)::Csize_t,
            error::Out{mdist_error_t})::Int32
    end
    return nothing
end

"The same for a lent gradient, which lies in `array` in this round."
function ready!(replica::Replica, gradients::Gradients, index::Integer, array::StridedArray)
    check_like(array, described(gradients, local_index(replica), index))
    keep!(gradients, (local_index(replica), Int(index)), array)
    check() do error
        @ccall libmdist.mdist_gradients_ready_at(
            replica::Ptr{mdist_replica_t}, gradients::Ptr{mdist_gradients_t}, (index - 1)::Csize_t,
            pointer(array)::Ptr{Cvoid}, error::Out{mdist_error_t})::Int32
    end
    return nothing
end

"Throws unless an array is like a tensor: C gets its address alone."
function check_like(array::StridedArray, like::mdist_tensor_t)
    own = mdist_tensor_t(array)
    (own.dtype, own.rank, own.shape) == (like.dtype, like.rank, like.shape) || throw(ArgumentError(
        "an array of $(eltype(array)) and size $(size(array)) is not like the gradient that it is to be"))
    return nothing
end

"""
    norm, finite = Mdist.wait!(replica, gradients)

Ends the round: when it returns, all gradients are reduced and clipped. It gives the norm before clipping, and whether
all gradients are finite; if not, skip this step's update. Both are the same on all replicas.

Like a merge it blocks its thread, though not the garbage collector. So Julia needs as many threads as the strategy has
replicas here: `julia --threads N`. With fewer it throws.
"""
function wait!(replica::Replica, gradients::Gradients)
    check_thread(replica, "waiting for gradients", ", or call Mdist.test! until it gives a result")
    norm, finite, error = Ref{Cdouble}(0), Ref{Int32}(0), Out{mdist_error_t}(C_NULL)
    GC.@preserve replica gradients norm finite error begin
        status = gradients_wait(
            replica.handle, gradients.handle, Base.unsafe_convert(Ptr{Cdouble}, norm),
            Base.unsafe_convert(Ptr{Int32}, finite), Base.unsafe_convert(Ptr{Ptr{mdist_error_t}}, error))
    end
    status < 0 && throw(MdistError(status, error[]))
    return norm[], finite[] != 0
end

"""
    Mdist.test!(replica, gradients)

Does what `wait!` does, without waiting for other replicas: gives `nothing` while the round has not ended, then
`norm, finite`. Call it until it has, and meanwhile nothing else that communicates; `sleep` a little in between, so that
other tasks run. Any number of threads will do.
"""
function test!(replica::Replica, gradients::Gradients)
    done, norm, finite = Ref{Int32}(0), Ref{Cdouble}(0), Ref{Int32}(0)
    check() do error
        @ccall libmdist.mdist_gradients_test(
            replica::Ptr{mdist_replica_t}, gradients::Ptr{mdist_gradients_t}, done::Ref{Int32}, norm::Ref{Cdouble},
            finite::Ref{Int32}, error::Out{mdist_error_t})::Int32
    end
    return done[] == 0 ? nothing : (norm[], finite[] != 0)
end

# A function of its own, never inlined: see merge.jl.
@noinline function gradients_wait(
    replica::Ptr{mdist_replica_t}, gradients::Ptr{mdist_gradients_t}, norm::Ptr{Cdouble}, finite::Ptr{Int32},
    error::Ptr{Ptr{mdist_error_t}},
)
    return @gc_safe @ccall libmdist.mdist_gradients_wait(
        replica::Ptr{mdist_replica_t}, gradients::Ptr{mdist_gradients_t}, norm::Ptr{Cdouble}, finite::Ptr{Int32},
        error::Ptr{Ptr{mdist_error_t}})::Int32
end
