# SPDX-License-Identifier: Apache-2.0
"""
    distribute(strategy, source; policy = Mdist.SHARD_AUTO, uneven = Mdist.UNEVEN_DEFAULT, split = true,
               whole_steps = false, fetch_to_device = nothing, buffer_size = 0, weights = Float64[])

Distributes a dataset of global batches over the replicas of the job. The last of the transformations. All workers call
it together.

- `policy`, who reads what: `SHARD_FILE` shares out the files; `SHARD_DATA` keeps a part of every batch; `SHARD_OFF`
  reads everything everywhere; `SHARD_MARKED` obeys `shard(source, Mdist.ONE_PER_WORKER, 0)`. `SHARD_AUTO` is what the
  configuration says.
- `uneven`, rows that cannot be shared out evenly: `UNEVEN_DEFAULT` (as TensorFlow), `UNEVEN_SPREAD` or `UNEVEN_DROP`.
- `split = false`: replicas get whole elements in turn, instead of a part of each.
- `whole_steps`: ends before a step in which some replica would get nothing.
- `fetch_to_device`: `true` makes the next `buffer_size` elements of each replica while the program works, `false` does
  not; the configuration's choice if it is `nothing`.
- `weights`, one for each replica of the job: rows are shared out in proportion to them.

`Mdist.explain` says what was decided, `Mdist.row_counts` how many rows each replica got.
"""
function distribute(
    strategy::Strategy, source::Dataset; policy::ShardPolicy = SHARD_AUTO, uneven::Uneven = UNEVEN_DEFAULT,
    split::Bool = true, whole_steps::Bool = false, fetch_to_device::Union{Bool,Nothing} = nothing,
    buffer_size::Integer = 0, weights::Vector{Float64} = Float64[],
)
    flags = (split ? 0 : INPUT_NO_SPLIT) | (whole_steps ? INPUT_WHOLE_STEPS : 0)
    fetch = fetch_to_device === nothing ? 0 : fetch_to_device ? 1 : -1
    GC.@preserve weights begin
        options = Ref(mdist_input_options_t(
            sizeof(mdist_input_options_t), flags, Int32(policy), Int32(uneven), 0, fetch, buffer_size,
            isempty(weights) ? C_NULL : pointer(weights), length(weights)))
        return transformed(strategy) do out, error
            @ccall libmdist.mdist_distribute_dataset(
                strategy::Ptr{mdist_strategy_t}, source::Ptr{mdist_dataset_t}, out::Out{mdist_dataset_t},
                options::Ref{mdist_input_options_t}, error::Out{mdist_error_t})::Int32
        end
    end
end

"How a dataset is made, in lines for people. For a distributed one also which policy was taken and why."
function explain(dataset::Dataset)
    return read_text() do text, capacity, needed, error
        @ccall libmdist.mdist_dataset_explain(
            dataset::Ptr{mdist_dataset_t}, text::Ptr{UInt8}, capacity::Csize_t, needed::Ref{Csize_t},
            error::Out{mdist_error_t})::Int32
    end
end

"""
    Mdist.row_counts(iterator)

How many rows each replica of the job, by id, got in the last element of a distributed dataset: the denominators of
means if steps are not even.
"""
function row_counts(iterator::Iterator)
    iterator.strategy === nothing && throw(ArgumentError("only iterators of distributed datasets count rows"))
    numbers = zeros(UInt64, replica_count(iterator.strategy))
    check() do error
        @ccall libmdist.mdist_iterator_row_counts(
            iterator::Ptr{mdist_iterator_t}, numbers::Ptr{UInt64}, length(numbers)::Csize_t,
            error::Out{mdist_error_t})::Int32
    end
    return Int.(numbers)
end

"The position of an iterator, as a text for `restore!` on an iterator of the same dataset."
function Base.position(iterator::Iterator)
    return read_text() do text, capacity, needed, error
        @ccall libmdist.mdist_iterator_save(
            iterator::Ptr{mdist_iterator_t}, text::Ptr{UInt8}, capacity::Csize_t, needed::Ref{Csize_t},
            error::Out{mdist_error_t})::Int32
    end
end

"""
    restore!(iterator, position)

Goes on where another iterator of the same dataset was when `position(iterator)` gave the text.
"""
function restore!(iterator::Iterator, text::AbstractString)
    check() do error
        @ccall libmdist.mdist_iterator_restore(
            iterator::Ptr{mdist_iterator_t}, text::Cstring, error::Out{mdist_error_t})::Int32
    end
    return iterator
end
