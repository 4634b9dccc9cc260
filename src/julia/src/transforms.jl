# SPDX-License-Identifier: Apache-2.0
# More transforms of datasets: choosing elements, joining datasets, cutting new batches.

"The first `count` elements, or all if there are fewer."
function take(source::Dataset, count::Integer)
    return transformed(source.strategy) do out, error
        @ccall libmdist.mdist_dataset_take(
            source::Ptr{mdist_dataset_t}, count::UInt64, out::Out{mdist_dataset_t},
            C_NULL::Ptr{mdist_dataset_options_t}, error::Out{mdist_error_t})::Int32
    end
end

"All but the first `count` elements."
function skip(source::Dataset, count::Integer)
    return transformed(source.strategy) do out, error
        @ccall libmdist.mdist_dataset_skip(
            source::Ptr{mdist_dataset_t}, count::UInt64, out::Out{mdist_dataset_t},
            C_NULL::Ptr{mdist_dataset_options_t}, error::Out{mdist_error_t})::Int32
    end
end

"The elements of one dataset, then those of another. They must agree in number, type and dimensions of their arrays."
function concatenate(first::Dataset, second::Dataset)
    return transformed(first.strategy) do out, error
        @ccall libmdist.mdist_dataset_concatenate(
            first::Ptr{mdist_dataset_t}, second::Ptr{mdist_dataset_t}, out::Out{mdist_dataset_t},
            C_NULL::Ptr{mdist_dataset_options_t}, error::Out{mdist_error_t})::Int32
    end
end

"Element i has the arrays of element i of each dataset, in this order. It ends with the shortest."
function Base.zip(sources::Dataset...)
    GC.@preserve sources begin
        handles = Ptr{mdist_dataset_t}[source.handle for source in sources]
        return transformed(first(sources).strategy) do out, error
            @ccall libmdist.mdist_dataset_zip(
                handles::Ptr{Ptr{mdist_dataset_t}}, length(handles)::Csize_t, out::Out{mdist_dataset_t},
                C_NULL::Ptr{mdist_dataset_options_t}, error::Out{mdist_error_t})::Int32
        end
    end
end

"Keeps the elements of the first iteration that reaches its end in memory, for later ones."
function cache(source::Dataset)
    return transformed(source.strategy) do out, error
        @ccall libmdist.mdist_dataset_cache(
            source::Ptr{mdist_dataset_t}, out::Out{mdist_dataset_t}, C_NULL::Ptr{mdist_dataset_options_t},
            error::Out{mdist_error_t})::Int32
    end
end

"`batch` of elements of different sizes: pads every dimension with zeros at its end, up to the longest of the batch."
function padded_batch(source::Dataset, batch_size::Integer; drop_remainder::Bool = false)
    options = chosen(DATASET_DROP_REMAINDER, drop_remainder)
    return transformed(source.strategy) do out, error
        @ccall libmdist.mdist_dataset_padded_batch(
            source::Ptr{mdist_dataset_t}, batch_size::UInt64, C_NULL::Ptr{mdist_tensor_t}, 0::Csize_t,
            out::Out{mdist_dataset_t}, options::Ref{mdist_dataset_options_t}, error::Out{mdist_error_t})::Int32
    end
end

"Each index of the last dimension of each element as an element of its own."
function unbatch(source::Dataset)
    return transformed(source.strategy) do out, error
        @ccall libmdist.mdist_dataset_unbatch(
            source::Ptr{mdist_dataset_t}, out::Out{mdist_dataset_t}, C_NULL::Ptr{mdist_dataset_options_t},
            error::Out{mdist_error_t})::Int32
    end
end

"Cuts the rows of all elements, taken as one sequence, into new batches of these sizes, again and again in this order."
function rebatch(source::Dataset, batch_sizes::Integer...; drop_remainder::Bool = false)
    sizes = collect(UInt64, batch_sizes)
    options = chosen(DATASET_DROP_REMAINDER, drop_remainder)
    return transformed(source.strategy) do out, error
        @ccall libmdist.mdist_dataset_rebatch(
            source::Ptr{mdist_dataset_t}, sizes::Ptr{UInt64}, length(sizes)::Csize_t, out::Out{mdist_dataset_t},
            options::Ref{mdist_dataset_options_t}, error::Out{mdist_error_t})::Int32
    end
end
