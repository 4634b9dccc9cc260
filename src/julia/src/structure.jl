# SPDX-License-Identifier: Apache-2.0
# Structures: values of several leaves, each at a path of names and positions. Positions count from 0, as in messages.

"What becomes a structure: names from named tuples and dictionaries, positions from tuples. (An array is a leaf.)"
const Tree = Union{NamedTuple,AbstractDict,Tuple}

flattened(leaf, path::String = "") = Pair{String,Any}[path => leaf]
function flattened(tree::Tree, path::String = "")
    below = path == "" ? "" : path * "."
    leaves = Pair{String,Any}[]
    for (name, part) in named(tree)
        append!(leaves, flattened(part, below * string(name)))
    end
    return leaves
end

named(tree::Union{NamedTuple,AbstractDict}) = pairs(tree)
named(tree::Tuple) = zip(0:(length(tree) - 1), tree)

"""
    Value((loss = x, grads = (g, h)))

A structure with the leaves "grads.0", "grads.1" and "loss": of named tuples, dictionaries and tuples, nested, of
arrays, numbers and values. `value["grads.0"]` is a leaf, `value["grads"]` what lies below, and `Mdist.paths(value)`
are all.
"""
function Value(tree::Tree)
    leaves = flattened(tree)
    parts = Value[leaf isa Value ? leaf : Value(leaf) for (_, leaf) in leaves]
    paths = String[path for (path, _) in leaves]
    out = Out{mdist_value_t}(C_NULL)
    GC.@preserve parts paths begin
        handles = Ptr{mdist_value_t}[part.handle for part in parts]
        texts = map(text_pointer, paths)
        check() do error
            @ccall libmdist.mdist_value_structure(
                texts::Ptr{Ptr{UInt8}}, handles::Ptr{Ptr{mdist_value_t}}, length(handles)::Csize_t,
                out::Out{mdist_value_t}, error::Out{mdist_error_t})::Int32
        end
    end
    return Value(out[])
end

"Where a text lies that the caller keeps and C is to read; throws if it holds a NUL, where it would end for C."
text_pointer(text::String) = Ptr{UInt8}(Base.unsafe_convert(Cstring, text))

"Paths of a structure's leaves; `[\"\"]` of any other value."
function paths(value::Value)
    count = Int(@ccall libmdist.mdist_value_leaf_count(value::Ptr{mdist_value_t})::Csize_t)
    return String[leaf_path(value, index) for index in 0:(count - 1)]
end

leaf_path(value::Value, index::Integer) = GC.@preserve value unsafe_string(
    @ccall libmdist.mdist_value_leaf_path(value::Ptr{mdist_value_t}, index::Csize_t)::Cstring)

function Base.getindex(value::Value, path::AbstractString)
    out = Out{mdist_value_t}(C_NULL)
    check() do error
        @ccall libmdist.mdist_value_at(
            value::Ptr{mdist_value_t}, path::Cstring, out::Out{mdist_value_t}, error::Out{mdist_error_t})::Int32
    end
    return Value(out[])
end

"""
    Mdist.sparse(indices, values)

Rows of larger tensors, in Julia's order the slices along the last dimension: array i of `values` holds some, and array
i of `indices`, of Int64 and counted from 0, says which. For reductions, and for `assign!`, which leaves other rows
alone.
"""
function sparse(indices::Value, values::Value)
    out = Out{mdist_value_t}(C_NULL)
    check() do error
        @ccall libmdist.mdist_value_sparse(
            indices::Ptr{mdist_value_t}, values::Ptr{mdist_value_t}, out::Out{mdist_value_t},
            error::Out{mdist_error_t})::Int32
    end
    return Value(out[])
end

"Which rows array `i` of a value has, counted from 0; `nothing` for a value of whole arrays."
function indices(value::Value, i::Integer = 1)
    tensor = Ref{mdist_tensor_t}()
    check() do error
        @ccall libmdist.mdist_value_indices(
            value::Ptr{mdist_value_t}, (i - 1)::Csize_t, tensor::Ref{mdist_tensor_t}, error::Out{mdist_error_t})::Int32
    end
    return tensor[].dtype == 0 ? nothing : LibraryArray(tensor[], value)
end
