# SPDX-License-Identifier: Apache-2.0
"""
    Mdist.Operator(name, T) do left, right
        ...
    end

A reduction of your own, for elements of a type of plain bits: numbers, tuples or structs of them. The function gets two
elements and returns what they become. It is applied along the library's fixed tree, lower replica ids on the left, so it
need be neither associative nor commutative. All replicas use operators of the same name and size.

    largest = Mdist.Operator("largest", NTuple{2,Float32}) do left, right
        left[1] >= right[1] ? left : right
    end
    all_reduce!(replica, largest, pairs)   # a Float32 matrix; each column of two is an element

Arrays may have any element type, but must be whole elements long. For `all_reduce!`, `reduce_scatter!` and
`reduce_to_root!`, also prepared, but not started. They block their threads, though not the garbage collector, so Julia
needs as many threads as the strategy has replicas here. The function must not wait, print or use this module. What it
throws fails the call, in its words.

With several workers the library also calls it from threads of its own. Julia takes such threads from 1.9 on; before that
the call fails.

`close` it when no call and no prepared call uses it any more, or leave that to the garbage collector.
"""
mutable struct Operator
    number::Int32
    combination::Any # C has its address
end

"What C calls for an operator, with its types: so the code that runs for each element is compiled for it."
mutable struct Combination{F,T}
    combine::F
end

const Operation = Union{ReduceOp,Operator}

Base.Int32(operator::Operator) = operator.number
Base.close(operator::Operator) = finalize(operator)
destroy(operator::Operator) = @ccall libmdist.mdist_operator_unregister(operator.number::Int32)::Cvoid

const REFUSAL = "Julia $VERSION cannot run an operator's function on a thread of the library; use one worker, or Julia 1.9 " *
    "or later"

"By Julia's number of the thread: its number in C, once it has made a call with an operator."
const CALLING_THREADS = Csize_t[]

pthread_self() = @ccall pthread_self()::Csize_t

"Says that this thread makes a call with an operator, if there is one. Throws if there are too few threads."
function calling(replica::Replica, ::Operator)
    check_thread(replica, "a call with an operator")
    VERSION < v"1.9" && (CALLING_THREADS[Threads.threadid()] = pthread_self())
    return nothing
end
calling(::Replica, ::Nothing) = nothing

# C comes here on a thread that lets the garbage collector run (see gc_safe.jl), or, from Julia 1.9 on, on one that Julia
# has just taken. A thread that an older Julia does not know must not touch anything of Julia's.
function combine(left::Ptr{T}, right::Ptr{T}, out::Ptr{T}, count::UInt64, own::Ptr{Combination{F,T}}) where {F,T}
    if VERSION < v"1.9" && !(pthread_self() in CALLING_THREADS)
        @ccall libmdist.mdist_fail(0::Int32, pointer(REFUSAL)::Ptr{UInt8})::Cvoid
        return Int32(1)
    end
    state = @ccall jl_gc_unsafe_enter()::Int8
    code = guarded_combine(left, right, out, count, own)
    @ccall jl_gc_unsafe_leave(state::Int8)::Cvoid
    return code
end

# Functions of their own, never inlined, so that nothing of what they do happens while the collector may run.

@noinline function guarded_combine(
    left::Ptr{T}, right::Ptr{T}, out::Ptr{T}, count::UInt64, own::Ptr{Combination{F,T}},
) where {F,T}
    combination = unsafe_pointer_to_objref(own)::Combination{F,T}
    try
        combine_each(combination.combine, left, right, out, count)
        return Int32(0)
    catch exception
        fail_because(exception)
        return Int32(1)
    end
end

@noinline function combine_each(f::F, left::Ptr{T}, right::Ptr{T}, out::Ptr{T}, count::UInt64) where {F,T}
    for i in 1:count
        unsafe_store!(out, convert(T, f(unsafe_load(left, i), unsafe_load(right, i)))::T, i)
    end
end

function Operator(f::F, name::AbstractString, ::Type{T}) where {F,T}
    isbitstype(T) && sizeof(T) > 0 ||
        throw(ArgumentError("an element is plain bits, at least one byte of them, and $T is not"))
    combination = Combination{F,T}(f)
    called = @cfunction(combine, Int32, (Ptr{T}, Ptr{T}, Ptr{T}, UInt64, Ptr{Combination{F,T}}))
    number = Ref{Int32}(0)
    check() do error
        @ccall libmdist.mdist_operator_register(
            name::Cstring, sizeof(T)::Csize_t, called::Ptr{Cvoid}, pointer_from_objref(combination)::Ptr{Cvoid},
            number::Ref{Int32}, error::Out{mdist_error_t})::Int32
    end
    return finalizer(destroy, Operator(number[], combination))
end

# One call each, prepared and made.

function made_once(collective, replica::Replica, arguments...; limits...)
    call = prepare(collective, replica.strategy, local_index(replica), arguments...; limits...)
    try
        return run!(replica, call)
    finally
        close(call)
    end
end

all_reduce!(replica::Replica, op::Operator, arrays...; limits...) =
    made_once(all_reduce!, replica, op, arrays...; limits...)
reduce_scatter!(replica::Replica, op::Operator, pairs::Pair...; limits...) =
    made_once(reduce_scatter!, replica, op, pairs...; limits...)
reduce_to_root!(replica::Replica, op::Operator, root::Integer, arrays...; limits...) =
    made_once(reduce_to_root!, replica, op, root, arrays...; limits...)
