# SPDX-License-Identifier: Apache-2.0
"""
    Mdist.Iterator(dataset)

An iteration under way, for those who want more than a `for` loop over the dataset: `Mdist.next!(iterator)`.
Destroying one waits for nobody, as all its memory has a free function (and no function of Julia's is in it).
"""
mutable struct Iterator <: Handle
    handle::Ptr{mdist_iterator_t}
    components::Int
    strategy::Union{Strategy,Nothing}
    function Iterator(handle::Ptr{mdist_iterator_t}, components::Int, strategy::Union{Strategy,Nothing})
        return finalizer(destroy, new(handle, components, strategy))::Iterator
    end
end

destroy(iterator::Iterator) = @ccall libmdist.mdist_iterator_destroy(iterator::Ptr{mdist_iterator_t})::Cvoid
Base.unsafe_convert(::Type{Ptr{mdist_iterator_t}}, iterator::Iterator) = iterator.handle

function Iterator(dataset::Dataset)
    out = Out{mdist_iterator_t}(C_NULL)
    check() do error
        @ccall libmdist.mdist_iterator_create(
            dataset::Ptr{mdist_dataset_t}, out::Out{mdist_iterator_t}, error::Out{mdist_error_t})::Int32
    end
    return Iterator(out[], component_count(dataset), dataset.strategy)
end

"The next element, a vector with a value for each component; `nothing` after the last."
function next!(iterator::Iterator)
    handles = fill(Ptr{mdist_value_t}(C_NULL), iterator.components)
    status = check() do error
        @ccall libmdist.mdist_iterator_next(
            iterator::Ptr{mdist_iterator_t}, handles::Ptr{Ptr{mdist_value_t}}, length(handles)::Csize_t,
            error::Out{mdist_error_t})::Int32
    end
    return status == END ? nothing : Value[Value(handle) for handle in handles]
end

Base.IteratorSize(::Type{Dataset}) = Base.SizeUnknown()
Base.eltype(::Type{Dataset}) = Vector{Value}

function Base.iterate(dataset::Dataset, iterator::Iterator = Iterator(dataset))
    element = next!(iterator)
    element === nothing || return element, iterator
    close(iterator)
    return nothing
end
