# SPDX-License-Identifier: Apache-2.0
"""
    Checkpoint(strategy, folder; keep = 0)

Saves variables and texts in files (safetensors), and restores them, with any number of workers and replicas: `add!`,
`checkpoint["epoch"] = "3"`, `save`, `restore!`. The newest `keep` files stay; 0: all do. All workers make the same
calls, outside of steps.
"""
mutable struct Checkpoint <: Handle
    handle::Ptr{mdist_checkpoint_t}
    strategy::Strategy # kept as long as its checkpoint is in use
    Checkpoint(handle::Ptr{mdist_checkpoint_t}, strategy::Strategy) =
        finalizer(destroy, new(handle, strategy))::Checkpoint
end

destroy(checkpoint::Checkpoint) = @ccall libmdist.mdist_checkpoint_destroy(checkpoint::Ptr{mdist_checkpoint_t})::Cvoid
Base.unsafe_convert(::Type{Ptr{mdist_checkpoint_t}}, checkpoint::Checkpoint) = checkpoint.handle

function Checkpoint(strategy::Strategy, folder::AbstractString; keep::Integer = 0)
    out = Out{mdist_checkpoint_t}(C_NULL)
    check() do error
        @ccall libmdist.mdist_checkpoint_create(
            strategy::Ptr{mdist_strategy_t}, folder::Cstring, keep::UInt32, out::Out{mdist_checkpoint_t},
            error::Out{mdist_error_t})::Int32
    end
    return Checkpoint(out[], strategy)
end

"Adds a variable, which the checkpoint keeps, under its own name in files or another."
function add!(checkpoint::Checkpoint, variable::Variable, name_in_files::AbstractString = name(variable))
    check() do error
        @ccall libmdist.mdist_checkpoint_add(
            checkpoint::Ptr{mdist_checkpoint_t}, name_in_files::Cstring, variable::Ptr{mdist_variable_t},
            error::Out{mdist_error_t})::Int32
    end
    return checkpoint
end

"Adds an iterator: `restore!` lets it go on where it was at the save."
function add!(checkpoint::Checkpoint, iterator::Iterator, name_in_files::AbstractString)
    check() do error
        @ccall libmdist.mdist_checkpoint_add_iterator(
            checkpoint::Ptr{mdist_checkpoint_t}, name_in_files::Cstring, iterator::Ptr{mdist_iterator_t},
            error::Out{mdist_error_t})::Int32
    end
    return checkpoint
end

"Removes all checkpoints from the folder. All workers together."
function clear(checkpoint::Checkpoint; timeout::Real = 0)
    limits = options(timeout)
    check() do error
        @ccall libmdist.mdist_checkpoint_clear(
            checkpoint::Ptr{mdist_checkpoint_t}, limits::Ref{mdist_call_options_t}, error::Out{mdist_error_t})::Int32
    end
    return nothing
end

function Base.setindex!(checkpoint::Checkpoint, value, key::AbstractString)
    text = string(value)
    check() do error
        @ccall libmdist.mdist_checkpoint_set_text(
            checkpoint::Ptr{mdist_checkpoint_t}, key::Cstring, text::Cstring, error::Out{mdist_error_t})::Int32
    end
    return checkpoint
end

function Base.getindex(checkpoint::Checkpoint, key::AbstractString)
    return read_text() do text, capacity, needed, error
        @ccall libmdist.mdist_checkpoint_text(
            checkpoint::Ptr{mdist_checkpoint_t}, key::Cstring, text::Ptr{UInt8}, capacity::Csize_t,
            needed::Ref{Csize_t}, error::Out{mdist_error_t})::Int32
    end
end

"The keys of all texts, in their order."
function Base.keys(checkpoint::Checkpoint)
    count = @ccall libmdist.mdist_checkpoint_text_count(checkpoint::Ptr{mdist_checkpoint_t})::Csize_t
    return String[
        read_text() do text, capacity, needed, error
            @ccall libmdist.mdist_checkpoint_text_key(
                checkpoint::Ptr{mdist_checkpoint_t}, index::Csize_t, text::Ptr{UInt8}, capacity::Csize_t,
                needed::Ref{Csize_t}, error::Out{mdist_error_t})::Int32
        end
        for index in 0:(Int(count) - 1)
    ]
end

"Saves under a number, of a step or epoch, say. It is on the disk when this returns."
function save(checkpoint::Checkpoint, number::Integer; timeout::Real = 0)
    limits = options(timeout)
    check() do error
        @ccall libmdist.mdist_checkpoint_save(
            checkpoint::Ptr{mdist_checkpoint_t}, number::UInt64, limits::Ref{mdist_call_options_t},
            error::Out{mdist_error_t})::Int32
    end
    return nothing
end

"""
    restore!(checkpoint, number = Mdist.LATEST; partial = false, timeout = 0)

Gives variables and texts what was saved, and returns the number; `nothing` where there is none. With `partial`,
variables that the file lacks stay as they are, and what else is in it is passed over.
"""
function restore!(checkpoint::Checkpoint, number::Integer = LATEST; partial::Bool = false, timeout::Real = 0)
    flags = partial ? RESTORE_PARTIAL : 0
    how = Ref(mdist_restore_options_t(sizeof(mdist_restore_options_t), flags, options(timeout)[].timeout_ns))
    restored = Ref{UInt64}(0)
    return found() do
        check() do error
            @ccall libmdist.mdist_checkpoint_restore(
                checkpoint::Ptr{mdist_checkpoint_t}, number::UInt64, restored::Ref{UInt64},
                how::Ref{mdist_restore_options_t}, error::Out{mdist_error_t})::Int32
        end
        Int(restored[])
    end
end

"The number of the checkpoint in a folder that was saved last; `nothing` if there is none."
function latest_checkpoint(folder::AbstractString)
    number = Ref{UInt64}(0)
    return found() do
        check() do error
            @ccall libmdist.mdist_checkpoint_latest(
                folder::Cstring, number::Ref{UInt64}, error::Out{mdist_error_t})::Int32
        end
        Int(number[])
    end
end

"What a function returns; `nothing` where there is no checkpoint."
function found(call::F) where {F}
    try
        return call()
    catch exception
        exception isa MdistError && exception.reason == "no_checkpoint" && return nothing
        rethrow()
    end
end
