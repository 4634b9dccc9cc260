# SPDX-License-Identifier: Apache-2.0
"""
    Config()
    empty(Config)

What kind of strategy, on which devices, with which limits, as string keys: `config["devices"] = "cpu*4"`. Begins with the
environment, which keys that are set later override. An empty one begins with nothing: a launcher's workers that use it
train alone, or are refused.
"""
mutable struct Config <: Handle
    handle::Ptr{mdist_config_t}
    Config(handle::Ptr{mdist_config_t}) = finalizer(destroy, new(handle))::Config
end

destroy(config::Config) = @ccall libmdist.mdist_config_destroy(config::Ptr{mdist_config_t})::Cvoid
Base.unsafe_convert(::Type{Ptr{mdist_config_t}}, config::Config) = config.handle

Config() = load_environment!(empty(Config))

function Base.empty(::Type{Config})
    out = Out{mdist_config_t}(C_NULL)
    check(error -> @ccall libmdist.mdist_config_create(out::Out{mdist_config_t}, error::Out{mdist_error_t})::Int32)
    return Config(out[])
end

function Base.setindex!(config::Config, value, key::AbstractString)
    text = string(value)
    check() do error
        @ccall libmdist.mdist_config_set(
            config::Ptr{mdist_config_t}, key::Cstring, text::Cstring, error::Out{mdist_error_t})::Int32
    end
    return config
end

function Base.getindex(config::Config, key::AbstractString)
    return read_text() do text, capacity, needed, error
        @ccall libmdist.mdist_config_get(
            config::Ptr{mdist_config_t}, key::Cstring, text::Ptr{UInt8}, capacity::Csize_t, needed::Ref{Csize_t},
            error::Out{mdist_error_t})::Int32
    end
end

"Loads a YAML file over what is there."
function load!(config::Config, yaml_path::AbstractString)
    check() do error
        @ccall libmdist.mdist_config_load(
            config::Ptr{mdist_config_t}, yaml_path::Cstring, error::Out{mdist_error_t})::Int32
    end
    return config
end

"Loads what `MDIST_CONFIG` and the other `MDIST_` variables of the environment say over what is there."
function load_environment!(config::Config)
    check() do error
        @ccall libmdist.mdist_config_load_environment(
            config::Ptr{mdist_config_t}, error::Out{mdist_error_t})::Int32
    end
    return config
end

"The text that a function writes into memory of a given capacity, once more with all it needs if it was cut off."
function read_text(call::F) where {F}
    needed = Ref{Csize_t}(0)
    text = Vector{UInt8}(undef, 64)
    check(error -> call(text, length(text), needed, error))
    if needed[] > length(text)
        resize!(text, needed[])
        check(error -> call(text, length(text), needed, error))
    end
    return String(text[1:(Int(needed[]) - 1)])
end
