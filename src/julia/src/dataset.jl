# SPDX-License-Identifier: Apache-2.0
"""
    Dataset(arrays...)

A description of elements, from arrays in memory: element i has index i of each array's *last* dimension. The arrays are
copied into memory of the library, which outlives everything made from the dataset. `Mdist.shuffle`, `repeat`,
`Mdist.batch`, `Mdist.shard`, `Mdist.prefetch` and `Mdist.distribute` each give a new dataset; a `for` loop over one
gives its elements, vectors of `Value`s:

    for (images, labels) in Mdist.distribute(strategy, Mdist.batch(Dataset(pixels, answers), 128))
        run(strategy, images, labels) do replica
            x, y = Mdist.argument(replica, 1), Mdist.argument(replica, 2)
        end
        close(images); close(labels)
    end
"""
mutable struct Dataset <: Handle
    handle::Ptr{mdist_dataset_t}
    strategy::Union{Strategy,Nothing} # of a distributed one, kept as long as it is in use
    function Dataset(handle::Ptr{mdist_dataset_t}, strategy::Union{Strategy,Nothing})
        return finalizer(destroy, new(handle, strategy))::Dataset
    end
end

destroy(dataset::Dataset) = @ccall libmdist.mdist_dataset_destroy(dataset::Ptr{mdist_dataset_t})::Cvoid
Base.unsafe_convert(::Type{Ptr{mdist_dataset_t}}, dataset::Dataset) = dataset.handle

function Dataset(arrays::StridedArray...)
    out = Out{mdist_dataset_t}(C_NULL)
    GC.@preserve arrays begin
        tensors = mdist_tensor_t[mdist_tensor_t(array) for array in arrays]
        memory = copy_together!(tensors, Int[length(array) * sizeof(eltype(array)) for array in arrays])
        # From here on the memory is the library's to free, also if it refuses.
        check() do error
            @ccall libmdist.mdist_dataset_from_tensors(
                tensors::Ptr{mdist_tensor_t}, length(tensors)::Csize_t, memory::Ptr{Cvoid},
                free_function()::Ptr{Cvoid}, out::Out{mdist_dataset_t}, C_NULL::Ptr{mdist_dataset_options_t},
                error::Out{mdist_error_t})::Int32
        end
    end
    return Dataset(out[], nothing)
end

"Copies tensors into one piece of memory, each at a multiple of 64 bytes, and points them there."
function copy_together!(tensors::Vector{mdist_tensor_t}, sizes::Vector{Int})
    memory = allocate(mapreduce(size -> cld(size, 64) * 64, +, sizes; init = 0))
    address = Ptr{UInt8}(memory)
    for (i, size) in enumerate(sizes)
        from = tensors[i]
        size == 0 || unsafe_copyto!(address, Ptr{UInt8}(from.data), size)
        tensors[i] = mdist_tensor_t(address, from.dtype, from.rank, 0, 0, from.shape)
        address += cld(size, 64) * 64
    end
    return memory
end

"A dataset that the library makes from another."
function transformed(call::F, strategy::Union{Strategy,Nothing}) where {F}
    out = Out{mdist_dataset_t}(C_NULL)
    check(error -> call(out, error))
    return Dataset(out[], strategy)
end

"Options of a dataset: one flag, or none."
chosen(flag::Integer, is_chosen::Bool) =
    Ref(mdist_dataset_options_t(sizeof(mdist_dataset_options_t), is_chosen ? flag : 0, 0, 0))

"Keeps elements index, index + shards, index + 2 * shards ..., the first one being number 0."
function shard(source::Dataset, shards::Integer, index::Integer)
    return transformed(source.strategy) do out, error
        @ccall libmdist.mdist_dataset_shard(
            source::Ptr{mdist_dataset_t}, shards::UInt64, index::UInt64, out::Out{mdist_dataset_t},
            C_NULL::Ptr{mdist_dataset_options_t}, error::Out{mdist_error_t})::Int32
    end
end

"Picks each next element at random from a buffer of `buffer_size`: in another order every time, unless told otherwise."
function shuffle(source::Dataset, buffer_size::Integer; seed::Integer, reshuffle_each_iteration::Bool = true)
    options = chosen(DATASET_SAME_ORDER, !reshuffle_each_iteration)
    return transformed(source.strategy) do out, error
        @ccall libmdist.mdist_dataset_shuffle(
            source::Ptr{mdist_dataset_t}, buffer_size::UInt64, seed::UInt64, out::Out{mdist_dataset_t},
            options::Ref{mdist_dataset_options_t}, error::Out{mdist_error_t})::Int32
    end
end

"The source `count` times over, or `Mdist.FOREVER`."
function Base.repeat(source::Dataset, count::Integer)
    return transformed(source.strategy) do out, error
        @ccall libmdist.mdist_dataset_repeat(
            source::Ptr{mdist_dataset_t}, count::UInt64, out::Out{mdist_dataset_t},
            C_NULL::Ptr{mdist_dataset_options_t}, error::Out{mdist_error_t})::Int32
    end
end

"Joins elements along a new last dimension. The last batch may be shorter; `drop_remainder = true` leaves it out then."
function batch(source::Dataset, batch_size::Integer; drop_remainder::Bool = false)
    options = chosen(DATASET_DROP_REMAINDER, drop_remainder)
    return transformed(source.strategy) do out, error
        @ccall libmdist.mdist_dataset_batch(
            source::Ptr{mdist_dataset_t}, batch_size::UInt64, out::Out{mdist_dataset_t},
            options::Ref{mdist_dataset_options_t}, error::Out{mdist_error_t})::Int32
    end
end

"Prepares up to `elements` ahead, on a thread of the library."
function prefetch(source::Dataset, elements::Integer)
    return transformed(source.strategy) do out, error
        @ccall libmdist.mdist_dataset_prefetch(
            source::Ptr{mdist_dataset_t}, elements::UInt64, out::Out{mdist_dataset_t},
            C_NULL::Ptr{mdist_dataset_options_t}, error::Out{mdist_error_t})::Int32
    end
end

"How many values an element has."
function component_count(dataset::Dataset)
    return Int(@ccall libmdist.mdist_dataset_component_count(dataset::Ptr{mdist_dataset_t})::Csize_t)
end
