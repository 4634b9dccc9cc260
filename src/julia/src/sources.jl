# SPDX-License-Identifier: Apache-2.0
"""
    Dataset(1:3:10)

A dataset of `Int64` numbers.
"""
function Dataset(range::OrdinalRange{<:Integer})
    return transformed(nothing) do out, error
        @ccall libmdist.mdist_dataset_range(
            first(range)::Int64, (last(range) + sign(step(range)))::Int64, step(range)::Int64,
            out::Out{mdist_dataset_t}, C_NULL::Ptr{mdist_dataset_options_t}, error::Out{mdist_error_t})::Int32
    end
end

"Calls `use` with C texts, which it keeps meanwhile."
function with_texts(use::F, texts) where {F}
    kept = String[string(text) for text in texts]
    foreach(text -> '\0' in text && throw(ArgumentError("a name with a NUL: $(repr(text))")), kept)
    GC.@preserve kept begin
        return use(Ptr{UInt8}[pointer(text) for text in kept])
    end
end

"A dataset of the names of files, in this order. Whether they exist shows when they are read."
function files(paths::AbstractString...)
    return with_texts(paths) do texts
        transformed(nothing) do out, error
            @ccall libmdist.mdist_dataset_files(
                texts::Ptr{Ptr{UInt8}}, length(texts)::Csize_t, out::Out{mdist_dataset_t},
                C_NULL::Ptr{mdist_dataset_options_t}, error::Out{mdist_error_t})::Int32
        end
    end
end

"A dataset of the sorted names of all files that match one of the patterns: `*`, `?` and `[a-z]`, as in a shell."
function match_files(patterns::AbstractString...)
    return with_texts(patterns) do texts
        transformed(nothing) do out, error
            @ccall libmdist.mdist_dataset_match_files(
                texts::Ptr{Ptr{UInt8}}, length(texts)::Csize_t, out::Out{mdist_dataset_t},
                C_NULL::Ptr{mdist_dataset_options_t}, error::Out{mdist_error_t})::Int32
        end
    end
end

"""
How files are read, by keywords of `text_lines`, `fixed_records` and `tfrecords`:

- `compression`: `Mdist.COMPRESSION_NONE`, `_GZIP` or `_ZLIB`.
- `on_corrupt`: `Mdist.ON_CORRUPT_FAIL`, or `_SKIP`, which leaves corrupt records out; `Mdist.skipped` counts them.
- `cycle_length`: how many files are open at a time and take turns. `block_length`: how many records a file gives in its
  turn.
- `max_record_bytes`: a longer record is corrupt; 0: 1 GiB.
- `parallel_files`: how many of the open files are read ahead at a time, on threads of the iterator.
"""
function reading(;
    compression::Compression = COMPRESSION_NONE, on_corrupt::OnCorrupt = ON_CORRUPT_FAIL, cycle_length::Integer = 0,
    block_length::Integer = 0, max_record_bytes::Integer = 0, parallel_files::Integer = 0,
)
    return Ref(mdist_read_options_t(
        sizeof(mdist_read_options_t), 0, Int32(compression), Int32(on_corrupt), cycle_length, block_length,
        max_record_bytes, parallel_files))
end

"The lines of the files that a dataset names, without line ends. Each is a vector of `UInt8`. Keywords: see `reading`."
function text_lines(names::Dataset; how...)
    options = reading(; how...)
    return transformed(names.strategy) do out, error
        @ccall libmdist.mdist_dataset_text_lines(
            names::Ptr{mdist_dataset_t}, out::Out{mdist_dataset_t}, options::Ref{mdist_read_options_t},
            error::Out{mdist_error_t})::Int32
    end
end

"Records of so many bytes each, between a header and a footer of each file. Keywords: see `reading`."
function fixed_records(
    names::Dataset, record_bytes::Integer; header_bytes::Integer = 0, footer_bytes::Integer = 0, how...,
)
    options = reading(; how...)
    return transformed(names.strategy) do out, error
        @ccall libmdist.mdist_dataset_fixed_records(
            names::Ptr{mdist_dataset_t}, record_bytes::UInt64, header_bytes::UInt64, footer_bytes::UInt64,
            out::Out{mdist_dataset_t}, options::Ref{mdist_read_options_t}, error::Out{mdist_error_t})::Int32
    end
end

"The records of TFRecord files, whose checksums are verified. Keywords: see `reading`."
function tfrecords(names::Dataset; how...)
    options = reading(; how...)
    return transformed(names.strategy) do out, error
        @ccall libmdist.mdist_dataset_tfrecords(
            names::Ptr{mdist_dataset_t}, out::Out{mdist_dataset_t}, options::Ref{mdist_read_options_t},
            error::Out{mdist_error_t})::Int32
    end
end

"How many corrupt records the sources of an iterator have left out so far."
function skipped(iterator::Iterator)
    number = Ref{UInt64}(0)
    check() do error
        @ccall libmdist.mdist_iterator_skipped(
            iterator::Ptr{mdist_iterator_t}, number::Ref{UInt64}, error::Out{mdist_error_t})::Int32
    end
    return Int(number[])
end

"""
    Mdist.write_records(path; compression = Mdist.COMPRESSION_NONE) do writer
        write(writer, bytes) # a record
    end

Writes a TFRecord file. The file has another name in its folder until the end. So `path` always holds what was there
before, or the new file as a whole. If the function throws, the new file is removed.
"""
function write_records(fill::Function, path::AbstractString; compression::Compression = COMPRESSION_NONE)
    writer = RecordWriter(path, compression)
    try
        fill(writer)
        check() do error
            @ccall libmdist.mdist_record_writer_close(
                writer::Ptr{mdist_record_writer_t}, error::Out{mdist_error_t})::Int32
        end
    finally
        close(writer)
    end
    return nothing
end

"A TFRecord file that is being written; see `write_records`."
mutable struct RecordWriter <: Handle
    handle::Ptr{mdist_record_writer_t}
    function RecordWriter(path::AbstractString, compression::Compression)
        out = Out{mdist_record_writer_t}(C_NULL)
        options = Ref(mdist_record_writer_options_t(sizeof(mdist_record_writer_options_t), Int32(compression)))
        check() do error
            @ccall libmdist.mdist_record_writer_create(
                path::Cstring, out::Out{mdist_record_writer_t}, options::Ref{mdist_record_writer_options_t},
                error::Out{mdist_error_t})::Int32
        end
        return finalizer(destroy, new(out[]))::RecordWriter
    end
end

destroy(writer::RecordWriter) =
    @ccall libmdist.mdist_record_writer_destroy(writer::Ptr{mdist_record_writer_t})::Cvoid
Base.unsafe_convert(::Type{Ptr{mdist_record_writer_t}}, writer::RecordWriter) = writer.handle

"Adds a record: the bytes of an array, or a text."
function Base.write(writer::RecordWriter, record::Union{StridedArray,String})
    record isa StridedArray && check_dense(record)
    bytes = sizeof(record)
    GC.@preserve record begin
        address = bytes == 0 ? C_NULL : pointer(record)
        check() do error
            @ccall libmdist.mdist_record_writer_write(
                writer::Ptr{mdist_record_writer_t}, address::Ptr{Cvoid}, bytes::Csize_t,
                error::Out{mdist_error_t})::Int32
        end
    end
    return bytes
end
